package dbrow

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// MaxTime is the greatest time in milliseconds, and the greatest number of any kind, that a run of git-smithers
// can have. It is JavaScript's greatest safe integer.
const MaxTime = 1<<53 - 1

// OurTime returns the time closest to ms that a run of git-smithers can have: 0 for a negative ms, MaxTime for
// an ms above MaxTime, and otherwise ms.
func OurTime(ms int64) int64 { return min(max(ms, 0), MaxTime) }

// ColumnTime returns the integer in a column, limited by OurTime to the times that a run can have. If the column
// has no integer, ms is 0 and ok is false.
func ColumnTime(row source.Row, name string) (ms int64, ok bool) {
	v := row[name]
	return OurTime(v.Int), v.Kind == source.Int
}

// Text returns s as a TEXT value.
func Text(s string) source.Value { return source.Value{Kind: source.Text, Bytes: s} }

// Int returns n as an INTEGER value.
func Int(n int64) source.Value { return source.Value{Kind: source.Int, Int: n} }

// Bool returns the INTEGER value 1 for true and 0 for false.
func Bool(b bool) source.Value {
	if b {
		return Int(1)
	}
	return Int(0)
}

// OptionalText returns s as a TEXT value, or NULL if s is "".
func OptionalText(s string) source.Value {
	if s == "" {
		return source.Value{}
	}
	return Text(s)
}

// NullableText returns *s as a TEXT value, or NULL if s is nil.
func NullableText(s *string) source.Value {
	if s == nil {
		return source.Value{}
	}
	return Text(*s)
}

// NullableInt returns *n as an INTEGER value, or NULL if n is nil.
func NullableInt(n *int64) source.Value {
	if n == nil {
		return source.Value{}
	}
	return Int(*n)
}

// ColumnText returns the text in a column. ok is false if the column has no text, or a text that is not
// UTF-8.
func ColumnText(row source.Row, name string) (s string, ok bool) {
	v := row[name]
	if v.Kind != source.Text || !utf8.ValidString(v.Bytes) {
		return "", false
	}
	return v.Bytes, true
}

// ColumnTextOrNil returns the text in a column, or nil if ColumnText would return false.
func ColumnTextOrNil(row source.Row, name string) *string {
	if s, ok := ColumnText(row, name); ok {
		return &s
	}
	return nil
}

// ColumnNumber returns the integer in a column. ok is false if the column has no integer, or an integer below
// 0 or above MaxTime.
func ColumnNumber(row source.Row, name string) (n int64, ok bool) {
	v := row[name]
	if v.Kind != source.Int || v.Int < 0 || v.Int > MaxTime {
		return 0, false
	}
	return v.Int, true
}

// ColumnNumberOrNil returns the integer in a column, or nil if ColumnNumber would return false.
func ColumnNumberOrNil(row source.Row, name string) *int64 {
	if n, ok := ColumnNumber(row, name); ok {
		return &n
	}
	return nil
}

// ColumnJSON returns the text in a column, or nil if the column has no text, or a text that IsJSON rejects.
func ColumnJSON(row source.Row, name string) json.RawMessage {
	v := row[name]
	if value := json.RawMessage(v.Bytes); v.Kind == source.Text && IsJSON(value) {
		return value
	}
	return nil
}

// TextOf returns the text in a column, which need not be UTF-8, or "" if the column has no text.
func TextOf(row source.Row, column string) string {
	if v := row[column]; v.Kind == source.Text {
		return v.Bytes
	}
	return ""
}
