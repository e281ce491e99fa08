package search

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// maxText is how many bytes of a text are searched.
	maxText = 4 << 20
	// maxFile is the size of the largest file that is searched.
	maxFile = 1 << 20
	// pathShown is how many levels of a path are told, and nameShown how many bytes of a name: a value can be deep.
	pathShown = 6
	nameShown = 100
	// binaryWithin is where a file with a zero byte is binary, as git decides it.
	binaryWithin = 8000
)

// part is a kind of rows in which there are texts.
type part struct {
	kind Kind
	name string // the collection, or the first part of its name
	text func(row page.Row, speaks *dialect.Dialect) (string, error)
}

// promptsTable is the output table with the prompts of a session.
var promptsTable = snapshot.OutputCollection("prompts")

// The parts of an entry that are no collections.
const (
	inputPart  = "input"
	eventsPart = "events"
)

// parts lists the collections with texts, besides the output tables. A transcript has two kinds of texts.
func parts() []part {
	return []part{
		{Logs, snapshot.CollectionLogs, func(r page.Row, _ *dialect.Dialect) (string, error) { return snapshot.DecodeLog(r) }},
		{Logs, snapshot.CollectionAttempts, attemptText},
		{Prompts, snapshot.CollectionApprovals, rowText("title", "summary", "note")},
		{Prompts, snapshot.CollectionHumanRequests, rowText("prompt", "response")},
		{Prompts, snapshot.CollectionSignals, rowText("name", "correlationId", "payload")},
		{Talk, snapshot.CollectionTranscript, talkText},
		{Calls, snapshot.CollectionTranscript, callsText},
		{Calls, snapshot.CollectionToolCalls, rowText("toolName", "input", "output", "error", "revertError")},
		{Calls, snapshot.CollectionScores, rowText("scorerName", "reason", "input", "output", "groundTruth", "context")},
	}
}

// partOf returns the part with the kind and the name.
func partOf(kind Kind, name string) (part, bool) {
	for _, p := range parts() {
		if p.kind == kind && p.name == name {
			return p, true
		}
	}
	return part{kind, name, outputText(name)}, strings.HasPrefix(name, snapshot.OutputCollection(""))
}

// outputText returns the function for the text of an output in a table. The prompts of a session are outputs.
func outputText(table string) func(page.Row, *dialect.Dialect) (string, error) {
	if table == promptsTable {
		return rowText("prompt")
	}
	return func(r page.Row, _ *dialect.Dialect) (string, error) { return flat(r.Value), nil }
}

// attemptText returns why an attempt failed.
func attemptText(r page.Row, _ *dialect.Dialect) (string, error) {
	a, err := snapshot.DecodeAttempt(r)
	return a.Error, err
}

// rowText returns the function for the text of some members of a row. A member that is an object or a list is told as flat tells it.
func rowText(members ...string) func(page.Row, *dialect.Dialect) (string, error) {
	return func(r page.Row, _ *dialect.Dialect) (string, error) {
		var values map[string]json.RawMessage
		if json.Unmarshal(r.Value, &values) != nil {
			return "", nil
		}
		var lines []string
		for _, name := range members {
			if text := flat(values[name]); text != "" && text != "null" {
				lines = append(lines, text)
			}
		}
		return strings.Join(lines, "\n"), nil
	}
}

// talkText returns what the lines of a transcript say. What begins a turn is a prompt of its own. The lines of an unknown agent are told as they are.
func talkText(r page.Row, speaks *dialect.Dialect) (string, error) {
	lines, err := snapshot.DecodeTranscript(r)
	var out []string
	for _, line := range lines {
		if !speaks.ReadsTranscripts() {
			out = append(out, flat(line))
			continue
		}
		facts := speaks.Read(line)
		for _, said := range facts.Said {
			if said.Role != dialect.User || said.Beside || said.Local || facts.Aside {
				out = append(out, said.Text)
			}
		}
		if facts.Notice != "" {
			out = append(out, facts.Notice)
		}
	}
	return strings.Join(out, "\n"), err
}

// callsText returns what the lines of a transcript say of tool calls.
func callsText(r page.Row, speaks *dialect.Dialect) (string, error) {
	lines, err := snapshot.DecodeTranscript(r)
	var out []string
	for _, line := range lines {
		facts := speaks.Read(line)
		for _, call := range facts.Begun {
			out = append(out, call.Tool, flat(call.Input))
		}
		for _, result := range facts.Ended {
			out = append(out, result.Output)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n")), err
}

// eventsText returns the events of an entry, each on a line that begins with its number and its type.
func eventsText(events []snapshot.Event) string {
	var out strings.Builder
	for _, e := range events {
		text := strings.Join(strings.Fields(flat(e.Payload)), " ")
		out.WriteString(strconv.FormatInt(e.Seq, 10) + " " + e.Type + " " + text + "\n")
		if out.Len() > maxText {
			break
		}
	}
	return out.String()
}

// bounded returns the text that is searched of a text: without colours, in UTF-8, and not too long.
func bounded(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	if strings.Contains(text, "\x1b") {
		text = plain.Uncolored(text)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", " ") // SQLite ends a text at a zero byte
}

// fileText returns the text of a file, or false if the file is binary.
func fileText(data []byte) (string, bool) {
	if bytes.IndexByte(data[:min(len(data), binaryWithin)], 0) >= 0 {
		return "", false
	}
	return bounded(string(data)), true
}

// flat returns a JSON value as lines: a text as it is, and each value in an object or a list after the path to it. So a word is never part of an escape.
// Texts that are no JSON stay.
func flat(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	f := flattener{from: json.NewDecoder(bytes.NewReader(value))}
	f.from.UseNumber()
	for {
		token, err := f.from.Token()
		if err != nil || f.out.Len() > maxText {
			if f.out.Len() == 0 && len(f.open) == 0 && !f.said {
				return string(value)
			}
			return strings.TrimSuffix(f.out.String(), "\n")
		}
		f.take(token)
	}
}

// level is an object or a list that a flattener is in.
type level struct {
	name   string // of the member that comes next
	object bool
	named  bool // name has been read, and its value comes next
}

// flattener writes the values of a JSON text with their paths. It does not recurse.
type flattener struct {
	from *json.Decoder
	open []level
	out  strings.Builder
	said bool
}

// take takes the next token.
func (f *flattener) take(token json.Token) {
	f.said = true
	var top *level
	if len(f.open) > 0 {
		top = &f.open[len(f.open)-1]
	}
	if name, ok := token.(string); ok && top != nil && top.object && !top.named {
		top.name, top.named = name, true
		return
	}
	switch token {
	case json.Delim('{'), json.Delim('['):
		f.open = append(f.open, level{object: token == json.Delim('{')})
		return
	case json.Delim('}'), json.Delim(']'):
		f.open = f.open[:len(f.open)-1]
	default:
		f.value(token)
	}
	if len(f.open) > 0 {
		f.open[len(f.open)-1].named = false
	}
}

// value writes a value that is neither an object nor a list.
func (f *flattener) value(token json.Token) {
	path := ""
	for _, l := range f.open[max(0, len(f.open)-pathShown):] {
		if l.object && path != "" {
			path += "."
		}
		path += plain.Cut(l.name, nameShown)
	}
	if path != "" {
		f.out.WriteString(path + ": ")
	}
	switch v := token.(type) {
	case nil:
		f.out.WriteString("null")
	case bool:
		f.out.WriteString(strconv.FormatBool(v))
	case json.Number:
		f.out.WriteString(v.String())
	case string:
		f.out.WriteString(v)
	}
	f.out.WriteByte('\n')
}
