package snapshot

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// maxInteger bounds the integers in our own metadata: beyond it, JSON readers that
// keep numbers as doubles see another number.
const maxInteger = 1<<53 - 1

const hexDigits = "0123456789abcdef"

// appendName appends the name of an object's next member. Callers append members
// in the order of their names.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(page.AppendString(b, name), ':')
}

func appendStringMember(b []byte, name, value string) []byte {
	return page.AppendString(appendName(b, name), value)
}

func appendIntMember(b []byte, name string, value int64) []byte {
	return strconv.AppendInt(appendName(b, name), value, 10)
}

// appendOptional appends a member unless its value is empty.
func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendStringMember(b, name, value)
}

// appendNullable appends a member that is null where value is nil.
func appendNullable[T any](b []byte, name string, value *T, appendValue func([]byte, T) []byte) []byte {
	b = appendName(b, name)
	if value == nil {
		return append(b, "null"...)
	}
	return appendValue(b, *value)
}

// appendCount appends a member unless its value is 0.
func appendCount(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	return appendIntMember(b, name, value)
}

// appendOptionalID appends a member unless the id is zero.
func appendOptionalID(b []byte, name string, id objstore.ID) []byte {
	if id.IsZero() {
		return b
	}
	return appendStringMember(b, name, id.String())
}

// appendArray appends a member that is an array.
func appendArray[T any](b []byte, name string, values []T, appendValue func([]byte, T) []byte) []byte {
	b = append(appendName(b, name), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v)
	}
	return append(b, ']')
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func appendInt64(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// metadata reads what the functions above write. It is quick and not strict: a
// decoder encodes again what it got and compares, which refuses everything else.
// After the first thing that is not as expected, bad stays true and values are zero.
type metadata struct {
	rest []byte
	bad  bool
}

// skip takes text off the front and tells whether it was there.
func (m *metadata) skip(text string) bool {
	if m.bad || len(m.rest) < len(text) || string(m.rest[:len(text)]) != text {
		return false
	}
	m.rest = m.rest[len(text):]
	return true
}

func (m *metadata) expect(text string) {
	if !m.skip(text) {
		m.bad = true
	}
}

// optional takes the name of a member and tells whether it is the next one.
func (m *metadata) optional(name string) bool {
	rest := m.rest
	if m.bad || len(rest) == 0 || (rest[0] != '{' && rest[0] != ',') {
		return false
	}
	m.rest = rest[1:]
	if m.skip(`"`) && m.skip(name) && m.skip(`":`) {
		return true
	}
	m.rest = rest
	return false
}

// name expects the name of a member.
func (m *metadata) name(name string) {
	if !m.optional(name) {
		m.bad = true
	}
}

func (m *metadata) null() bool { return m.skip("null") }

func (m *metadata) str() string {
	end := jsontext.StringEnd(m.rest, 0)
	if m.bad || end < 0 {
		m.bad = true
		return ""
	}
	text := m.rest[:end]
	m.rest = m.rest[end:]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : end-1])
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		m.bad = true
		return ""
	}
	return s
}

// int reads an integer within maxInteger.
func (m *metadata) int() int64 {
	end := 0
	for end < len(m.rest) && (m.rest[end] == '-' || m.rest[end] >= '0' && m.rest[end] <= '9') {
		end++
	}
	n, err := strconv.ParseInt(string(m.rest[:end]), 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger {
		m.bad = true
		return 0
	}
	m.rest = m.rest[end:]
	return n
}

func (m *metadata) bool() bool {
	if m.skip("true") {
		return true
	}
	m.expect("false")
	return false
}

// nullable reads a value that may be null.
func nullable[T any](m *metadata, read func() T) *T {
	if m.null() {
		return nil
	}
	v := read()
	return &v
}

// strs reads an array of strings.
func (m *metadata) strs() []string { return elements(m, (*metadata).str) }

// elements reads an array.
func elements[T any](m *metadata, read func(*metadata) T) []T {
	m.expect("[")
	var out []T
	for !m.bad && !m.skip("]") {
		if len(out) > 0 {
			m.expect(",")
		}
		out = append(out, read(m))
	}
	return out
}

// optionalStr reads a member that appendOptional has written; "" where there is none.
func (m *metadata) optionalStr(name string) string {
	if !m.optional(name) {
		return ""
	}
	return m.str()
}

// count reads a member that appendCount has written.
func (m *metadata) count(name string) int64 {
	if !m.optional(name) {
		return 0
	}
	return m.int()
}

// optionalID reads a member that appendOptionalID has written.
func (m *metadata) optionalID(name string) objstore.ID {
	if !m.optional(name) {
		return objstore.ID{}
	}
	id, err := objstore.ParseID(m.str())
	if err != nil {
		m.bad = true
	}
	return id
}

// path takes a path as EscapePath has spelled it.
func (m *metadata) path(s string) string {
	p, ok := unescapePath(s)
	if !ok {
		m.bad = true
	}
	return p
}

// close ends an object.
func (m *metadata) close() { m.expect("}") }

// done tells whether everything was read as expected, up to what may follow the
// last object of a file.
func (m *metadata) done(end string) bool {
	m.expect(end)
	return !m.bad && len(m.rest) == 0
}

// escape percent-escapes the bytes of s that are not in alphabet, in lower-case hex.
func escape(s string, plain func(byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if plain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&0xf])
	}
	return b.String()
}

// unescape is the strict inverse of escape.
func unescape(s string, plain func(byte) bool) (string, bool) {
	text, ok := percentDecode(s)
	if !ok || escape(text, plain) != s {
		return "", false
	}
	return text, true
}

// percentDecode puts bytes where a percent sign and two hex digits stand.
func percentDecode(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		out = append(out, byte(code))
		i += 2
	}
	return string(out), true
}

// plainRun tells which bytes of a run id stand for themselves in a trailer: those
// that do in a ref.
func plainRun(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// plainTable tells which bytes of a table's name stand for themselves in a tree.
func plainTable(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
