package dbrow

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// IsJSON reports whether a text is JSON that a run of ours can have.
func IsJSON(text []byte) bool { return snapshot.Limits{}.CheckValue(text) == nil }

// Same reports whether two values are stored alike. 0 and -0 differ, and so do 1 and 1.0.
func Same(a, b source.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && math.Float64bits(a.Real) == math.Float64bits(b.Real) && a.Bytes == b.Bytes
}

// appendValue appends a value as an override has it; see there.
func appendValue(b []byte, v source.Value) []byte {
	switch v.Kind {
	case source.Int:
		return strconv.AppendInt(b, v.Int, 10)
	case source.Real:
		return appendTagged(b, "real", strconv.FormatFloat(v.Real, 'g', -1, 64))
	case source.Blob:
		return appendTagged(b, "blob", base64.StdEncoding.EncodeToString([]byte(v.Bytes)))
	case source.Text:
		if !utf8.ValidString(v.Bytes) {
			return appendTagged(b, "bytes", base64.StdEncoding.EncodeToString([]byte(v.Bytes)))
		}
		return page.AppendString(b, v.Bytes)
	case source.Null:
	}
	return append(b, "null"...)
}

func appendTagged(b []byte, tag, text string) []byte {
	b = page.AppendString(append(b, '{'), tag)
	b = page.AppendString(append(b, ':'), text)
	return append(b, '}')
}

// taggedValue is an object that stands for a value.
type taggedValue struct {
	Real  *string           `json:"real"`
	Blob  []byte            `json:"blob"`
	Bytes []byte            `json:"bytes"`
	Root  []string          `json:"root"`
	Edit  []json.RawMessage `json:"edit"`
}

// valueReader reads values as they stand in overrides.
type valueReader struct {
	at   Root
	json bool // the column is one of JSON with paths in it
}

// read is the inverse of appendValue and appendRooted, and reads the edits that earlier versions wrote.
func (r valueReader) read(raw json.RawMessage, predicted source.Value) (source.Value, error) {
	if len(raw) == 0 {
		return source.Value{}, errNotValue
	}
	switch raw[0] {
	case 'n':
		return source.Value{}, nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return Text(s), err
	case '{':
		return r.readTagged(raw, predicted)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return Int(n), err
}

var errNotValue = errors.New("not a value")

func (r valueReader) readTagged(raw json.RawMessage, predicted source.Value) (source.Value, error) {
	var t taggedValue
	if err := json.Unmarshal(raw, &t); err != nil {
		return source.Value{}, err
	}
	switch {
	case t.Real != nil:
		f, err := strconv.ParseFloat(*t.Real, 64)
		return source.Value{Kind: source.Real, Real: f}, err
	case t.Blob != nil:
		return source.Value{Kind: source.Blob, Bytes: string(t.Blob)}, nil
	case t.Bytes != nil:
		return Text(string(t.Bytes)), nil
	case t.Root != nil:
		return Text(r.at.Join(t.Root, r.json)), nil
	case t.Edit != nil:
		return readEdit(t.Edit, predicted)
	}
	return source.Value{}, errNotValue
}

// readEdit reads {"edit":[head,tail,text]}, which earlier versions wrote: the predicted text with another text between its
// first head and last tail bytes.
func readEdit(edit []json.RawMessage, predicted source.Value) (source.Value, error) {
	var head, tail int
	var text string
	if len(edit) != 3 || json.Unmarshal(edit[0], &head) != nil || json.Unmarshal(edit[1], &tail) != nil || json.Unmarshal(edit[2], &text) != nil {
		return source.Value{}, errNotValue
	}
	from := predicted.Bytes
	if predicted.Kind != source.Text || head < 0 || tail < 0 || head > len(from) || tail > len(from)-head {
		return source.Value{}, errors.New("an edit of something else")
	}
	return Text(from[:head] + text + from[len(from)-tail:]), nil
}
