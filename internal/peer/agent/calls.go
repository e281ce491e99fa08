package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// subjectTools is the number of tools that the subject of a batch names.
const subjectTools = 8

// The size of the longest list of todos that is stored, in bytes, and how deep it may be nested. A row that is beyond the limits of a
// store would stop the session, because each hook would read the same line again.
const (
	maxTodos      = 1 << 20
	maxTodosDepth = 50
)

// maxCallID is the size of the longest id of a call that has a row, in bytes.
const maxCallID = 1 << 10

// toolNames returns the names of the tools of calls, for a subject.
func toolNames(calls []dialect.Call) string {
	var names []string
	for _, c := range calls[:min(len(calls), subjectTools)] {
		names = append(names, c.Tool)
	}
	return strings.Join(names, ", ")
}

// addID makes id an id of the frame, if there is room.
func (d *drafter) addID(id string) {
	if id != "" && len(d.out.Frame.IDs) < snapshot.MaxIDs && len(id) <= snapshot.MaxID && !slices.Contains(d.out.Frame.IDs, id) {
		d.out.Frame.IDs = append(d.out.Frame.IDs, id)
	}
}

// takeMissed gives the frame the ids of the calls that no hook has told of, and says so: their files are in this frame.
func (d *drafter) takeMissed() {
	d.missed = slices.DeleteFunc(d.missed, func(c dialect.Call) bool {
		return slices.ContainsFunc(d.ev.Calls, func(told dialect.Call) bool {
			return told.ID != "" && told.ID == c.ID || told.Alias != "" && told.Alias == c.Alias
		})
	})
	if len(d.missed) == 0 {
		return
	}
	for _, c := range d.missed {
		d.addID(c.ID) // its alias could be that of a later call
	}
	d.out.Subject += "; without a hook of its own: " + toolNames(d.missed)
}

// noteMissed notes the calls that begin and end in lines of the session's own transcript, so that no hook can have told of them
// before.
func (d *drafter) noteMissed(lines []dialect.Line) {
	begun, seen := make(map[string]dialect.Call), make(map[string]bool)
	for _, l := range lines {
		for _, c := range l.Begun {
			if !seen[c.ID] && !c.ReadOnly && !d.mem.knows(c.ID) && !d.mem.forgetNamed(c.Alias) {
				begun[c.ID] = c
			}
			seen[c.ID] = true
		}
		for _, r := range l.Ended {
			if c, ok := begun[r.ID]; ok {
				d.missed = append(d.missed, c)
				delete(begun, r.ID)
			}
		}
	}
}

// takeTranscripts takes in the new lines of the transcripts that the event names.
func (d *drafter) takeTranscripts() error {
	before := d.mem.Usage
	err := d.takeTranscript(d.mem.transcript(), d.ev.Transcript)
	if errors.Is(err, errRewritten) {
		if d.mem.rewritten(); d.speaks.Shortens && d.head != nil {
			d.mem.BeganMs = d.head.Entry().AtMs // the lines of before were read
		}
		err = d.takeTranscript(d.mem.transcript(), d.ev.Transcript)
	}
	if err != nil {
		return err
	}
	if d.ev.Subagent != "" {
		err = d.takeTranscript(d.ev.Subagent, d.ev.SubagentTranscript)
		if err != nil && !errors.Is(err, errRewritten) { // a subagent's file is no conversation to go on with
			return err
		}
	}
	if err := d.takeLateSubagents(); err != nil {
		return err
	}
	return d.countTurn(before)
}

// countTurn sets the rows of the turn in the tables of tokens and of todos, if new lines change them. before are the tokens of the turn without the lines.
func (d *drafter) countTurn(before dialect.Usage) error {
	todos := d.todos
	if d.todos = nil; d.mem.Turn == 0 {
		return nil
	}
	if d.mem.Usage != before {
		if err := d.output(usageTable, usageRow{d.mem.Usage, d.mem.Models}); err != nil {
			return err
		}
	}
	if todos == nil {
		return nil
	}
	return d.output(todosTable, todos)
}

// takeLateSubagents takes in the lines of subagents that no hook has read to their end and, at the end of a turn in which a call has not ended, those that
// subagents have written after their last hook.
func (d *drafter) takeLateSubagents() error {
	if d.speaks.SubagentFile == nil || d.ev.Transcript == "" {
		return nil
	}
	ended := (d.ev.Kind == dialect.Answered || d.ev.Kind == dialect.Ended) && len(d.mem.Open) > 0
	for _, name := range slices.Sorted(maps.Keys(d.mem.Read)) {
		if slices.Contains(d.mem.Transcripts, name) || name == d.ev.Subagent || !dialect.IsSessionID(name) || !ended && d.mem.Read[name].Size == 0 {
			continue
		}
		err := d.takeTranscript(name, d.speaks.SubagentFile(d.ev.Transcript, name))
		if err != nil && !errors.Is(err, errRewritten) {
			return err
		}
	}
	return nil
}

// takeTranscript takes in the new lines of one transcript. path is the agent's file, or "" if the file is unknown. The error
// is errRewritten if the lines do not follow the lines that were read before.
func (d *drafter) takeTranscript(name, path string) error {
	if path == "" || d.transcript == timeline.TranscriptOff {
		return nil
	}
	to := d.mem.Read[name]
	lines, next, err := readLines(path, to.Offset, d.speaks, d.transcript, mostRead-d.read, mostLines)
	if _, unreadable := errors.AsType[*unreadableError](err); unreadable {
		d.warn(err) // the next hook reads the lines, and the files are worth a frame without them
		return nil
	}
	if err != nil {
		return err
	}
	d.read += next - to.Offset
	to.Size = sizeBehind(path, next, d.read >= mostRead || len(lines) == mostLines)
	var begins []int64
	if name == d.mem.transcript() {
		begins = d.mem.see(next, to.Size)
	}
	for _, row := range transcriptRows(name, lines, begins) {
		d.out.Journal = append(d.out.Journal, snapshot.SetRow(snapshot.CollectionTranscript, row))
		d.changed = true
	}
	if name == d.mem.transcript() {
		lines = slices.DeleteFunc(lines, d.mem.isCopy)
		d.noteMissed(lines)
		if lines, err = d.takeLate(path, lines, next, &to); err != nil {
			return err
		}
	}
	if err := d.takeLines(name, path, lines, &to); err != nil {
		return err
	}
	if to.Offset = next; next > 0 || to.Size > 0 {
		d.mem.setRead(name, to)
	}
	return nil
}

