package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// EngineName is the name under which a run keeps the memory of a session.
	EngineName = files.SessionEngine
	// memoryName is the name of the file with the memory.
	memoryName = "memory.json"
	// memoryVersion is the version of the memory's form. A hook leaves a session of a newer version alone.
	memoryVersion = 1
)

// memory is what a session keeps from one hook for the next. It has ids and numbers alone, and no text from outside. It is
// the file ext/session/memory.json of each entry.
type memory struct {
	Version int    `json:"version"`
	Agent   string `json:"agent"`
	// Sessions lists the agent's own ids of the session and of the sessions that it was forked from, oldest first.
	Sessions []string `json:"sessions"`
	// Transcripts lists the transcripts whose lines, one after the other, are the conversation.
	Transcripts []string `json:"transcripts"`
	// Ends has where the conversation leaves a transcript, by its name. The lines after it are not part of the conversation: another course was taken.
	Ends  map[string]lineEnd `json:"ends,omitempty"`
	Turn  int                `json:"turn"`  // the newest turn, counted from 1; 0 before the first prompt
	Calls int                `json:"calls"` // the tool calls of the turn so far
	// Open has the keys of calls that have not ended, by the agent's ids of the calls.
	Open map[string]string `json:"open,omitempty"`
	// Ended has the agent's ids of calls that have ended, the newest last. A hook can name a call after its result was read.
	Ended []string `json:"ended,omitempty"`
	// Checkpoints is the number of moments that people have kept under a label.
	Checkpoints int `json:"checkpoints,omitempty"`
	// Cut says that the newest turn was cut off by what-if, so that it was not the agent that failed.
	Cut bool `json:"cut,omitempty"`
	// Failed says that the model could not be asked the last time that the agent tried in the turn.
	Failed bool `json:"failed,omitempty"`
	// Named has the aliases of calls that hooks have named, and that the transcript does not have yet, the newest last.
	Named []string `json:"named,omitempty"`
	// Read has the state of each transcript, by its name.
	Read  map[string]readTo `json:"read,omitempty"`
	Usage dialect.Usage     `json:"usage"` // of the turn
	// Models has the tokens of the turn whose model is known, by the name of the model.
	Models map[string]dialect.Usage `json:"models,omitempty"`
	// Waiting has the offsets of the lines, in the newest transcript, with words that the user typed and the agent has not heard yet.
	Waiting queue[int64] `json:"waiting,omitempty"`
	// Late has the turns that have ended before all of their lines were read, oldest first.
	Late []lateTurn `json:"late,omitempty"`
	// Seen has the sizes of the newest transcript at the hooks that have not read all of it, as far as they are ahead. A row begins at each of them.
	Seen []int64 `json:"seen,omitempty"`
	// CopiedTo is the offset in the newest transcript before which all lines are copies: the agent has forked the session from another one.
	CopiedTo int64 `json:"copiedTo,omitempty"`
	// BeganMs is when the agent's file says that the session has begun, in milliseconds since 1970. Lines of before are copies. 0 if the file does not say it.
	BeganMs int64 `json:"beganMs,omitempty"`

	copied bool // the line before is a copy
}

// readTo is how far the file of a transcript was read.
type readTo struct {
	Offset  int64  `json:"offset"`            // in bytes
	Message string `json:"message,omitempty"` // the model's answer whose tokens were counted last
	// Counted has the tokens of that answer that were counted: an agent that writes an answer over several lines can know them in the last one.
	Counted dialect.Usage `json:"counted,omitzero"`
	// Sum has all tokens that were counted of the file, and Before those of the session from before, if the agent counts totals.
	Sum    dialect.Usage  `json:"sum,omitzero"`
	Before *dialect.Usage `json:"before,omitempty"`
	Model  string         `json:"model,omitempty"` // that answers
	// Size is the size of the file if the newest hook did not read it to its end, and 0 otherwise.
	Size int64 `json:"size,omitempty"`
}

