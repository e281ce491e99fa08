package dbrow

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// IsJSON reports whether text is JSON within the limits of a run of git-smithers.
func IsJSON(text []byte) bool { return snapshot.Limits{}.CheckValue(text) == nil }

// Same reports whether a and b are stored identically. 0.0 and -0.0 are different, and so are 1 and 1.0.
func Same(a, b source.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && math.Float64bits(a.Real) == math.Float64bits(b.Real) && a.Bytes == b.Bytes
}

// appendValue appends v to b and returns the extended slice. The JSON has the form of KeptRow: an integer, a
// string, null, or an object with one member for a REAL, for a BLOB and for a TEXT that is not UTF-8.
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

// appendTagged appends the JSON object {"<tag>":"<text>"} to b, and returns the extended slice.
func appendTagged(b []byte, tag, text string) []byte {
	b = page.AppendString(append(b, '{'), tag)
	b = page.AppendString(append(b, ':'), text)
	return append(b, '}')
}

// taggedValue is an encoded value that is an object. Only one field is set.
type taggedValue struct {
	Real  *string  `json:"real"`
	Blob  []byte   `json:"blob"`
	Bytes []byte   `json:"bytes"`
	Root  []string `json:"root"`
}

// valueReader decodes the values of kept rows.
type valueReader struct {
	at   Root // the root of the decoded paths
	json bool // the column is JSON with paths
}

// read decodes raw, a value in the form of KeptRow. It is the inverse of appendValue and appendRooted. If raw is
// invalid, read returns an error.
func (r valueReader) read(raw json.RawMessage) (source.Value, error) {
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
		return r.readTagged(raw)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return Int(n), err
}

var errNotValue = errors.New("not a value")

// readTagged decodes raw, a value that is encoded as an object with one member: see taggedValue. If the member
// is root, readTagged joins its parts with r.at. If raw is invalid, readTagged returns an error.
func (r valueReader) readTagged(raw json.RawMessage) (source.Value, error) {
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
	}
	return source.Value{}, errNotValue
}
