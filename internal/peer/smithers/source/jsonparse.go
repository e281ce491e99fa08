package source

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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
	if !utf8.ValidString(text) {
		return nil, damaged("JSON is not UTF-8")
	}
	p := &parser{rest: text}
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, damaged("JSON is followed by other text")
	}
	return value, nil
}

// parser decodes JSON. rest is the text that is not decoded yet.
type parser struct{ rest string }

// space skips white space.
func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take skips white space, and then token if token is next. It reports whether token was next.
func (p *parser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

// unexpected returns the error for the text in p.rest: the JSON ends early, or its next character is
// unexpected.
func (p *parser) unexpected() error {
	if p.rest == "" {
		return damaged("JSON ends early")
	}
	_, size := utf8.DecodeRuneInString(p.rest)
	return damaged("JSON has an unexpected %q", p.rest[:size])
}

// value decodes the next JSON value. depth is the number of arrays and objects around the value. If depth is greater
// than deepest, the error is errTooDeep. If the JSON is invalid, the error wraps ErrDamaged.
func (p *parser) value(depth int) (*node, error) {
	if depth > deepest {
		return nil, errTooDeep
	}
	switch {
	case p.take("{"):
		return p.object(depth)
	case p.take("["):
		return p.array(depth)
	case p.take(`"`):
		text, err := p.text()
		return &node{kind: stringNode, text: text}, err
	case p.take("null"):
		return &node{kind: nullNode}, nil
	case p.take("true"):
		return &node{kind: boolNode, text: "true"}, nil
	case p.take("false"):
		return &node{kind: boolNode, text: "false"}, nil
	}
	return p.number()
}

// object decodes the rest of an object, after its opening brace. depth is the number of arrays and objects
// around the object. The errors are those of value.
func (p *parser) object(depth int) (*node, error) {
	object := &node{kind: objectNode, members: make(map[string]*node)}
	if p.take("}") {
		return object, nil
	}
	for {
		if !p.take(`"`) {
			return nil, p.unexpected()
		}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		if !p.take(":") {
			return nil, p.unexpected()
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		object.set(name, value)
		if p.take("}") {
			return object, nil
		}
		if !p.take(",") {
			return nil, p.unexpected()
		}
	}
}

// array decodes the rest of an array, after its opening bracket. depth is the number of arrays and objects
// around the array. The errors are those of value.
func (p *parser) array(depth int) (*node, error) {
	array := &node{kind: arrayNode}
	if p.take("]") {
		return array, nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array.items = append(array.items, item)
		if p.take("]") {
			return array, nil
		}
		if !p.take(",") {
			return nil, p.unexpected()
		}
	}
}

// text decodes the rest of a string, after its opening quote. The result has the encoding of appendRune. If the
// string is invalid, the error wraps ErrDamaged.
func (p *parser) text() (string, error) {
	// Most strings have no escape and need not be copied byte by byte.
	end := strings.IndexAny(p.rest, "\"\\")
	if end >= 0 && p.rest[end] == '"' && !hasControl(p.rest[:end]) {
		text := p.rest[:end]
		p.rest = p.rest[end+1:]
		return text, nil
	}
	var text []byte
	for p.rest != "" {
		switch c := p.rest[0]; {
		case c == '"':
			p.rest = p.rest[1:]
			return string(text), nil
		case c < ' ':
			return "", p.unexpected()
		case c != '\\':
			text = append(text, c)
			p.rest = p.rest[1:]
		default:
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			text = appendRune(text, r)
		}
	}
	return "", p.unexpected()
}

// hasControl reports whether s has a control character. JSON does not allow control characters in a string.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// escape decodes the escape sequence at the start of p.rest. If two sequences form a surrogate pair, it decodes
// both. The result may be an unpaired surrogate, as in JavaScript. If the sequence is invalid, the error wraps
// ErrDamaged.
func (p *parser) escape() (rune, error) {
	if len(p.rest) < 2 {
		return 0, p.unexpected()
	}
	c := p.rest[1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.rest = p.rest[2:]
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, ok := hexUnit(p.rest)
	if !ok {
		return 0, damaged("JSON has an invalid escape")
	}
	p.rest = p.rest[6:]
	if low, ok := hexUnit(p.rest); ok && utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			p.rest = p.rest[6:]
			return pair, nil
		}
	}
	return r, nil
}

// hexUnit returns the code unit of the escape sequence at the start of s, in the form \u1234. It returns false if
// s does not begin with such a sequence.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, c := range []byte(s[2:6]) {
		digit := strings.IndexByte("0123456789abcdef", c|0x20) // the bit makes capital letters small
		// A control character is less than '0'. The bit would turn some control characters into digits.
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | rune(digit)
	}
	return unit, true
}

// number decodes a number as JavaScript does. An infinite number becomes null, as JavaScript writes it. If p.rest
// does not begin with a number, the error wraps ErrDamaged.
func (p *parser) number() (*node, error) {
	n := numberLength(p.rest)
	if n == 0 {
		return nil, p.unexpected()
	}
	value, _ := strconv.ParseFloat(p.rest[:n], 64) // the only possible error is an overflow, whose value is infinite
	p.rest = p.rest[n:]
	if math.IsInf(value, 0) {
		return &node{kind: nullNode}, nil // JavaScript writes infinity as null
	}
	return &node{kind: numberNode, text: formatNumber(value)}, nil
}

// numberLength returns the length in bytes of the JSON number at the start of s, or 0 if s does not begin
// with a number.
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if strings.HasPrefix(s, "-") {
		i++
	}
	whole := digits(i)
	if whole == i || whole > i+1 && s[i] == '0' { // a number has no leading zero
		return 0
	}
	i = whole
	if i < len(s) && s[i] == '.' {
		end := digits(i + 1)
		if end == i+1 {
			return 0
		}
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		start := i + 1
		if start < len(s) && (s[start] == '+' || s[start] == '-') {
			start++
		}
		end := digits(start)
		if end == start {
			return 0
		}
		i = end
	}
	return i
}
