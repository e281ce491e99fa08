package search

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	maxText = 4 << 20 // how many bytes of a text are searched
	maxFile = 1 << 20 // the size of the largest file that is searched
	// binaryWithin is where a file with a zero byte is binary, as git decides it.
	binaryWithin = 8000
	// promptsTable is the output table with the prompts of a session.
	promptsTable = "prompts"
)

// texts has a text of each kind but Code; "" means none.
type texts [Code]string

// textsOf returns the texts of a row in a collection of the state or of the journal.
func textsOf(collection string, r page.Row, speaks *dialect.Dialect) (t texts, err error) {
	switch table, isOutput := strings.CutPrefix(collection, snapshot.OutputCollection("")); {
	case isOutput && table == promptsTable:
		t[Prompts] = members(r.Value, "prompt")
	case isOutput:
		t[Outputs] = flat(r.Value)
	case collection == snapshot.CollectionLogs:
		t[Logs], err = snapshot.DecodeLog(r)
	case collection == snapshot.CollectionAttempts:
		t[Logs] = members(r.Value, "error")
	case collection == snapshot.CollectionApprovals, collection == snapshot.CollectionHumanRequests, collection == snapshot.CollectionSignals:
		t[Prompts] = members(r.Value, "title", "summary", "note", "prompt", "response", "name", "correlationId", "payload")
	case collection == snapshot.CollectionToolCalls, collection == snapshot.CollectionScores:
		t[Calls] = members(r.Value, "toolName", "scorerName", "reason", "input", "output", "error", "revertError", "groundTruth", "context")
	case collection == snapshot.CollectionTranscript:
		err = t.transcript(r, speaks)
	}
	return t, err
}

// transcript sets what the lines of a transcript say in words, and what they say of tool calls. What begins a turn is a prompt, with a row of its own. The
// lines of an unknown agent are told as they are.
func (t *texts) transcript(r page.Row, speaks *dialect.Dialect) error {
	lines, err := snapshot.DecodeTranscript(r)
	var talk, calls []string
	for _, line := range lines {
		facts := speaks.Read(line)
		if !speaks.ReadsTranscripts() {
			talk = append(talk, flat(line))
		}
		for _, said := range facts.Said {
			if said.Role != dialect.User || said.Beside || said.Local || facts.Aside {
				talk = append(talk, said.Text)
			}
		}
		for _, call := range facts.Begun {
			calls = append(calls, call.Tool, flat(call.Input))
		}
		for _, result := range facts.Ended {
			calls = append(calls, result.Output)
		}
	}
	t[Talk], t[Calls] = strings.Join(talk, "\n"), strings.Join(calls, "\n")
	return err
}

// members returns the text of some members of an object, each on a line or more.
func members(object []byte, names ...string) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(object, &values) // a row that is no object says nothing
	var lines []string
	for _, name := range names {
		if text := flat(values[name]); text != "" && text != "null" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// flat returns a JSON value as text: each member of an object and each element of a list on a line, without brackets and quotes, and texts as they
// are. So a word is never a part of an escape.
func flat(value []byte) string {
	var out strings.Builder
	for i := 0; i < len(value) && out.Len() < maxText; i++ {
		switch c := value[i]; c {
		case '"':
			end := jsontext.StringEnd(value, i)
			if end < 0 {
				return string(value) // it is no JSON
			}
			out.WriteString(jsontext.Unquote(value[i:end]))
			i = end - 1
		case '{', '}', '[', ']':
		case ',':
			out.WriteByte('\n')
		case ':':
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// capturedEvent is the type of the event that each frame ends with. It says nothing but ids and hashes.
const capturedEvent = "SnapshotCaptured"

// eventsText returns the events of an entry, each on a line that begins with its number and its type.
func eventsText(events []snapshot.Event) string {
	var out strings.Builder
	for _, e := range events {
		if e.Type == capturedEvent {
			continue
		}
		out.WriteString(strconv.FormatInt(e.Seq, 10) + " " + e.Type + " " + plain.Words(flat(e.Payload)) + "\n")
	}
	return out.String()
}

// bounded returns what is searched of a text: it is not too long, in UTF-8, and without colours and zero bytes, at which SQLite ends a text.
func bounded(text string) string {
	text = text[:min(len(text), maxText)]
	if strings.Contains(text, "\x1b") {
		text = plain.Uncolored(text)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", " ")
}

// fileText returns the text of a file, or "" if it is binary, too large or not here.
func fileText(objects objstore.Reader, id objstore.ID) (string, error) {
	data, err := objstore.GetBlob(objects, id, maxFile)
	switch {
	case isAbsent(err), err == nil && bytes.IndexByte(data[:min(len(data), binaryWithin)], 0) >= 0:
		return "", nil
	case err != nil:
		return "", err
	}
	return bounded(string(data)), nil
}