// maxModels is the largest number of models whose tokens a turn counts apart.
const maxModels = 50

// spend counts the tokens of a line for the turn. to is how far the file of the line was read.
func (m *memory) spend(to *readTo, l dialect.Line) {
	to.Model = cmp.Or(l.Model, to.Model)
	more := to.count(l)
	m.Usage = m.Usage.Add(more)
	if _, known := m.Models[to.Model]; to.Model == "" || more == (dialect.Usage{}) || !known && len(m.Models) == maxModels {
		return
	}
	if m.Models == nil {
		m.Models = make(map[string]dialect.Usage)
	}
	m.Models[to.Model] = m.Models[to.Model].Add(more)
}

// usageRow is the row of a turn in the table of what turns used.
type usageRow struct {
	dialect.Usage

	Models map[string]dialect.Usage `json:"models,omitempty"`
}

// beginTurn begins the count of the next turn. Lines that are there and not read yet belong to the turn before.
func (m *memory) beginTurn() {
	if size := m.Read[m.transcript()].Size; size > 0 && len(m.Late) < maxLate {
		m.Late = append(m.Late, lateTurn{size, m.Turn, m.Calls, m.Usage, m.Models})
	}
	m.Turn, m.Calls, m.Usage, m.Models = m.Turn+1, 0, dialect.Usage{}, nil
}

// count returns the tokens of a line that were not counted yet, and counts them.
func (to *readTo) count(l dialect.Line) dialect.Usage {
	var more dialect.Usage
	if l.Message != "" {
		if l.Message != to.Message {
			to.Message, to.Counted = l.Message, dialect.Usage{}
		}
		more = l.Usage.Beyond(to.Counted)
		to.Counted = to.Counted.Add(more)
	}
	if t := l.Totals; t != nil {
		if to.Before == nil {
			before := t.All.Beyond(to.Sum.Add(more))
			if to.Sum == (dialect.Usage{}) && more == (dialect.Usage{}) {
				before = t.All.Beyond(t.Last)
			}
			to.Before = &before
		}
		more = more.Add(t.All.Beyond(to.Before.Add(to.Sum).Add(more)))
	}
	to.Sum = to.Sum.Add(more)
	return more
}

// The numbers of open, of ended and of named calls that a session remembers. An agent that never tells how calls end must not make
// the memory grow.
const (
	maxOpen  = 200
	maxEnded = 200
	maxNamed = 200
)

// memoryOf returns the memory in an entry of a session.
func memoryOf(entry *snapshot.Entry) (*memory, error) {
	data, err := entry.ExtFile(EngineName, memoryName)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("run %q is not a session of a coding agent", entry.Run)
	}
	return parseMemory(data)
}

// openSession opens a session to be changed. Codes: those of Head; invalid_input if the run is not a session.
func openSession(ctx context.Context, s *timeline.Store, run string) (*timeline.Head, *memory, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	mem, err := memoryOf(head.Entry())
	if err != nil {
		return nil, nil, fault.New(fault.InvalidInput, "%w", err).Hint("`git smithers runs --sessions` lists sessions")
	}
	return head, mem, nil
}

// parseMemory returns the memory in the file of an entry. The entry can be a stranger's.
func parseMemory(data []byte) (*memory, error) {
	m := new(memory)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("the memory of the session: %w", err)
	}
	if m.Version > memoryVersion {
		return nil, errors.New("a newer git-smithers keeps this session")
	}
	if len(m.Sessions) == 0 || len(m.Transcripts) == 0 {
		return nil, errors.New("the memory of the session names no session")
	}
	for _, id := range m.Sessions {
		if !dialect.IsSessionID(id) {
			return nil, fmt.Errorf("the memory of the session: %q is not the id of a session", id)
		}
	}
	return m, nil
}