// takeLines takes in what lines of a transcript say. to is how far the file at path was read.
func (d *drafter) takeLines(name, path string, lines []dialect.Line, to *readTo) error {
	for _, l := range lines {
		if err := d.takeLine(name, l); err != nil {
			return err
		}
		d.mem.spend(to, l)
		if name == d.mem.transcript() {
			if err := d.hear(path, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeLine takes in what a line of a transcript says of tool calls and todos.
func (d *drafter) takeLine(transcript string, l dialect.Line) error {
	if l.AtMs == 0 {
		l.AtMs = d.atMs
	}
	at := &snapshot.TranscriptRange{Transcript: transcript, Offset: l.Offset, Length: int64(len(l.Text))}
	for _, begun := range l.Begun {
		if slices.Contains(d.mem.Ended, begun.ID) || len(begun.ID) > maxCallID {
			continue // the agent has written the call again, or an id that would bloat the memory
		}
		call, key, err := d.call(begun, l.AtMs)
		if err != nil {
			return err
		}
		call.InputAt, call.StartedAtMs = at, l.AtMs
		d.calls[key] = call
	}
	for _, ended := range l.Ended {
		if _, known := d.mem.Open[ended.ID]; !known {
			continue // the call began before the session was recorded
		}
		call, key, err := d.call(dialect.Call{ID: ended.ID}, l.AtMs)
		if err != nil {
			return err
		}
		atMs := cmp.Or(ended.AtMs, l.AtMs)
		call.Status, call.FinishedAtMs, call.OutputAt = statusOf(ended), &atMs, at
		d.calls[key] = call
		d.mem.end(ended.ID)
	}
	d.takeFailure(l)
	if l.Todos != nil && len(l.Todos) <= maxTodos && !jsontext.DeeperThan(l.Todos, maxTodosDepth) {
		d.todos = l.Todos
	}
	return nil
}

// takeFailure takes in whether the model could be asked, as far as the line says, and the last words of the turn.
func (d *drafter) takeFailure(l dialect.Line) {
	words := func(said dialect.Saying) bool { return said.Role == dialect.Assistant }
	switch i := slices.IndexFunc(l.Said, words); {
	case l.Aside:
	case l.Notice != "":
		d.notices, d.words = append(d.notices, l.Notice), l.Notice
		d.mem.Failed = d.mem.Failed || l.Failed
	case len(l.Begun) > 0:
		d.mem.Failed, d.words = d.mem.Failed && i < 0, ""
	case i >= 0:
		d.mem.Failed, d.words = false, l.Said[i].Text
	}
}

// statusOf returns the status of a call with a result.
func statusOf(r dialect.Result) string {
	if r.Failed {
		return snapshot.ToolCallFailed
	}
	return snapshot.ToolCallSucceeded
}

// takeCalls takes in the calls of a batch. A call that the transcript does not have yet gets its row here.
func (d *drafter) takeCalls() error {
	for _, c := range d.ev.Calls {
		d.addID(c.ID)
		d.addID(c.Alias)
		if c.Alias != "" && !c.ReadOnly {
			d.mem.name(c.Alias)
			d.changed = true
		}
		if c.ID == "" || c.Tool == "" || len(c.ID) > maxCallID || d.mem.knows(c.ID) {
			continue
		}
		call, key, err := d.call(c, d.atMs)
		if err != nil {
			return err
		}
		if c.Result != nil {
			call.Status, call.FinishedAtMs = statusOf(*c.Result), &d.atMs
			if c.Input != nil {
				call.Input = c.Input
			}
			if c.Result.Output != "" {
				output, err := json.Marshal(c.Result.Output)
				if err != nil {
					return err
				}
				call.Output = output
			}
			d.mem.end(c.ID)
		}
		d.calls[key], d.changed = call, true
	}
	d.out.Subject = toolNames(d.ev.Calls)
	return nil
}

// call returns the row of a tool call with its key. A call that is not open begins now.
func (d *drafter) call(c dialect.Call, atMs int64) (snapshot.ToolCall, string, error) {
	key, known := d.mem.Open[c.ID]
	if !known {
		key = d.mem.open(c.ID)
	}
	if call, changed := d.calls[key]; changed {
		return call, key, nil
	}
	if known && d.head != nil {
		rows, err := d.head.Entry().ToolCalls()
		if err != nil {
			return snapshot.ToolCall{}, key, timeline.Explain(err)
		}
		if call, found, err := rowOf(rows, key, snapshot.DecodeToolCall); err != nil || found {
			return call, key, err
		}
	}
	node, iteration, attempt, seq, err := snapshot.SplitToolCallKey(key)
	return snapshot.ToolCall{
		NodeID: node, Iteration: iteration, Attempt: attempt, Seq: seq,
		ToolName: c.Tool, Kind: snapshot.ToolCallTool, Status: snapshot.ToolCallIntended, StartedAtMs: atMs, CallToken: c.ID,
	}, key, timeline.Explain(err)
}
