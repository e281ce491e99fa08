package agent

import (
	"bytes"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// folderName stands for the folder of the agent in what CallTexts returns.
const folderName = "."

// CallTexts has the inputs and outputs of the tool calls of one entry. It reads the transcripts once, and only if a call refers to
// them. It is for one goroutine.
type CallTexts struct {
	rows    *page.Collection // the transcripts; nil once they have been read
	speaks  *dialect.Dialect
	inputs  map[callPlace][]byte
	outputs map[callPlace][]byte
}

// A callPlace is where a transcript says something about a call.
type callPlace struct {
	transcript string
	offset     int64
	id         string // the agent's own id of the call
}

// NewCallTexts returns the CallTexts of an entry. workflow is the name of the run's workflow: that of a session is its agent.
func NewCallTexts(entry *snapshot.Entry, workflow string) (*CallTexts, error) {
	rows, err := entry.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return &CallTexts{rows, dialect.For(workflow), make(map[callPlace][]byte), make(map[callPlace][]byte)}, nil
}

// Input returns what a tool was asked to do: a JSON value, or nil if it is unknown. The folder in which the agent worked is
// replaced by a dot, so that the same call in another working copy has the same input. Secrets stay placeholders.
func (t *CallTexts) Input(call snapshot.ToolCall) (json.RawMessage, error) {
	if call.InputAt == nil {
		return call.Input, nil
	}
	err := t.read()
	return t.inputs[callPlace{call.InputAt.Transcript, call.InputAt.Offset, call.CallToken}], err
}

// Output returns what a tool answered, or nil if it is unknown. Folders and secrets are as in Input.
func (t *CallTexts) Output(call snapshot.ToolCall) ([]byte, error) {
	if call.OutputAt == nil {
		return call.Output, nil
	}
	err := t.read()
	return t.outputs[callPlace{call.OutputAt.Transcript, call.OutputAt.Offset, call.CallToken}], err
}

// read reads the transcripts, unless it has read them already.
func (t *CallTexts) read() error {
	if t.rows == nil {
		return nil
	}
	folders := make(map[string]string) // the first folder that each transcript says
	for row, err := range t.rows.Rows() {
		if err != nil {
			return timeline.Explain(err)
		}
		name, offset, err := snapshot.SplitTranscriptKey(row.Key)
		if err != nil {
			return timeline.Explain(err)
		}
		lines, err := snapshot.DecodeTranscript(row)
		if err != nil {
			return timeline.Explain(err)
		}
		facts := t.speaks.Read(lines[0])
		if folders[name] == "" {
			folders[name] = facts.Folder
		}
		folder := facts.Folder
		if folder == "" {
			folder = folders[name]
		}
		for _, begun := range facts.Begun {
			t.inputs[callPlace{name, offset, begun.ID}] = replaceFolder(begun.Input, folder)
		}
		for _, ended := range facts.Ended {
			if ended.Output != "" {
				t.outputs[callPlace{name, offset, ended.ID}] = replaceFolder([]byte(ended.Output), folder)
			}
		}
	}
	t.rows = nil
	return nil
}

// replaceFolder replaces a folder in text by a dot wherever the name of the folder ends there: before a separator, or
// before a character that no name has in a command line or in JSON.
func replaceFolder(text []byte, folder string) []byte {
	if len(folder) < 2 { // "/" is in every path
		return text
	}
	var out []byte
	for rest := text; ; {
		i := bytes.Index(rest, []byte(folder))
		if i < 0 {
			return append(out, rest...)
		}
		end := i + len(folder)
		out = append(out, rest[:i]...)
		if end == len(rest) || bytes.IndexByte([]byte("/\\\"' \n\t:;,)"), rest[end]) >= 0 {
			out = append(out, folderName...)
		} else {
			out = append(out, folder...)
		}
		rest = rest[end:]
	}
}