// newMemory returns the memory of a session without turns.
func newMemory(agent, session string) *memory {
	return &memory{Version: memoryVersion, Agent: agent, Sessions: []string{session}, Transcripts: []string{session}}
}

// enter makes session the newest session of the memory: the session goes on under another id.
func (m *memory) enter(session string, offset int64) {
	m.Sessions, m.Transcripts, m.Open = append(m.Sessions, session), append(m.Transcripts, session), nil
	m.Waiting, m.Late, m.Seen = nil, nil, nil
	m.Named, m.Failed = nil, false // the agent has the calls in its new file
	m.setRead(session, readTo{Offset: offset})
}

// leave notes where the conversation leaves its transcripts.
func (m *memory) leave(ends map[string]lineEnd) {
	if m.Ends == nil {
		m.Ends = ends
		return
	}
	maps.Copy(m.Ends, ends)
}

// transcript returns the name of the session's newest transcript.
func (m *memory) transcript() string { return m.Transcripts[len(m.Transcripts)-1] }

// rewritten begins the newest transcript again under another name, because the agent has written its file anew.
func (m *memory) rewritten() {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s~%d", m.session(), n)
		if _, used := m.Read[name]; !used {
			delete(m.Read, m.transcript())
			m.Transcripts[len(m.Transcripts)-1], m.Waiting, m.Late, m.Seen = name, nil, nil, nil
			m.setRead(name, readTo{})
			return
		}
	}
}

// draft returns the change that stores the memory.
func (m *memory) draft() (*snapshot.ExtDraft, error) {
	data, err := json.Marshal(m)
	return &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{memoryName: append(data, '\n')}}, err
}

// isCopy reports whether the next line of the newest transcript is a copy of a line of the session from which the agent has forked this one: its call and its
// tokens count there. A line without a place and a time is a copy if the line before is.
func (m *memory) isCopy(l dialect.Line) bool {
	if l.Header && l.Session != "" && m.BeganMs == 0 {
		m.BeganMs = l.AtMs
	}
	if l.Copied || l.Offset < m.CopiedTo || 0 < l.AtMs && l.AtMs < m.BeganMs {
		m.copied = true
	} else if l.Link != nil || l.AtMs > 0 {
		m.copied = false
	}
	return m.copied
}

// session returns the agent's own id of the session.
func (m *memory) session() string { return m.Sessions[len(m.Sessions)-1] }

// setRead notes how far the transcript was read.
func (m *memory) setRead(transcript string, to readTo) {
	if m.Read == nil {
		m.Read = make(map[string]readTo)
	}
	m.Read[transcript] = to
}

// open notes that the call with the agent's id has begun, and returns the key of its row.
func (m *memory) open(id string) string {
	if m.Open == nil {
		m.Open = make(map[string]string)
	}
	key := snapshot.ToolCallKey(turnNode, m.Turn, 1, m.Calls)
	m.Calls++
	if len(m.Open) < maxOpen {
		m.Open[id] = key
	}
	return key
}

// end notes that the call with the agent's id has ended.
func (m *memory) end(id string) {
	delete(m.Open, id)
	m.Ended = append(m.Ended, id)
	m.Ended = m.Ended[max(0, len(m.Ended)-maxEnded):]
}

// knows reports whether the call with the agent's id has a row.
func (m *memory) knows(id string) bool {
	_, open := m.Open[id]
	return open || slices.Contains(m.Ended, id)
}

// name notes that a hook has named a call by its alias.
func (m *memory) name(alias string) {
	m.Named = append(m.Named, alias)
	m.Named = m.Named[max(0, len(m.Named)-maxNamed):]
}

// forgetNamed reports whether a hook has named a call with the alias, and forgets one such call.
func (m *memory) forgetNamed(alias string) bool {
	i := slices.Index(m.Named, alias)
	if alias == "" || i < 0 {
		return false
	}
	m.Named = slices.Delete(m.Named, i, i+1)
	return true
}
