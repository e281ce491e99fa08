// Package redact finds secrets in text: by their own form, by the name of the variable that they are assigned to, and by
// the form of the file or command that has them. It reads no environment and no files.
//
// The search first finds literals, in one pass over the text. Only around a literal, in a window of bounded size, does it
// decode escapes and try a pattern. So its time is linear in the length of the text.
package redact

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"sync"
)

// Finding is a secret in a text.
type Finding struct {
	Rule  string // the name of the rule that found the secret
	Start int    // the offset of the secret's first byte
	End   int    // the offset after the secret's last byte
	Of    string // the known value that the text spells, in whatever form; "" if a rule found the secret
}

const (
	// window is the number of bytes of the text that a pattern sees after its literal.
	window = 700
	// slack is the number of bytes of the text before a literal that a view has beside those that the rule wants, since
	// an escape or a colour takes more bytes in the text than in the view.
	slack = 96
)

// rule is a shape or the rule of names, in the form that the search uses.
type rule struct {
	shape
	once sync.Once
	expr *regexp.Regexp
}

// Scanner finds secrets. A Scanner is immutable and safe for concurrent use.
type Scanner struct {
	literals *literals
	rules    []rule
	owners   [][]owner // by the head of a literal
}

// owner is a rule with a literal that begins with a head.
type owner struct {
	rule int32  // the index in rules; nameRule stands for the rule of names
	rest string // the literal behind its head, in lower case
}

// headSize is the number of bytes of a literal that all rules are searched for at once. The rest is compared where a head stands, so
// that the tables of the search stay small.
const headSize = 4

// nameRule is the index of the rule of names.
const nameRule = -1

// New returns a Scanner with the built-in rules. It takes about a millisecond, so callers make one at the first use and
// keep it.
func New() *Scanner {
	s := &Scanner{}
	const about = 500
	words := make([]string, 0, about)
	numbers := make(map[string]int, about)
	add := func(word string, rule int32) {
		head := word[:min(len(word), headSize)]
		n, known := numbers[head]
		if !known {
			n = len(words)
			numbers[head] = n
			words = append(words, head)
			s.owners = append(s.owners, nil)
		}
		s.owners[n] = append(s.owners[n], owner{rule, word[len(head):]})
	}
	shapes := readTable(table)
	s.rules = make([]rule, len(shapes))
	for i, shape := range shapes {
		for _, word := range shape.literals {
			add(word, int32(i))
		}
		s.rules[i].shape = shape
	}
	for _, word := range nameWords {
		add(word, nameRule)
	}
	s.literals = newLiterals(words)
	return s
}

// compile returns the compiled pattern, which the first call makes. A match that begins at the literal is anchored there, so that
// nothing else is tried.
func (r *rule) compile() *regexp.Regexp {
	r.once.Do(func() {
		pattern := letters().Replace(r.pattern)
		if r.back == 0 {
			pattern = `\A(?:` + pattern + `)`
		}
		r.expr = regexp.MustCompile(pattern)
	})
	return r.expr
}

// Find returns the secrets in text, sorted by Start. They do not overlap. Find does not modify text.
func (s *Scanner) Find(text []byte) []Finding { return s.find(text, nil) }

// find is Find, and also looks for known values in what it decodes.
func (s *Scanner) find(text []byte, known *Known) []Finding {
	found := s.search(text, 0, &inner{known, maxUnzipped})
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	return merged(found)
}

// inner is how a search treats the texts that it decodes.
type inner struct {
	known *Known // also looked for
	left  int    // how many bytes gzip streams may still have, all together
}

// search returns the secrets in text in no order. They may overlap. depth is the number of encodings around text. Without any, known values
// are the caller's.
func (s *Scanner) search(text []byte, depth int, in *inner) []Finding {
	h := &hunt{scanner: s, text: text, inner: in}
	if depth > 0 {
		h.found = in.known.Find(text)
	}
	s.literals.find(text, h.literal)
	if depth < maxDepth {
		h.encoded(depth)
		h.zipped(depth)
	}
	// A token in the place of a placeholder's name is a secret: no rule is named like one.
	return withoutPlaceholders(text, h.found, func(f Finding, inName bool) bool { return inName && f.Rule != assigned })
}

// merged joins findings that overlap. found is sorted by Start. The finding that begins first gives the rule.
func merged(found []Finding) []Finding {
	out := found[:0]
	for _, f := range found {
		if n := len(out); n > 0 && f.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, f.End)
			continue
		}
		out = append(out, f)
	}
	return out
}

// hunt is one search through one text.
type hunt struct {
	scanner *Scanner
	inner   *inner
	text    []byte
	found   []Finding
	view    view
}

// literal tries the rules of the literals whose head is text[start:end].
func (h *hunt) literal(head int32, start, end int) {
	for _, owner := range h.scanner.owners[head] {
		end, ok := owner.end(h.text, end)
		switch {
		case !ok:
		case owner.rule == nameRule:
			h.name(start, end)
		case h.scanner.rules[owner.rule].mayMatch(h.text, start, end):
			h.try(&h.scanner.rules[owner.rule], start, end)
		}
	}
}

// end returns the end of the literal whose head ends at text[end], if it stands there.
func (o owner) end(text []byte, end int) (int, bool) {
	if len(text)-end < len(o.rest) {
		return 0, false
	}
	for i := range len(o.rest) {
		if b := text[end+i]; b != o.rest[i] && (b < 'A' || b > 'Z' || b|0x20 != o.rest[i]) {
			return 0, false
		}
	}
	return end + len(o.rest), true
}

