package smithers

import (
	"encoding/json"
	"iter"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// What is read here is valid JSON: it was checked as a whole before.

// member is one member of a JSON object.
type member struct {
	name  string
	text  []byte // name, colon and value, as they are spelled
	value []byte
}

// members yields the members of an object in their order; none of what is no object.
func members(object []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		i := jsontext.SkipSpace(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for i = jsontext.SkipSpace(object, i+1); object[i] != '}'; {
			nameEnd := jsontext.ValueEnd(object, i)
			start := jsontext.SkipSpace(object, jsontext.SkipSpace(object, nameEnd)+1)
			end := jsontext.ValueEnd(object, start)
			if !yield(member{unquote(object[i:nameEnd]), object[i:end], object[start:end]}) {
				return
			}
			if i = jsontext.SkipSpace(object, end); object[i] == ',' {
				i = jsontext.SkipSpace(object, i+1)
			}
		}
	}
}

// elements yields the elements of an array in their order; none of what is no array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := jsontext.SkipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = jsontext.SkipSpace(array, i+1); array[i] != ']'; {
			end := jsontext.ValueEnd(array, i)
			if !yield(array[i:end]) {
				return
			}
			if i = jsontext.SkipSpace(array, end); array[i] == ',' {
				i = jsontext.SkipSpace(array, i+1)
			}
		}
	}
}

// unquote reads a string; a surrogate without its other half becomes U+FFFD.
func unquote(text []byte) string {
	for _, c := range text {
		if c == '\\' {
			var s string
			if err := json.Unmarshal(text, &s); err != nil {
				return ""
			}
			return s
		}
	}
	return string(text[1 : len(text)-1])
}

func isString(value []byte) bool { return value[0] == '"' }

func isNull(value []byte) bool { return string(value) == "null" }

// appendNullable appends a string, or null.
func appendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return page.AppendString(b, *s)
}
