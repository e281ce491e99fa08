package dbrow

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// MaxTime is the greatest time, and the greatest number of any kind, that a run of ours can have.
const MaxTime = 1<<53 - 1

// OurTime returns the nearest time that a run of ours can have.
func OurTime(ms int64) int64 { return min(max(ms, 0), MaxTime) }

// ColumnTime returns the integer of a column as a time of ours; ok reports whether the column is an integer.
func ColumnTime(row source.Row, name string) (ms int64, ok bool) {
	v := row[name]
	return OurTime(v.Int), v.Kind == source.Int
}

// Text returns a TEXT value.
func Text(s string) source.Value { return source.Value{Kind: source.Text, Bytes: s} }

// Int returns an INTEGER value.
func Int(n int64) source.Value { return source.Value{Kind: source.Int, Int: n} }

// Bool returns 1 or 0.
func Bool(b bool) source.Value {
	if b {
		return Int(1)
	}
	return Int(0)
}

// OptionalText returns a TEXT value, or NULL for "".
func OptionalText(s string) source.Value {
	if s == "" {
		return source.Value{}
	}
	return Text(s)
}

// NullableText returns a TEXT value, or NULL for nil.
func NullableText(s *string) source.Value {
	if s == nil {
		return source.Value{}
	}
	return Text(*s)
}

// NullableInt returns an INTEGER value, or NULL for nil.
func NullableInt(n *int64) source.Value {
	if n == nil {
		return source.Value{}
	}
	return Int(*n)
}

// ColumnText returns the text of a column; ok reports whether the column is text in UTF-8.
func ColumnText(row source.Row, name string) (s string, ok bool) {
	v := row[name]
	if v.Kind != source.Text || !utf8.ValidString(v.Bytes) {
		return "", false
	}
	return v.Bytes, true
}

// ColumnTextOrNil returns the text of a column, or nil if the column is not text in UTF-8.
func ColumnTextOrNil(row source.Row, name string) *string {
	if s, ok := ColumnText(row, name); ok {
		return &s
	}
	return nil
}

// ColumnNumber returns the integer of a column; ok reports whether it is a number that a run of ours can have.
func ColumnNumber(row source.Row, name string) (n int64, ok bool) {
	v := row[name]
	if v.Kind != source.Int || v.Int < 0 || v.Int > MaxTime {
		return 0, false
	}
	return v.Int, true
}

// ColumnNumberOrNil returns the integer of a column, or nil if it is not a number that a run of ours can have.
func ColumnNumberOrNil(row source.Row, name string) *int64 {
	if n, ok := ColumnNumber(row, name); ok {
		return &n
	}
	return nil
}

// ColumnJSON returns the text of a column, or nil if it is not JSON that a run of ours can have.
func ColumnJSON(row source.Row, name string) json.RawMessage {
	v := row[name]
	if value := json.RawMessage(v.Bytes); v.Kind == source.Text && IsJSON(value) {
		return value
	}
	return nil
}

// TextOf returns the text of a column, whatever its encoding, or "" if the column is not text.
func TextOf(row source.Row, column string) string {
	if v := row[column]; v.Kind == source.Text {
		return v.Bytes
	}
	return ""
}
