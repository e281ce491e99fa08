package agent

import (
	"bytes"
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// folderName stands for the folder of the agent in what CallTexts returns.
const folderName = "."

// CallTexts reads the inputs and outputs of the tool calls of one entry. It is for one goroutine.
type CallTexts struct {
	rows    *page.Collection // the transcripts
	speaks  *dialect.Dialect
	folders map[string]string // the folder of the agent, by transcript; "" if it is unknown
}

// NewCallTexts returns the CallTexts of an entry. workflow is the name of the run's workflow: that of a session is its agent.
func NewCallTexts(entry *snapshot.Entry, workflow string) (*CallTexts, error) {
	rows, err := entry.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return &CallTexts{rows: rows, speaks: dialect.For(workflow), folders: make(map[string]string)}, nil
}

// Input returns what a tool was asked to do: a JSON value, or nil if it is unknown. The folder in which the agent worked is
// replaced by a dot, so that the same call in another working copy has the same input. Secrets stay placeholders.
func (t *CallTexts) Input(call snapshot.ToolCall) (json.RawMessage, error) {
	if call.InputAt == nil {
		return call.Input, nil
	}
	facts, err := t.facts(call.InputAt)
	if err != nil {
		return nil, err
	}
	for _, begun := range facts.Begun {
		if begun.ID == call.CallToken {
			return t.withoutFolder(begun.Input, call.InputAt.Transcript, facts)
		}
	}
	return nil, nil
}

// Output returns what a tool answered, or nil if it is unknown. Folders and secrets are as in Input.
func (t *CallTexts) Output(call snapshot.ToolCall) ([]byte, error) {
	if call.OutputAt == nil {
		return call.Output, nil
	}
	facts, err := t.facts(call.OutputAt)
	if err != nil {
		return nil, err
	}
	for _, ended := range facts.Ended {
		if ended.ID == call.CallToken && ended.Output != "" {
			return t.withoutFolder([]byte(ended.Output), call.OutputAt.Transcript, facts)
		}
	}
	return nil, nil
}

// facts returns what a line of a transcript says. It returns no facts if the transcript does not have the line.
func (t *CallTexts) facts(at *snapshot.TranscriptRange) (dialect.Facts, error) {
	key := snapshot.TranscriptKey(at.Transcript, at.Offset)
	value, ok, err := t.rows.Get(key)
	if err != nil || !ok {
		return dialect.Facts{}, timeline.Explain(err)
	}
	lines, err := snapshot.DecodeTranscript(page.Row{Key: key, Value: value})
	if err != nil {
		return dialect.Facts{}, timeline.Explain(err)
	}
	return t.speaks.Read(lines[0]), nil
}

// withoutFolder replaces the folder of the agent in text by a dot. The folder is that of the line's facts or, if the line
// does not say it, that of an early line of the transcript.
func (t *CallTexts) withoutFolder(text []byte, transcript string, facts dialect.Facts) ([]byte, error) {
	folder := facts.Folder
	if folder == "" {
		var err error
		if folder, err = t.folder(transcript); err != nil {
			return nil, err
		}
	}
	return replaceFolder(text, folder), nil
}

// folderLines is the number of lines of a transcript that are searched for the folder of the agent.
const folderLines = 50

// folder returns the folder that one of the first lines of a transcript says, or "".
func (t *CallTexts) folder(transcript string) (string, error) {
	folder, known := t.folders[transcript]
	if known {
		return folder, nil
	}
	left := folderLines
	for row, err := range t.rows.Rows() {
		if err != nil {
			return "", timeline.Explain(err)
		}
		if name, _, err := snapshot.SplitTranscriptKey(row.Key); err != nil || name != transcript {
			continue
		}
		lines, err := snapshot.DecodeTranscript(row)
		if err != nil {
			return "", timeline.Explain(err)
		}
		folder = t.speaks.Read(lines[0]).Folder
		if left--; folder != "" || left == 0 {
			break
		}
	}
	t.folders[transcript] = folder
	return folder, nil
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
