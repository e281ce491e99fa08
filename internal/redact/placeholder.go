package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Placeholder is what stands in a text in place of a secret: «secret:RULE:NUMBER». Text from outside never looks like one,
// because Rewrite escapes it: it doubles the sign « before "secret:".
type Placeholder struct {
	Rule   string // the name of a rule or of a variable
	Number int    // 1, 2, 3, … in a run: equal secrets of a run have equal numbers
}

const (
	sign      = "«"
	signWord  = "secret:"
	signEnd   = "»"
	jsonSign  = `\u00ab` // the sign as JSON may spell it
	maxRule   = 64
	maxDigits = 9
)

// String returns the text of p, with RuleName of its rule.
func (p Placeholder) String() string {
	return sign + signWord + RuleName(p.Rule) + ":" + strconv.Itoa(p.Number) + signEnd
}

// RuleName returns the name of a rule as placeholders spell it: at most 64 bytes; other letters than ASCII letters, digits, '_', '.'
// and '-' become '_'.
func RuleName(rule string) string {
	name := []byte(rule[:min(len(rule), maxRule)])
	for i, b := range name {
		if !isRuleByte(b) {
			name[i] = '_'
		}
	}
	return string(name)
}

// Name returns what people call p: RULE:NUMBER.
func (p Placeholder) Name() string { return p.Rule + ":" + strconv.Itoa(p.Number) }

// isRuleByte reports whether b may be in the rule of a placeholder.
func isRuleByte(b byte) bool { return isToken(b) || b == '.' }

// FoundPlaceholder is a placeholder in a text: text[Start:End].
type FoundPlaceholder struct {
	Placeholder

	Start, End int
}

// Placeholders returns the placeholders in text, in order. It skips escaped text.
func Placeholders(text []byte) []FoundPlaceholder {
	var found []FoundPlaceholder
	for at := range marks(text, Plain) {
		if at.length != len(sign) || at.before > 0 {
			continue
		}
		if p, end, ok := parse(text, at.start); ok {
			found = append(found, FoundPlaceholder{p, at.start, end})
		}
	}
	return found
}

// HasSign reports whether text may have a placeholder, or text that looks like the beginning of one.
func HasSign(text []byte) bool {
	for range marks(text, JSON) {
		return true
	}
	return false
}

// parse reads the placeholder at text[start:], which begins with the sign and "secret:".
func parse(text []byte, start int) (p Placeholder, end int, ok bool) {
	rule := start + len(sign) + len(signWord)
	i := rule
	for i < len(text) && isRuleByte(text[i]) && i-rule < maxRule {
		i++
	}
	if i == rule || i >= len(text) || text[i] != ':' {
		return p, 0, false
	}
	digits := i + 1
	end = digits
	for end < len(text) && text[end] >= '0' && text[end] <= '9' && end-digits < maxDigits {
		end++
	}
	number, err := strconv.Atoi(string(text[digits:end]))
	if err != nil || number < 1 || text[digits] == '0' || !bytes.HasPrefix(text[end:], []byte(signEnd)) {
		return p, 0, false
	}
	return Placeholder{string(text[rule:i]), number}, end + len(signEnd), true
}

// mark is a place that looks like the beginning of a placeholder: a sign before "secret:".
type mark struct {
	start, length int // of the sign
	before        int // the length of another sign before the sign: Rewrite has escaped it; 0 if no sign is before it
}

// marks yields the marks in a text of the given form, in order.
func marks(text []byte, form Form) func(yield func(mark) bool) {
	return func(yield func(mark) bool) {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(signWord))
			if i < 0 {
				return
			}
			at := from + i
			from = at + len(signWord)
			length := signBefore(text[:at], form)
			if length == 0 {
				continue
			}
			if !yield(mark{at - length, length, signBefore(text[:at-length], form)}) {
				return
			}
		}
	}
}

// signBefore returns the length of the sign with which text ends, or 0.
func signBefore(text []byte, form Form) int {
	if bytes.HasSuffix(text, []byte(sign)) {
		return len(sign)
	}
	if n := len(text) - len(jsonSign); form == JSON && n >= 0 && bytes.EqualFold(text[n:], []byte(jsonSign)) && text[n+1] == 'u' {
		slashes := n - len(bytes.TrimRight(text[:n], `\`))
		if slashes%2 == 0 { // otherwise the backslash of the sign is the second half of an escaped one
			return len(jsonSign)
		}
	}
	return 0
}

// Unescape returns text of a form as it was before Rewrite escaped it, but with its placeholders. Without anything to do, it
// returns text itself.
func Unescape(text []byte, form Form) []byte {
	var out []byte
	from := 0
	for m := range marks(text, form) {
		if m.before == 0 {
			continue
		}
		out = append(out, text[from:m.start-m.before]...)
		from = m.start
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

// The parts of a placeholder as programs may spell them again: with escapes of JSON at any depth, and percent-encoded. A text may be cut
// off within a placeholder: an ellipsis or the end of the text follows. Other texts look like placeholders, too: their rules have letters
// that RuleName leaves out, and their numbers more digits.
var (
	signsEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:«|\\+u00[aA][bB]|%[cC]2%[aA][bB])+$`)
	})
	wordAndRule = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^secret:([\pL\pM\pN_.-]{1,64})(?::[0-9]{1,32}(?:»|\\+u00[bB][bB]|%[cC]2%[bB][bB])|(?::[0-9]{0,32})?(?:…|$))`)
	})
)

// likePlaceholders yields the ranges of text that look like placeholders, also escaped ones, in order. name is the range of the rule's name.
func likePlaceholders(text []byte) func(yield func(whole, name [2]int) bool) {
	const signs, most = 64, 128 // bytes before the word and after its start
	return func(yield func(whole, name [2]int) bool) {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(signWord))
			if i < 0 {
				return
			}
			at := from + i
			from = at + len(signWord)
			before := text[max(0, at-signs):at]
			start := at
			if m := signsEnd().FindIndex(before); m != nil {
				start = at - len(before) + m[0]
			} else if at > 1 || at == 1 && text[0] != sign[1] { // the text may be cut off within the sign
				continue
			}
			tail := text[at:min(len(text), at+most)]
			m := wordAndRule().FindSubmatchIndex(tail)
			if m != nil && !yield([2]int{start, at + m[1]}, [2]int{at + m[2], at + m[3]}) {
				return
			}
		}
	}
}

// withoutPlaceholders returns the findings that are no part of a placeholder, or of a text that looks like one: the name of its rule
// may look as if the number were assigned to it. A long text around a placeholder stays, and a finding for which stays returns true;
// inName says that the finding is in the name alone.
func withoutPlaceholders(text []byte, found []Finding, stays func(f Finding, inName bool) bool) []Finding {
	const long = 64
	if len(found) == 0 {
		return found
	}
	for whole, name := range likePlaceholders(text) {
		found = slices.DeleteFunc(found, func(f Finding) bool {
			beside := max(0, whole[0]-f.Start) + max(0, f.End-whole[1])
			return f.Start < whole[1] && f.End > whole[0] && beside < long && !stays(f, f.Start >= name[0] && f.End <= name[1])
		})
	}
	return found
}

// startsRune reports whether a rune of UTF-8 text begins at text[at].
func startsRune(text []byte, at int) bool { return at >= len(text) || utf8.RuneStart(text[at]) }
