package summary

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Call is a tool call of a run.
type Call struct {
	snapshot.ToolCall

	// Frame is the frame of the run's timeline that has the files after the call; nil if there is none. Changed and Lines say how
	// files changed at the frame, and Together reports whether the frame has several calls.
	Frame    *int64
	Changed  bool
	Lines    *sqliteindex.Lines
	Together bool
}

// ToolCalls returns the tool calls of a step, in the order of their numbers.
func (sum *Summary) ToolCalls(step *Step) ([]Call, error) {
	if err := sum.Unread[PartCalls]; err != nil {
		return nil, err
	}
	return sum.calls[snapshot.Key(step.NodeID, step.Iteration)], nil
}

// readCalls sets Calls and calls.
func (sum *Summary) readCalls() error {
	frames := make(map[string]int64) // by the id of a call
	for _, f := range sum.Frames.Frames {
		for _, id := range f.IDs {
			frames[id] = f.FrameNo
		}
	}
	together := make(map[int64]int)
	calls := make(map[string][]Call)
	for call, err := range sum.Entry.AllToolCalls() {
		if err != nil {
			return timeline.Explain(err)
		}
		sum.Calls.Total++
		if call.Status == snapshot.ToolCallFailed {
			sum.Calls.Failed++
		}
		c := Call{ToolCall: call}
		if no, ok := frames[call.CallToken]; ok && call.CallToken != "" {
			effect := sum.effects[no]
			c.Frame, c.Changed, c.Lines = &no, effect.Changed, effect.Lines
			together[no]++
		}
		key := snapshot.Key(call.NodeID, call.Iteration)
		calls[key] = append(calls[key], c)
	}
	for _, list := range calls {
		// The rows are in the order of their keys as texts.
		slices.SortFunc(list, func(a, b Call) int { return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Seq, b.Seq)) })
		for i := range list {
			list[i].Together = list[i].Frame != nil && together[*list[i].Frame] > 1
		}
	}
	sum.calls = calls
	return nil
}

// TurnLines returns how many lines the calls of a turn changed, or nil if they changed none. Calls at one frame count once.
func (sum *Summary) TurnLines(turn *Step) (*sqliteindex.Lines, error) {
	calls, err := sum.ToolCalls(turn)
	if err != nil {
		return nil, err
	}
	var total *sqliteindex.Lines
	seen := make(map[int64]bool)
	for _, c := range calls {
		if c.Lines == nil || seen[*c.Frame] {
			continue
		}
		seen[*c.Frame] = true
		if total == nil {
			total = new(sqliteindex.Lines)
		}
		total.Added += c.Lines.Added
		total.Removed += c.Lines.Removed
	}
	return total, nil
}

// Arguments returns what a call asked its tool to do, as JSON, or nil if it is unknown.
func (sum *Summary) Arguments(c *Call) (json.RawMessage, error) {
	return agent.Arguments(sum.Entry, sum.Row.Workflow, c.ToolCall)
}

// Prompt returns what a person said at the beginning of a turn, and what the model answered at its end. Each is "" if it is unknown.
func (sum *Summary) Prompt(turn *Step) (prompt, answer string, err error) {
	state, err := sum.Entry.State()
	if err != nil {
		return "", "", timeline.Explain(err)
	}
	return agent.PromptOf(state, turn.Iteration)
}

// Output returns the output of a step, or nil if it has none.
func (sum *Summary) Output(step *Step) (json.RawMessage, error) {
	if step.OutputTable == "" {
		return nil, nil
	}
	state, err := sum.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	value, _, err := state.Outputs(step.OutputTable).Get(snapshot.Key(step.NodeID, step.Iteration))
	return value, timeline.Explain(err)
}

// argumentNames are the members of a call's input that people know a call by, the best first.
var argumentNames = []string{"file_path", "filePath", "path", "command", "cmd", "pattern", "query", "url", "description", "prompt"}

// ArgumentOf returns the member of a call's input that people know the call by, or the input as JSON if there is none.
func ArgumentOf(input json.RawMessage) string {
	var members jsontext.Members
	if json.Unmarshal(input, &members) == nil {
		for _, name := range argumentNames {
			for _, m := range members {
				if m.Name != name {
					continue
				}
				if text := wordsOf(m.Value); text != "" {
					return text
				}
			}
		}
	}
	return cmp.Or(wordsOf(input), string(input))
}

// wordsOf returns a JSON string, or a list of strings with spaces between them, as text, and "" for any other value.
func wordsOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, " ")
	}
	return ""
}
