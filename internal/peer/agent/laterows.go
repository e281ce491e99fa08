package agent

import (
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// missingIn returns changes that set the rows that a fork needs for the conversation that it keeps, and that its newest entry lacks: an agent writes the
// result of a call after the frame of the call. These are the rows with the kept lines, and the rows of calls that begin or end in these lines. The calls
// are noted in k.mem.
func (k *keptLines) missingIn(fork *snapshot.Entry) ([]snapshot.Change, error) {
	lines, calls := k.named()
	said, err := newRows(fork, k.head, (*snapshot.Entry).Transcript)
	if err != nil {
		return nil, err
	}
	called, err := newRows(fork, k.head, (*snapshot.Entry).ToolCalls)
	if err != nil {
		return nil, err
	}
	var changes []snapshot.Change
	add := func(collection string, row page.Row) {
		set := snapshot.SetRow(collection, row)
		set.Redacted = true
		changes = append(changes, set)
	}
	for _, row := range said {
		if lines[row.Key] {
			add(snapshot.CollectionTranscript, row)
		}
	}
	for _, row := range called {
		call, err := snapshot.DecodeToolCall(row)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if !calls[call.CallToken] {
			continue
		}
		add(snapshot.CollectionToolCalls, row)
		k.mem.end(call.CallToken)
		if call.NodeID == turnNode && call.Iteration == k.mem.Turn {
			k.mem.Calls = max(k.mem.Calls, call.Seq+1)
		}
	}
	return changes, nil
}

// named returns the keys of the rows that have the lines, and the agent's ids of the calls that begin or end in them.
func (k *keptLines) named() (keys, calls map[string]bool) {
	keys, calls = make(map[string]bool), make(map[string]bool)
	for i, line := range k.lines {
		keys[snapshot.TranscriptKey(k.of[i], line.Offset)] = true
		for _, begun := range line.Begun {
			calls[begun.ID] = true
		}
		for _, ended := range line.Ended {
			calls[ended.ID] = true
		}
	}
	delete(calls, "") // a call without an id can be any call
	return keys, calls
}

// newRows returns the rows of a collection that an entry has, and an earlier one lacks or has with another value.
func newRows(before, after *snapshot.Entry, rowsOf func(*snapshot.Entry) (*page.Collection, error)) ([]page.Row, error) {
	had, err := rowsOf(before)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	has, err := rowsOf(after)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var rows []page.Row
	for delta, err := range page.Diff(had, has) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if delta.To != nil {
			rows = append(rows, page.Row{Key: delta.Key, Value: delta.To})
		}
	}
	return rows, nil
}
