package page

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
)

// ErrInvalid is wrapped by the error of [Collection.Edit] if a collection cannot store a change: the key is not
// UTF-8, the value is not JSON, or a size or the number of rows exceeds its limit.
var ErrInvalid = errors.New("invalid row")

// maxInline is the size in bytes of the largest value that a row holds itself, and of the largest value apart
// that is a single blob.
const maxInline = 16 << 10

// maxPage is the size in bytes of the largest page that is read. A page has about eight rows of at most 41 KiB
// each.
const maxPage = 64 << 20

// line is one row as its page holds it. The zero line means that there is no row.
type line struct {
	key   string
	raw   []byte // the whole line with its LF
	at    int32  // offset in raw of the value or its reference
	apart bool   // the value is stored apart, and the row has a reference
}

const lineEnd = "]\n"

// body returns the bytes after the key in the row: the value or, if the value is stored apart, the reference to
// the value.
func (l *line) body() []byte {
	end := len(l.raw) - len(lineEnd)
	return l.raw[l.at:end:end]
}

// reference returns the size in bytes and the id of the value of l. The value must be stored apart.
func (l *line) reference() (size int, id objstore.ID) {
	size, id, _ = cutReference(l.body())
	return size, id
}

// storedApart reports whether value is stored outside of its row, because it has more than maxInline bytes or a
// line feed.
func storedApart(value []byte) bool {
	return len(value) > maxInline || bytes.IndexByte(value, '\n') >= 0
}

// newLine encodes a row. checkKey must have accepted the key. pieces are the objects of a value that is stored
// apart; pieces is nil if the row holds the value itself. If the value is not JSON or has more than MaxValue
// bytes, the error wraps ErrInvalid.
func newLine(hash objstore.Algorithm, key string, value []byte) (l line, pieces []piece, err error) {
	switch {
	case len(value) > MaxValue:
		return line{}, nil, fmt.Errorf("%w: %q: value of %d bytes, the limit is %d", ErrInvalid, key, len(value), MaxValue)
	case !jsontext.Valid(value):
		return line{}, nil, fmt.Errorf("%w: %q: value is not one JSON value in UTF-8 without space around it", ErrInvalid, key)
	}
	raw := make([]byte, 0, len(`["",`)+len(lineEnd)+len(key)+min(len(value), maxInline))
	raw = append(AppendString(append(raw, '['), key), ',')
	l = line{key: key, at: int32(len(raw)), apart: storedApart(value)}
	if l.apart {
		pieces = cutValue(hash, value)
		raw = append(strconv.AppendInt(raw, int64(len(value)), 10), ',', '"')
		raw = append(append(raw, rootOf(pieces).id.String()...), '"')
	} else {
		raw = append(raw, value...)
	}
	l.raw = append(raw, lineEnd...)
	return l, pieces, nil
}

// checkKey returns nil if key is a valid key. If key is not UTF-8 or has more than MaxKey bytes, the error
// wraps ErrInvalid.
func checkKey(key string) error {
	switch {
	case len(key) > MaxKey:
		return fmt.Errorf("%w: key of %d bytes, the limit is %d", ErrInvalid, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: key %q is not UTF-8", ErrInvalid, key)
	}
	return nil
}

// encodePage returns the bytes of the page with these lines. The lines must be sorted by key.
func encodePage(lines []line) []byte {
	size := 0
	for i := range lines {
		size += len(lines[i].raw)
	}
	out := make([]byte, 0, size)
	for i := range lines {
		out = append(out, lines[i].raw...)
	}
	return out
}

// decodePage returns the lines of data, the page with the given id. index is the number of the page in a
// collection with the given numbers of pages and rows. If encodePage would not write data for this page, the
// error is a [*objstore.CorruptError]. The lines share memory with data.
func decodePage(id objstore.ID, data []byte, index, pages, rows int) ([]line, error) {
	lines := make([]line, 0, rowsPerPage+rowsPerPage/2)
	for rest := data; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			return nil, corrupt(id, "page: the last line has no LF")
		}
		l, reason := decodeLine(rest[:end:end])
		if reason == "" {
			switch {
			case len(lines) > 0 && lines[len(lines)-1].key >= l.key:
				reason = "rows are not sorted by unique keys"
			case pageOf(hashKey(l.key), pages) != index:
				reason = "row belongs to another page"
			case len(lines) == rows:
				reason = "more rows than the collection has"
			}
		}
		if reason != "" {
			return nil, corrupt(id, "page %d, line %d: %s", index, len(lines)+1, reason)
		}
		lines = append(lines, l)
		rest = rest[end:]
	}
	return lines, nil
}

