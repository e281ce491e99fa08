package browse

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Said is a piece of a conversation: what a person or the model said, or a tool call.
type Said struct {
	Turn int
	User bool          // a person said it
	Text string        // what was said; "" for a call
	Call *summary.Call // nil for what was said
	// Argument is what people know the call by, and Output what the tool answered; "" if it is unknown.
	Argument, Output string
}

// Talk returns the conversation of a session, in its order. If the conversation is not stored, it has the prompts and the calls.
func (r *Reader) Talk(run *Run) ([]Said, error) {
	at := &timeline.LoadedEntry{Address: timeline.Address{Run: run.Row.ID, Frame: snapshot.NoFrame}, Entry: run.Entry, Bare: true}
	chat, err := agent.Messages(at)
	if err != nil {
		return nil, err
	}
	b := talkBook{run: run, root: r.Store.Workspace().Root + "/", calls: make(map[string]*summary.Call), results: make(map[string]string)}
	if err := b.index(chat.Messages); err != nil {
		return nil, err
	}
	turn := 0
	for _, m := range chat.Messages {
		begins := m.Role == "user" && !m.Within
		if begins {
			turn++
		}
		if m.Content != nil && *m.Content != "" && m.Role != "tool" {
			b.out = append(b.out, Said{Turn: turn, User: m.Role == "user", Text: *m.Content})
		}
		for _, c := range m.Calls {
			b.addCall(turn, c)
		}
		if begins && !b.said {
			if err := b.addCallsOf(turn); err != nil {
				return nil, err
			}
		}
	}
	return b.out, nil
}

// A talkBook has what a conversation refers to.
type talkBook struct {
	run     *Run
	root    string                   // the working copy, with a slash: its files are named from there
	calls   map[string]*summary.Call // by their ids
	results map[string]string        // what tools answered, by the id of the call
	said    bool                     // the conversation has the calls
	out     []Said
}

// index reads the calls of the run and the answers of tools.
func (b *talkBook) index(messages []agent.Message) error {
	for i := range b.run.Steps {
		calls, err := b.run.ToolCalls(&b.run.Steps[i])
		if err != nil {
			return err
		}
		for j := range calls {
			b.calls[calls[j].CallToken] = &calls[j]
		}
	}
	for _, m := range messages {
		if m.CallID != "" && m.Content != nil {
			b.results[m.CallID] = *m.Content
		}
	}
	b.said = slices.ContainsFunc(messages, func(m agent.Message) bool { return len(m.Calls) > 0 })
	return nil
}

// addCall adds a call of the conversation.
func (b *talkBook) addCall(turn int, c agent.ChatCall) {
	call := b.calls[c.ID]
	if call == nil {
		call = &summary.Call{ToolCall: snapshot.ToolCall{ToolName: c.Function.Name, Status: snapshot.ToolCallSucceeded}}
	}
	b.out = append(b.out, Said{Turn: turn, Call: call, Argument: b.argumentOf(json.RawMessage(c.Function.Arguments)), Output: b.results[c.ID]})
}

// addCallsOf adds the calls of a turn whose conversation is not stored.
func (b *talkBook) addCallsOf(turn int) error {
	for i := range b.run.Steps {
		step := &b.run.Steps[i]
		if step.Iteration != turn {
			continue
		}
		calls, err := b.run.ToolCalls(step)
		if err != nil {
			return err
		}
		for j := range calls {
			b.out = append(b.out, Said{Turn: turn, Call: &calls[j], Argument: b.argumentOf(calls[j].Input)})
		}
	}
	return nil
}

// argumentOf returns what people know a call by.
func (b *talkBook) argumentOf(input json.RawMessage) string {
	return strings.TrimPrefix(summary.ArgumentOf(input), b.root)
}
