package agent

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Arguments returns what a call of a session asked its tool to do, as JSON. Secrets stay placeholders. The result is nil if neither
// the call nor the conversation up to the entry says it. workflow is the name of the session's workflow, which names the agent.
func Arguments(entry *snapshot.Entry, workflow string, call snapshot.ToolCall) (json.RawMessage, error) {
	asked, err := askedFor(entry, workflow, call)
	return asked.Input, err
}

// askedFor returns a call as its agent made it; see Arguments. If nothing says it, the result has no input.
func askedFor(entry *snapshot.Entry, workflow string, call snapshot.ToolCall) (dialect.Call, error) {
	asked := dialect.Call{ID: call.CallToken, Tool: call.ToolName}
	if call.InputAt == nil {
		asked.Input = call.Input
		return asked, nil
	}
	made, err := callAt(entry, workflow, *call.InputAt, call.CallToken, func(_ string, stored []byte) ([]byte, error) { return stored, nil })
	if made.ID != "" {
		return made, nil
	}
	return asked, err
}

// callAt returns the call with an id that begins at a place in the conversation, or the zero call. look returns the text of a row with a key, for what is stored.
func callAt(entry *snapshot.Entry, workflow string, at snapshot.TranscriptRange, id string, look func(key string, stored []byte) ([]byte, error)) (none dialect.Call, err error) {
	rows, err := entry.Transcript()
	if err != nil {
		return none, timeline.Explain(err)
	}
	key := snapshot.TranscriptKey(at.Transcript, at.Offset)
	value, found, err := rows.Get(key)
	if err == nil && found {
		value, err = look(key, value)
	}
	if err != nil || !found {
		return none, timeline.Explain(err)
	}
	lines, err := snapshot.DecodeTranscript(page.Row{Key: key, Value: value})
	if err != nil {
		return none, timeline.Explain(err)
	}
	for _, c := range dialect.For(workflow).Read(lines[0]).Begun { // a row begins with the line of the call
		if c.ID == id {
			return c, nil
		}
	}
	return none, nil
}