// decodeLine decodes raw, one line with its LF. If the line is malformed, reason says why; otherwise reason is
// "". decodeLine does not check whether the key belongs to the page, and does not read a value that is stored
// apart.
func decodeLine(raw []byte) (l line, reason string) {
	key, n, ok := cutKey(raw[1:])
	if raw[0] != '[' || !ok {
		return line{}, "malformed key"
	}
	if !bytes.HasSuffix(raw, []byte(lineEnd)) || len(raw) < 1+n+len(`,1`)+len(lineEnd) || raw[1+n] != ',' {
		return line{}, "malformed row"
	}
	l = line{key: key, raw: raw, at: int32(1 + n + 1)}
	body := l.body()
	// A number has no comma, so a digit and a comma cannot be one inline value.
	if isDigit(body[0]) && bytes.IndexByte(body, ',') >= 0 {
		l.apart = true
		if _, _, ok := cutReference(body); !ok {
			return line{}, "malformed reference to a value"
		}
		return l, ""
	}
	if len(body) > maxInline {
		return line{}, "a value of this size is stored apart"
	}
	if !jsontext.Valid(body) {
		return line{}, "value is not JSON"
	}
	return l, ""
}

// cutReference decodes b as the reference to a value that is stored apart: `<size>,"<id>"`. ok is false if
// newLine would not write these bytes.
func cutReference(b []byte) (size int, id objstore.ID, ok bool) {
	number, quoted, _ := bytes.Cut(b, []byte{','})
	size, err := strconv.Atoi(string(number))
	if err != nil || size > MaxValue || strconv.Itoa(size) != string(number) {
		return 0, objstore.ID{}, false
	}
	const quotes = 2
	if len(quoted) <= quotes || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return 0, objstore.ID{}, false
	}
	id, err = objstore.ParseID(string(quoted[1 : len(quoted)-1]))
	return size, id, err == nil && !id.IsZero()
}

// shortEscapes has, at the index of a control character, the letter of its two-character escape in
// RFC 8785.
const shortEscapes = "........btn.fr.................."

// AppendString appends s to b as a JSON string in the form of RFC 8785, and returns the result. s must be
// UTF-8. Pages write their keys in this form.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		case shortEscapes[c] != '.':
			b = append(b, '\\', shortEscapes[c])
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>digitBits], digits[c&(fanOut-1)])
		}
	}
	return append(b, '"')
}

// cutKey decodes the JSON string at the start of b as a key. n is the length in bytes of the string with its
// quotes. ok is false if b does not begin with a string, if AppendString would write the key with other bytes,
// or if checkKey rejects the key.
func cutKey(b []byte) (key string, n int, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return "", 0, false
	}
	end := 1
	escaped := false
	for end < len(b) && b[end] != '"' {
		if b[end] == '\\' {
			escaped = true
			end++
		}
		end++
	}
	if end >= len(b) {
		return "", 0, false
	}
	key = string(b[1:end])
	if escaped {
		key = unescape(key)
	}
	if checkKey(key) != nil {
		return "", 0, false
	}
	// A key must be spelled as AppendString spells it.
	var buf [128]byte
	if !bytes.Equal(AppendString(buf[:0], key), b[:end+1]) {
		return "", 0, false
	}
	return key, end + 1, true
}

// unescape returns the key whose text, as AppendString writes it between the quotes, is s. If AppendString
// never writes s, the result is some other text. The caller detects this, because AppendString does not encode
// that text as s.
func unescape(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'b':
			out = append(out, '\b')
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'f':
			out = append(out, '\f')
		case 'r':
			out = append(out, '\r')
		case 'u':
			code, err := strconv.ParseUint(s[i+1:min(i+5, len(s))], 16, 8)
			if err != nil {
				return ""
			}
			out = append(out, byte(code))
			i += 4
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// corrupt returns a [*objstore.CorruptError] about the object with the given id, with a formatted reason.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}

// isDigit reports whether c is a decimal digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
