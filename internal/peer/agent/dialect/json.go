package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// HookSeconds is the time after which an agent gives up a hook, in seconds.
const HookSeconds = 30

// hookEntry is an entry of an event's list in the settings of several agents.
type hookEntry struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

// hookCommand is a command in a hookEntry.
type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// parseInput decodes the input of a hook into in. session points to the member of in with the id of the session.
func parseInput(input []byte, in any, session *string) error {
	if err := decode(input, in); err != nil {
		return fmt.Errorf("the input of the hook: %w", err)
	}
	if *session == "" {
		return errors.New("the input of the hook names no session")
	}
	return nil
}

// decode decodes JSON into a value. A member of another type than expected is left out, because a later version of an agent may have
// changed it.
func decode(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return nil
	}
	return err
}

// IsObject reports whether a line is a JSON object, as each line of a transcript is.
func IsObject(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{' && (jsontext.Valid(line) || json.Valid(line)) // which accepts what is not UTF-8, too, and is slower
}

// decodeText decodes a value that is a string, and reports whether it is one.
func decodeText(value json.RawMessage, into *string) bool {
	return bytes.HasPrefix(value, []byte(`"`)) && json.Unmarshal(value, into) == nil
}

// timeOf returns a time in milliseconds since 1970, or 0 if text is not a time or is before 1970.
func timeOf(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return max(0, at.UnixMilli())
}

// withPrompt returns a command with the prompt as its last argument, if there is a prompt.
func withPrompt(prompt string, command ...string) []string {
	if strings.HasPrefix(prompt, "-") {
		prompt = " " + prompt // the agent would take it for an option
	}
	if prompt != "" {
		command = append(command, prompt)
	}
	return command
}

// writeConversation writes the file of an agent with a conversation. Only the user can read it: the conversation has its secrets
// again.
func writeConversation(path string, text []byte) error {
	if err := fsx.Replace(path, text, 0o600); err != nil {
		return fault.New(fault.WriteFailed, "write the conversation: %w", err)
	}
	return nil
}
