package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// offsetDigits is the number of digits of an offset in the key of a transcript's row. Keys with leading zeros sort by
// their offsets.
const offsetDigits = 20

// TranscriptKey returns the key of a row of a transcript: "transcript::offset", where offset has 20 digits. offset is
// the position of the row's first line in the file of the agent, in bytes. It must not be negative.
func TranscriptKey(transcript string, offset int64) string {
	return fmt.Sprintf("%s%s%0*d", transcript, keySeparator, offsetDigits, offset)
}

// SplitTranscriptKey returns the parts of a key that TranscriptKey returned. If TranscriptKey cannot have returned the
// key, the error wraps ErrInvalid.
func SplitTranscriptKey(key string) (transcript string, offset int64, err error) {
	transcript, digits, found := cutLast(key)
	offset, err = strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || transcript == "" || offset < 0 || offset > row.MaxInteger || TranscriptKey(transcript, offset) != key {
		return "", 0, invalid("key %q: not transcript::offset with %d digits", key, offsetDigits)
	}
	return transcript, offset, nil
}

// EncodeTranscript returns a row of the journal's collection "transcript": lines of the conversation with an agent, as
// the agent wrote them to its file. offset is the position of the first line in that file. Lines have no line feed.
//
// The value is a JSON array with one element for each line, on a line of its own. A line that is a JSON object is stored
// byte for byte. Any other line is stored as a JSON string, and bytes that are not UTF-8 become U+FFFD.
func EncodeTranscript(transcript string, offset int64, lines [][]byte) page.Row {
	value := []byte("[\n")
	for i, line := range lines {
		if i > 0 {
			value = append(value, ",\n"...)
		}
		if isObjectLine(line) {
			value = append(value, line...)
		} else {
			value = page.AppendString(value, string(bytes.ToValidUTF8(line, []byte("\uFFFD"))))
		}
	}
	return page.Row{Key: TranscriptKey(transcript, offset), Value: append(value, "\n]"...)}
}

// isObjectLine reports whether a transcript stores line byte for byte: whether line is a JSON object without spaces
// around it, and the array of lines may contain it.
func isObjectLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}")) && utf8.Valid(line) &&
		Limits{Depth: maxDepth - 1}.CheckValue(line) == nil
}

// DecodeTranscript returns the lines in a row of a transcript, without line feeds. If EncodeTranscript would not have
// written the row, or the row has no lines, the error wraps objstore.ErrCorrupt. The lines may share memory with the row.
func DecodeTranscript(r page.Row) ([][]byte, error) {
	lines, err := transcriptLines(r)
	if err != nil {
		return nil, corrupt(objstore.ID{}, "transcript %q: %v", r.Key, err)
	}
	return lines, nil
}

// transcriptLines returns the lines in a stored row of a transcript, or an error if the row is invalid.
func transcriptLines(r page.Row) ([][]byte, error) {
	transcript, offset, err := SplitTranscriptKey(r.Key)
	if err != nil {
		return nil, err
	}
	body, opened := bytes.CutPrefix(r.Value, []byte("[\n"))
	body, closed := bytes.CutSuffix(body, []byte("\n]"))
	if !opened || !closed {
		return nil, row.ErrNotCanonical
	}
	// An element has no line feed, so that each line of the value is one element.
	elements := bytes.Split(body, []byte(",\n"))
	for i, element := range elements {
		if !bytes.HasPrefix(element, []byte(`"`)) {
			continue
		}
		var text string
		if err := json.Unmarshal(element, &text); err != nil {
			return nil, err
		}
		if strings.Contains(text, "\n") {
			return nil, fmt.Errorf("line %d has a line feed", i+1)
		}
		elements[i] = []byte(text)
	}
	if !bytes.Equal(EncodeTranscript(transcript, offset, elements).Value, r.Value) {
		return nil, row.ErrNotCanonical
	}
	return elements, nil
}

// isTranscript reports whether a row of a transcript has its stored form.
func isTranscript(r page.Row) bool {
	_, err := transcriptLines(r)
	return err == nil
}

// transcriptRows describes the collection "transcript" of the journal. Its values are arrays of lines.
func transcriptRows() *collection {
	return &collection{
		name: CollectionTranscript, place: inJournal, isText: true, encode: encodeTranscript,
		decode: func(r page.Row) error {
			_, err := DecodeTranscript(r)
			return err
		},
	}
}

// encodeTranscript returns a row of a transcript. key and value come from an engine. value must be valid JSON. If key is
// not the key of a transcript's row, or value is not an array of objects and strings, each on one line, encodeTranscript
// returns an error.
func encodeTranscript(key string, value json.RawMessage) (page.Row, error) {
	transcript, offset, err := SplitTranscriptKey(key)
	if err != nil {
		return page.Row{}, err
	}
	if stored := (page.Row{Key: key, Value: value}); isTranscript(stored) {
		return stored, nil // the fast path: the row has its stored form
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil || len(elements) == 0 {
		return page.Row{}, errors.New("a transcript must be a JSON array of lines")
	}
	lines := make([][]byte, len(elements))
	for i, element := range elements {
		lines[i] = element
		if element[0] == '"' {
			var text string
			if err := json.Unmarshal(element, &text); err != nil {
				return page.Row{}, err
			}
			lines[i] = []byte(text)
		} else if element[0] != '{' {
			return page.Row{}, fmt.Errorf("line %d of the transcript is neither a JSON object nor a string", i+1)
		}
		if bytes.ContainsRune(lines[i], '\n') {
			return page.Row{}, fmt.Errorf("line %d of the transcript has a line feed", i+1)
		}
	}
	return EncodeTranscript(transcript, offset, lines), nil
}

// Transcript returns the journal's collection of transcripts. DecodeTranscript decodes its rows. The rows of one
// transcript are next to each other, in the order of their offsets.
func (e *Entry) Transcript() (*page.Collection, error) { return e.journalRows(CollectionTranscript) }
