package dialect

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Generic is the name of the dialect that any agent can speak: the one input that docs/sessions.md describes.
const Generic = "generic"

// generic is how an agent speaks that this package does not know.
var generic = Dialect{Name: Generic, Parse: parseGeneric, Read: readGeneric, HooksOnly: true}

// genericInput is the input of session hook generic. The programs that session enable writes for agents without settings hand in the
// same.
type genericInput struct {
	Agent      string        `json:"agent"`
	Session    string        `json:"session"`
	Event      string        `json:"event"`
	Folder     string        `json:"cwd"`
	Transcript string        `json:"transcript"`
	Prompt     string        `json:"prompt"`
	Answer     string        `json:"answer"`
	Subagent   string        `json:"subagent"`
	Tool       *genericTool  `json:"tool"`
	Tools      []genericTool `json:"tools"`
}

// genericTool is a tool call in a genericInput.
type genericTool struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Failed   bool            `json:"failed"`
	ReadOnly bool            `json:"readOnly"`
	Input    json.RawMessage `json:"input"`
	Output   json.RawMessage `json:"output"`
}

// maxGenericText is the size of the largest input or output of a call in a genericInput that is stored, in bytes.
const maxGenericText = 256 << 10

// input returns the input of the call, or nil if it has none or a larger one than is stored.
func (t *genericTool) input() json.RawMessage {
	if len(t.Input) > maxGenericText || string(t.Input) == "null" {
		return nil
	}
	return t.Input
}

// output returns the output of the call in words: a text as it is, or any other value as JSON. It is cut at maxGenericText.
func (t *genericTool) output() string {
	var text string
	if json.Unmarshal(t.Output, &text) != nil {
		text = string(t.Output)
	}
	return plain.Cut(text, maxGenericText)
}

// newCallID returns an id for a call whose agent has none.
func newCallID() string {
	var b [8]byte
	rand.Read(b[:])
	return "call-" + hex.EncodeToString(b[:])
}

// genericKinds maps the events of a genericInput to ours. Other events are ignored.
var genericKinds = map[string]Kind{
	"start": Started, "prompt": Prompted, "tool-begin": Calling, "tool": Called, "subagent": Delegated, "compact": Compacting, "answer": Answered, "end": Ended,
}

// parseGeneric is Parse of any agent. An event of the input goes before name.
func parseGeneric(name string, input []byte) (Event, error) {
	ev, in, err := readInput(name, input)
	if err != nil {
		return Event{}, err
	}
	if !isAgentName(in.Agent) {
		return Event{}, fmt.Errorf("%q cannot be the name of an agent", in.Agent)
	}
	ev.Agent = in.Agent
	for i, tool := range in.Tools {
		call := &ev.Calls[i]
		if call.ID == "" && ev.Kind == Called { // a call that begins without an id cannot be told from others when it ends
			call.ID = newCallID()
		}
		call.Input, call.Result = tool.input(), &Result{ID: call.ID, Failed: tool.Failed, Output: tool.output()}
	}
	return ev, nil
}

// parseProgram is Parse of an agent for which session enable writes a program: the input is that of any agent, and the agent's own
// file says how calls end.
func parseProgram(name string, input []byte) (Event, error) {
	ev, _, err := readInput(name, input)
	return ev, err
}

// readInput returns the event in a genericInput, and the input itself.
func readInput(name string, input []byte) (Event, genericInput, error) {
	var in genericInput
	if err := parseInput(input, &in, &in.Session); err != nil {
		return Event{}, in, err
	}
	if in.Event == "" {
		in.Event = name
	}
	ev := Event{
		Kind: genericKinds[in.Event], Session: in.Session, Folder: in.Folder, Transcript: in.Transcript,
		Subagent: in.Subagent, Prompt: in.Prompt, Answer: in.Answer,
	}
	if in.Tool != nil {
		in.Tools = append(in.Tools, *in.Tool)
	}
	for _, tool := range in.Tools {
		if tool.Name == "" {
			return Event{}, in, errors.New("the input of the hook has a tool without a name")
		}
		ev.Calls = append(ev.Calls, Call{ID: tool.ID, Tool: tool.Name, ReadOnly: tool.ReadOnly})
	}
	return ev, in, nil
}

// readGeneric is Read of any agent: the lines are kept, and say nothing.
func readGeneric([]byte) Facts { return Facts{} }

// maxAgentName is the size of the longest name of an agent, in bytes.
const maxAgentName = 32

// isAgentName reports whether an agent can have the name: lower-case letters, digits and hyphens, beginning with a letter. An agent
// without a name, "", is allowed.
func isAgentName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return name == "" || len(name) <= maxAgentName && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789-") == ""
}
