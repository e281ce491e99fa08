package row

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// CarriedMembers has the members of a row that its kind does not declare, because a newer version wrote them. They are
// sorted by name, each name once.
type CarriedMembers []Member

// Member is a member of a row: its name, and its value as canonical JSON.
type Member struct {
	Name  string
	Value json.RawMessage
}

// maxDepth is the deepest nesting of arrays and objects in a row, the row's own object included.
const maxDepth = 10000

// append appends the member to b. b must end with "{" or with a member.
func (m Member) append(b []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(page.AppendString(b, m.Name), ':'), m.Value...)
}

// appendCarrying appends v to b as a JSON object with the members in fields and in carried. It merges the two lists,
// which are sorted by name.
func appendCarrying[T any](b []byte, fields []Field[T], v *T, carried CarriedMembers) []byte {
	b = append(b, '{')
	for i := range fields {
		for len(carried) > 0 && jsontext.CompareUTF16(carried[0].Name, fields[i].Name) < 0 {
			b, carried = carried[0].append(b), carried[1:]
		}
		b = fields[i].value.put(b, fields[i].Name, v)
	}
	for _, m := range carried {
		b = m.append(b)
	}
	return append(b, '}')
}

// others collects the members of an object that the fields of its kind do not declare.
type others struct {
	depth int            // number of objects that are being read; 1 in the object itself, more in nested objects
	outer CarriedMembers // the members of the object itself
	inner string         // the name of the first such member of a nested object; "" if there is no such member
}

// add records m, a member that the fields do not declare. If m is a member of a nested object, add records only its
// name, and only the first such name.
func (o *others) add(m Member) {
	if o.depth == 1 {
		o.outer = append(o.outer, m)
	} else if o.inner == "" {
		o.inner = m.Name
	}
}

// refused returns nil if a row may keep all members in o: if open is true, and no member in o is in a nested object.
// open means that the row's kind carries unknown members. Otherwise, the error wraps ErrNewerFormat. But if o has no
// members, the error is ErrNotCanonical, because the object was invalid for another reason.
func (o *others) refused(open bool) error {
	switch {
	case o.inner != "":
		return fmt.Errorf("%w: unknown member %q", ErrNewerFormat, o.inner)
	case len(o.outer) == 0:
		return ErrNotCanonical
	case !open:
		return fmt.Errorf("%w: unknown member %q", ErrNewerFormat, o.outer[0].Name)
	}
	return nil
}

// takeOthers reads an object into v: see take. It adds the members that fields do not declare to r.others.
func takeOthers[T any](r *Reader, fields []Field[T], v *T) {
	r.others.depth++
	last := ""
	for i := range fields {
		name := fields[i].Name
		r.readOthers(last, name)
		fields[i].value.take(r, name, v)
		last = name
	}
	r.readOthers(last, "")
	r.Close()
	r.others.depth--
}

// readOthers reads members into r.others as long as their values are canonical and their names are in ascending order.
// Each name must be greater than the name in after and less than the name in before. If before is "", there is no upper
// bound. The first member that does not meet these conditions stays in r.Rest, with all members behind it.
func (r *Reader) readOthers(after, before string) {
	for {
		m, rest, ok := r.ahead()
		if !ok || jsontext.CompareUTF16(m.Name, after) <= 0 || before != "" && jsontext.CompareUTF16(m.Name, before) >= 0 {
			return
		}
		r.others.add(m)
		r.Rest, r.inside = rest, true
		after = m.Name
	}
}

// ahead returns the next member of the current object, whatever its name, and the bytes after the member. It does not
// change r. ok is false if the next member does not have a canonical name and a canonical value, or if there is no
// member.
func (r *Reader) ahead() (m Member, rest []byte, ok bool) {
	next := Reader{Rest: r.Rest, Bad: r.Bad}
	if r.inside {
		next.Expect(",")
	} else {
		next.Expect("{")
	}
	m.Name = next.Text()
	next.Expect(":")
	value := next.Rest
	next.canonical(1)
	if next.Bad || !utf8.ValidString(m.Name) {
		return Member{}, nil, false
	}
	m.Value = slices.Clone(value[:len(value)-len(next.Rest)]) // the bytes that canonical has read
	return m, next.Rest, true
}

// canonical reads a value that is canonical JSON as git-smithers writes it: RFC 8785, with integers as the only
// numbers. For any other value, it sets r.Bad. depth is the number of arrays and objects around the value.
func (r *Reader) canonical(depth int) {
	if r.Bad || len(r.Rest) == 0 {
		r.Bad = true
		return
	}
	switch r.Rest[0] {
	case '{', '[':
		r.canonicalNested(depth + 1)
	case '"':
		text := r.Text()
		r.Bad = r.Bad || !utf8.ValidString(text)
	case 't', 'f':
		r.Bool()
	case 'n':
		r.Expect("null")
	default:
		r.Int()
	}
}

// canonicalNested reads an array or an object that is canonical JSON. For any other value, it sets r.Bad. depth is the
// number of arrays and objects around the value, plus one for the value itself. If depth exceeds maxDepth,
// canonicalNested sets r.Bad.
func (r *Reader) canonicalNested(depth int) {
	switch {
	case depth > maxDepth:
		r.Bad = true
	case r.Rest[0] == '{':
		r.canonicalObject(depth)
	default:
		Elements(r, func(r *Reader) struct{} {
			r.canonical(depth)
			return struct{}{}
		})
	}
}

// canonicalObject reads an object that is canonical JSON. For any other value, it sets r.Bad. The names must be sorted
// by their UTF-16 code units, each only once. For depth, see canonicalNested.
func (r *Reader) canonicalObject(depth int) {
	r.Expect("{")
	last := ""
	for first := true; !r.Bad && !r.Skip("}"); first = false {
		if !first {
			r.Expect(",")
		}
		name := r.Text()
		r.Bad = r.Bad || !utf8.ValidString(name) || !first && jsontext.CompareUTF16(name, last) <= 0
		r.Expect(":")
		r.canonical(depth)
		last = name
	}
}
