package source

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// The limits of a tree. A tree of 16 MiB has some hundred thousand tasks.
const (
	deepest     = 10_000   // the greatest depth of nested JSON values
	largestTree = 16 << 20 // the greatest size in bytes
)

var errTooDeep = damaged("JSON is nested deeper than %d", deepest)

// parse returns the JSON value in text, as JavaScript reads it. If an object has several members with the same name,
// the last of these members counts. If text is not valid JSON or is nested deeper than deepest, the error wraps
// ErrDamaged.
func parse(text string) (*node, error) {
	d := &decoder{text: []byte(text)}
	if !utf8.Valid(d.text) {
		return nil, damaged("JSON is not UTF-8")
	}
	if jsontext.DeeperThan(d.text, deepest) {
		return nil, errTooDeep
	}
	end := jsontext.ValueEnd(d.text, jsontext.SkipSpace(d.text, 0))
	if end < 0 || jsontext.SkipSpace(d.text, end) < len(d.text) {
		return nil, damaged("JSON is malformed")
	}
	return d.value(), nil
}

// decoder decodes valid JSON. at is the offset of what is not decoded yet.
type decoder struct {
	text []byte
	at   int
}

// value decodes the next JSON value.
func (d *decoder) value() *node {
	d.at = jsontext.SkipSpace(d.text, d.at)
	start := d.at
	switch d.text[start] {
	case '{':
		object := &node{kind: objectNode, members: make(map[string]*node)}
		for d.more('}') {
			name := d.value().text
			d.at = jsontext.SkipSpace(d.text, d.at) + len(":")
			object.set(name, d.value())
		}
		return object
	case '[':
		array := &node{kind: arrayNode}
		for d.more(']') {
			array.items = append(array.items, d.value())
		}
		return array
	}
	d.at = jsontext.ValueEnd(d.text, start)
	switch text := string(d.text[start:d.at]); text[0] {
	case '"':
		return &node{kind: stringNode, text: unescape(text[1 : len(text)-1])}
	case 'n':
		return &node{kind: nullNode}
	case 't', 'f':
		return &node{kind: boolNode, text: text}
	default:
		return number(text)
	}
}

// more skips the bracket or the comma before the next element, and reports whether there is one. If not, it skips the closing bracket.
func (d *decoder) more(closing byte) bool {
	if d.at = jsontext.SkipSpace(d.text, d.at); d.text[d.at] != closing {
		d.at = jsontext.SkipSpace(d.text, d.at+1)
	}
	if d.text[d.at] == closing {
		d.at++
		return false
	}
	return true
}

// unescape decodes a string without its quotes, to the encoding of appendRune.
func unescape(rest string) string {
	if strings.IndexByte(rest, '\\') < 0 {
		return rest
	}
	var text []byte
	for rest != "" {
		if rest[0] != '\\' {
			text = append(text, rest[0])
			rest = rest[1:]
			continue
		}
		if i := strings.IndexByte(`"\/bfnrt`, rest[1]); i >= 0 {
			text = append(text, "\"\\/\b\f\n\r\t"[i])
			rest = rest[2:]
			continue
		}
		r, _ := hexUnit(rest)
		rest = rest[len(`\u1234`):]
		// Two sequences may be a surrogate pair. An unpaired surrogate stays, as in JavaScript.
		if low, ok := hexUnit(rest); ok && utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r, rest = pair, rest[len(`\u1234`):]
			}
		}
		text = appendRune(text, r)
	}
	return string(text)
}

// hexUnit returns the code unit of the escape sequence at the start of s, in the form \u1234. It returns false if
// s does not begin with such a sequence.
func hexUnit(s string) (rune, bool) {
	if !strings.HasPrefix(s, `\u`) {
		return 0, false
	}
	unit, err := strconv.ParseUint(s[len(`\u`):len(`\u1234`)], 16, 16)
	return rune(unit), err == nil
}

// number decodes a number as JavaScript does. An infinite number becomes null, as JavaScript writes it.
func number(text string) *node {
	value, _ := strconv.ParseFloat(text, 64) // the only possible error is an overflow, whose value is infinite
	if math.IsInf(value, 0) {
		return &node{kind: nullNode}
	}
	return &node{kind: numberNode, text: formatNumber(value)}
}