// mayMatch reports whether the rule may match around its literal text[start:end]. It is a quick look at the text as it is, because
// some literals are frequent.
func (s *shape) mayMatch(text []byte, start, end int) bool {
	switch {
	case s.exact != "" && string(text[start:end]) != s.exact:
		return false
	case s.back == 0 && !s.free && touches(text, start):
		return false
	}
	return hasBody(text[end:], s.body) && (!s.spaced || maySpace(text, end))
}

// leastBody is the number of bytes of a secret that follow a literal, for rules that do not say more.
const leastBody = 8

// hasBody reports whether the text may begin with n bytes that may be in a secret. An escape, a colour, a line end or the end of the
// text may hide some of them.
func hasBody(text []byte, n int) bool {
	for _, b := range text[:min(n, len(text))] {
		switch {
		case isBase64(b):
		case b == '\\' || b == '\x1b' || b == '\n' || b == '\r' || b == '%':
			return true
		case bytes.IndexByte([]byte(".=~:|!$"), b) < 0:
			return false
		}
	}
	return true
}

// maySpace reports whether white space may stand at text[at], also behind an escape or a colour. At the end of the text, it may follow.
func maySpace(text []byte, at int) bool {
	return at >= len(text) || bytes.IndexByte([]byte(" \t\r\n\\\x1b%+"), text[at]) >= 0
}

// try searches for r around the literal text[start:end]. It first reads the text with its colours and backslashes decoded,
// then also joins lines that were broken at a fixed width, and then also decodes percent signs.
func (h *hunt) try(r *rule, start, end int) {
	width, sure := lineWidth(h.text, start)
	plain, ok := h.match(r, start, end, decoding{})
	if width > 0 && (!ok || sure && h.endsLine(plain.End)) {
		if joined, wide := h.match(r, start, end, decoding{width: width}); wide && (!ok || joined.End > plain.End) {
			plain, ok = joined, true
		}
	}
	if !ok && hasPercent(h.text[start:min(len(h.text), start+window)]) {
		plain, ok = h.match(r, start, end, decoding{percent: true})
	}
	if ok {
		h.found = append(h.found, plain)
	}
}

// endsLine reports whether the text has a line end at offset at.
func (h *hunt) endsLine(at int) bool {
	return at < len(h.text) && (h.text[at] == '\n' || h.text[at] == '\r' && at+1 < len(h.text) && h.text[at+1] == '\n')
}

// look makes h.view the view of the text around text[start:end], with back bytes before it and ahead bytes after it. It
// returns the range of the view that was made from text[start:end].
func (h *hunt) look(start, end, back, ahead int, d decoding) (from, to int) {
	low := max(0, start-back)
	column := 0
	for column < low && column < maxWidth+1 && h.text[low-column-1] != '\n' {
		column++
	}
	h.view.look(h.text, low, min(len(h.text), end+ahead), column, d)
	return h.view.indexOf(start), h.view.indexOf(end-1) + 1
}

// match tries r in one view of the text around the literal text[start:end].
func (h *hunt) match(r *rule, start, end int, d decoding) (Finding, bool) {
	back := 0
	if r.back > 0 {
		back = r.back + slack
	} else if !r.free {
		back = slack // what stands before the literal decides, too
	}
	from, to := h.look(start, end, back, cmp.Or(r.ahead, window), d)
	v, first := &h.view, from
	if r.back > 0 {
		first = max(0, from-r.back)
	}
	for first <= from && first < len(v.text) {
		at := r.compile().FindSubmatchIndex(v.text[first:])
		if at == nil || r.back == 0 && at[0] != 0 || first+at[0] > from {
			return Finding{}, false
		}
		whole, secret := [2]int{first + at[0], first + at[1]}, [2]int{first + at[0], first + at[1]}
		if len(at) > 2 && at[2] >= 0 {
			secret = [2]int{first + at[2], first + at[3]}
		}
		for r.prefix && secret[0] > 0 && isToken(v.text[secret[0]-1]) {
			secret[0]--
		}
		if whole[1] >= to && h.fits(r, secret[0], secret[1]) {
			if r.name == privateKey {
				return h.keyBlock(secret[0], secret[1], d)
			}
			low, high := v.span(secret[0], secret[1])
			return Finding{Rule: r.name, Start: low, End: high}, true
		}
		if r.back == 0 {
			return Finding{}, false
		}
		first = whole[0] + 1
	}
	return Finding{}, false
}

// fits reports whether the bytes start to end of the view are a whole token that passes the check of r.
func (h *hunt) fits(r *rule, start, end int) bool {
	v := &h.view
	if !r.free && (start > 0 && isToken(v.text[start-1]) && len(v.text) > start && isToken(v.text[start]) && v.text[start-1] != '_' && v.text[start-1] != '-' ||
		end < len(v.text) && isToken(v.text[end]) && v.text[end] != '-') {
		return false
	}
	return r.check == nil || r.check(v.text[start:end])
}

// isToken reports whether b is a letter, a digit, '_' or '-'.
func isToken(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' || b == '-'
}

// touches reports whether the byte before text[at] continues a word to which text[at] belongs. After an escape it may
// not: the letter of \n or of a colour belongs to the escape.
func touches(text []byte, at int) bool {
	if at == 0 || !isToken(text[at-1]) || text[at-1] == '_' || text[at-1] == '-' {
		return false
	}
	for _, b := range text[max(0, at-12):at] {
		if b == '\\' || b == '\x1b' || b == '%' {
			return false
		}
	}
	return true
}

// hasPercent reports whether text looks as if its special characters were encoded like in a URL.
func hasPercent(text []byte) bool {
	for i, b := range text {
		if b == '%' && i+2 < len(text) && hexDigit(text[i+1]) >= 0 && hexDigit(text[i+2]) >= 0 {
			return true
		}
	}
	return false
}
