package jsontext

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Span says where a member of an object is: its name with the quotes, and its value.
type Span struct{ Name, NameEnd, Start, End int }

// Spelled returns the name as it is spelled in the object, without quotes.
func (s Span) Spelled(object []byte) string { return string(object[s.Name+1 : s.NameEnd-1]) }

// Spans yields the members of a JSON object in their order. It stops at whatever is not JSON, and yields nothing for another value.
func Spans(object []byte) iter.Seq[Span] { return spansAt(object, SkipSpace(object, 0)) }

// spansAt yields the members of the object that begins at an offset of a text.
func spansAt(object []byte, start int) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for i, opening := start, byte('{'); i < len(object) && object[i] == opening; opening = ',' {
			m := Span{Name: SkipSpace(object, i+1)}
			if m.NameEnd = StringEnd(object, m.Name); m.NameEnd < 0 {
				return
			}
			colon := SkipSpace(object, m.NameEnd)
			m.Start = SkipSpace(object, colon+1)
			if m.End = ValueEnd(object, m.Start); m.End < 0 || !yield(m) {
				return
			}
			i = SkipSpace(object, m.End)
		}
	}
}

// Elements yields the elements of a JSON array in their order. It stops at whatever is not JSON, and yields nothing for another value.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for e := range elementSpans(array, SkipSpace(array, 0)) {
			if !yield(array[e.Start:e.End]) {
				return
			}
		}
	}
}

// elementSpans yields the elements of the array that begins at an offset of a text. Name and NameEnd of an element are its Start.
func elementSpans(array []byte, start int) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for i, opening := start, byte('['); i < len(array) && array[i] == opening; opening = ',' {
			at := SkipSpace(array, i+1)
			end := ValueEnd(array, at)
			if end < 0 || !yield(Span{at, at, at, end}) {
				return
			}
			i = SkipSpace(array, end)
		}
	}
}

// IsObject reports whether a JSON value is an object.
func IsObject(value []byte) bool {
	i := SkipSpace(value, 0)
	return i < len(value) && value[i] == '{'
}

// Unquote returns the decoded text of a JSON string. text is the string with its quotes. An unpaired surrogate becomes
// U+FFFD. If text is not a valid JSON string, the result has no meaning.
func Unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) && len(text) > 1 {
		return string(text[1 : len(text)-1])
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return ""
	}
	return s
}
