package agent

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/agent/dialect"
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
	rows, err := entry.Transcript()
	if err != nil {
		return asked, timeline.Explain(err)
	}
	key := snapshot.TranscriptKey(call.InputAt.Transcript, call.InputAt.Offset)
	value, found, err := rows.Get(key)
	if err != nil || !found {
		return asked, timeline.Explain(err)
	}
	lines, err := snapshot.DecodeTranscript(page.Row{Key: key, Value: value})
	if err != nil {
		return asked, timeline.Explain(err)
	}
	for _, line := range lines {
		for _, c := range dialect.For(workflow).Read(line).Begun {
			if c.ID == call.CallToken {
				return c, nil
			}
		}
	}
	return asked, nil
}
