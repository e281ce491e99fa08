package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// EngineName is the name under which a run keeps the memory of a session.
	EngineName = "session"
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
	// Sessions lists the agent's own ids of the session and of those that it was forked from, oldest first. The conversation is
	// their transcripts, one after the other.
	Sessions []string `json:"sessions"`
	Turn     int      `json:"turn"`  // the newest turn, counted from 1; 0 before the first prompt
	Calls    int      `json:"calls"` // the tool calls of the turn so far
	// Open has the keys of calls that have not ended, by the agent's ids of the calls.
	Open map[string]string `json:"open,omitempty"`
	// Read lists the transcripts in the order in which they begin, and how far each was read.
	Read    []readTo `json:"read,omitempty"`
	Message string   `json:"message,omitempty"` // the model's answer that Usage has counted last
	Usage   usage    `json:"usage"`             // of the turn
}

// readTo says how far the file of a transcript was read.
type readTo struct {
	Transcript string `json:"transcript"`
	Offset     int64  `json:"offset"` // in bytes
}

// maxOpen is the number of open calls that a session remembers. An agent that never tells how calls end must not make the
// memory grow.
const maxOpen = 200

// memoryOf returns the memory in an entry of a session.
func memoryOf(entry *snapshot.Entry) (*memory, error) {
	data, err := entry.ExtFile(EngineName, memoryName)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("run %q is not a session of a coding agent", entry.Run)
	}
	m := new(memory)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("the memory of the session: %w", err)
	}
	if m.Version > memoryVersion {
		return nil, errors.New("a newer git-smithers keeps this session")
	}
	if len(m.Sessions) == 0 {
		return nil, errors.New("the memory of the session names no session")
	}
	return m, nil
}

// draft returns the change that stores the memory.
func (m *memory) draft() (*snapshot.ExtDraft, error) {
	data, err := json.Marshal(m)
	return &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{memoryName: append(data, '\n')}}, err
}

// session returns the agent's own id of the session.
func (m *memory) session() string { return m.Sessions[len(m.Sessions)-1] }

// readOf returns how far the transcript was read.
func (m *memory) readOf(transcript string) int64 {
	if i := slices.IndexFunc(m.Read, func(r readTo) bool { return r.Transcript == transcript }); i >= 0 {
		return m.Read[i].Offset
	}
	return 0
}

// setRead notes how far the transcript was read.
func (m *memory) setRead(transcript string, offset int64) {
	if i := slices.IndexFunc(m.Read, func(r readTo) bool { return r.Transcript == transcript }); i >= 0 {
		m.Read[i].Offset = offset
		return
	}
	m.Read = append(m.Read, readTo{transcript, offset})
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
