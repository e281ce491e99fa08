package jsontext

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// A Path leads from a JSON value to a value in it.
type Path []Step

// A Step of a path is the name of a member or the index of an element.
type Step struct {
	Name  string
	Index int // -1 for a name
	End   int // the length of the text of the path up to this step
}

// stepText matches one step of a path: a name, perhaps after a dot, or brackets with an index, a JSON string, or a name in single quotes.
var stepText = lazyregexp.New(`^(?:(\.?)([^][.=]+)|\[(?:([0-9]{1,9})|("(?:[^"\\]|\\.)*")|'([^']*)')\])`)

// ParsePath reads a path up to the first "=" outside of brackets, and returns the text that follows the path. A path has names with dots between them, and
// indexes in brackets: plan.steps[0].title. A name with other characters stands in brackets and quotes: plan["a.b"].
func ParsePath(text string) (path Path, rest string, err error) {
	if rest = text; !utf8.ValidString(text) {
		return nil, rest, errors.New("not valid UTF-8")
	}
	for rest != "" && rest[0] != '=' {
		m := stepText.FindStringSubmatch(rest)
		if m == nil || m[2] != "" && (m[1] == "") != (len(path) == 0) {
			return nil, rest, fmt.Errorf("%q is neither a name after a dot, nor an index or a quoted name in brackets", rest)
		}
		rest = rest[len(m[0]):]
		step := Step{Name: m[2] + m[5], Index: -1, End: len(text) - len(rest)}
		if m[3] != "" {
			step.Index, _ = strconv.Atoi(m[3]) // 9 digits at most
		} else if m[4] != "" {
			step.Name = Unquote([]byte(m[4]))
		}
		path = append(path, step)
	}
	return path, rest, nil
}

// A PathError says that a path does not lead to a value.
type PathError struct {
	Depth   int      // how many steps lead to a value
	Why     string   // a clause about this value, such as "is not a list"
	Names   []string // the names of the members of this value
	Appends bool     // only the last member is missing, and the edit appends it
}

// An Edit replaces the bytes of a text from Start to End by New.
type Edit struct {
	Start, End int
	New        []byte
}

// Apply returns the text with the edit. It does not modify text.
func (e Edit) Apply(text []byte) []byte { return slices.Concat(text[:e.Start], e.New, text[e.End:]) }

// Edit returns the edit that sets the value at p in the JSON value text or, if value is nil, removes it. All other bytes stay. The edit is valid if the error
// is nil or Appends. p may be empty if value is not nil.
func (p Path) Edit(text, value []byte) (Edit, *PathError) {
	parts, i, end, err := p.find(text)
	switch {
	case len(p) == 0:
		return Edit{0, len(text), value}, nil
	case err == nil && value != nil:
		return Edit{parts[i].Start, parts[i].End, value}, nil
	case err == nil && i > 0:
		return Edit{parts[i-1].End, parts[i].End, nil}, nil
	case err == nil && len(parts) > 1:
		return Edit{parts[0].Name, parts[1].Name, nil}, nil
	case err == nil:
		return Edit{parts[0].Name, parts[0].End, nil}, nil
	}
	name, encodeErr := Encode(p[len(p)-1].Name)
	if err.Appends = end > 0 && value != nil && encodeErr == nil; !err.Appends {
		return Edit{}, err
	}
	added := slices.Concat(name, []byte{':'}, value)
	if len(parts) > 0 {
		added = slices.Concat([]byte{','}, added)
	}
	return Edit{end, end, added}, err
}

// find returns the members or elements of the value around the last step of p, and the index of the one to which p leads. If only the last member is missing,
// end is where it can be appended; with another error it is 0.
func (p Path) find(text []byte) (parts []Span, i, end int, err *PathError) {
	start := SkipSpace(text, 0)
	for depth, step := range p {
		refuse := func(format string, args ...any) ([]Span, int, int, *PathError) {
			return nil, 0, 0, &PathError{Depth: depth, Why: fmt.Sprintf(format, args...)}
		}
		switch {
		case step.Index < 0 && text[start] != '{':
			return refuse("is not an object")
		case step.Index >= 0 && text[start] != '[':
			return refuse("is not a list")
		case step.Index >= 0:
			parts, i = slices.Collect(elementSpans(text, start)), step.Index
			if i >= len(parts) {
				return refuse("has %d elements, and the first is [0]", len(parts))
			}
			start = parts[i].Start
			continue
		}
		var names []string
		parts, i, end = slices.Collect(spansAt(text, start)), -1, start+1
		for at, m := range parts {
			name := Unquote(text[m.Name:m.NameEnd])
			if name == step.Name && i >= 0 {
				return refuse("has the member %q twice", name)
			} else if name == step.Name {
				i = at
			}
			names, end = append(names, name), m.End
		}
		if i < 0 {
			_, _, _, err = refuse("has no member %q", step.Name)
			if err.Names = names; depth < len(p)-1 {
				end = 0
			}
			return parts, 0, end, err
		}
		start = parts[i].Start
	}
	return parts, i, end, nil
}

// Value returns the value to which the path leads in text, which must be valid JSON. ok is false if there is none.
func (p Path) Value(text []byte) (value []byte, ok bool) {
	if len(p) == 0 {
		return text, true
	}
	parts, i, _, err := p.find(text)
	if err != nil {
		return nil, false
	}
	return text[parts[i].Start:parts[i].End], true
}
