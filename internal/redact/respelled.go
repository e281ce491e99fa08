package redact

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A value may be spelled with escapes of several kinds and depths, and with some of them only: as JSON in JSON, in a shell's double quotes,
// twice in a URL. respelled finds it in the meaning of the text: each escape of JSON, of shells, of URLs and of XML becomes what it stands
// for, whatever its depth. The values are read in the same way.

// maxMeaning is the number of bytes of a text with escapes that respelled reads at once, unless values are long.
const maxMeaning = 64 << 10

// maxMeant is the largest number of bytes of a value that respelled looks for, so that texts around it stay small. The lines of a longer value are
// values, too.
const maxMeant = 4 << 10

// respelled returns the values in text that have at least one escape. The findings are sorted and may overlap.
func (k *Known) respelled(text []byte) []Finding {
	if k == nil || k.meant == nil {
		return nil
	}
	const longestEscape = 12
	reach := k.meant.Longest() * longestEscape
	most := max(maxMeaning, 2*reach) // texts that overlap by reach are read at most twice
	var found []Finding
	for from, at := k.nextEscape(text, 0), 0; from < len(text); from = k.nextEscape(text, at) {
		end := from
		for next := from; next < len(text) && next-end <= reach && end-from < most; next = k.nextEscape(text, end+1) {
			end = next
		}
		m := meaningOf(text, max(0, from-reach), min(len(text), end+reach))
		for _, f := range k.meant.Find(m.text) {
			f.Start, f.End = m.span(f.Start, f.End)
			found = append(found, f)
		}
		at = end + 1
	}
	return found
}

// nextEscape returns the offset of the next escape from text[from] that stands for a byte of a value, or len(text).
func (k *Known) nextEscape(text []byte, from int) int {
	for ; from < len(text); from++ {
		if !beginsEscape(text[from]) {
			continue
		}
		if meant, size := escape(text[from:]); size > 1 && k.letters[meant[0]] {
			return from
		}
	}
	return len(text)
}

// meant returns the search for what the forms mean, and the bytes with which escapes of values may begin.
func meantBy(forms []knownForm) (k *Known, letters [256]bool) {
	var meant []knownForm
	seen := make(map[string]bool)
	for _, form := range forms {
		if seen[form.of] || len(form.of) > maxMeant {
			continue
		}
		seen[form.of] = true
		form.bytes, form.coded = meaningOf([]byte(form.of), 0, len(form.of)).text, false
		if len(form.bytes) < startSize {
			continue
		}
		meant = append(meant, form)
		for _, b := range form.bytes {
			letters[b] = true
		}
	}
	if len(meant) == 0 {
		return nil, letters
	}
	return newKnown(meant), letters
}

// meaningOf returns the view of text[start:end] in which each escape is replaced by what it stands for.
func meaningOf(text []byte, start, end int) *view {
	v := &view{make([]byte, 0, end-start), make([]int, 0, end-start), make([]int, 0, end-start)}
	for at := start; at < end; {
		if !beginsEscape(text[at]) {
			v.text, v.from, v.to = append(v.text, text[at]), append(v.from, at), append(v.to, at+1)
			at++
			continue
		}
		meant, size := escape(text[at:end])
		for i := range len(meant) {
			v.text, v.from, v.to = append(v.text, meant[i]), append(v.from, at), append(v.to, at+size)
		}
		at += size
	}
	return v
}

// beginsEscape reports whether b is the first byte of an escape.
func beginsEscape(b byte) bool { return b == '\\' || b == '%' || b == '&' }

// escape returns what the start of text stands for, and the number of its bytes: of an escape all of it, otherwise one. text must not be
// empty.
func escape(text []byte) (meant string, size int) {
	switch text[0] {
	case '\\':
		return backslash(text)
	case '%':
		n := 1
		for bytes.HasPrefix(text[n:], []byte("25")) {
			n += 2
		}
		for ; n >= 1; n -= 2 { // the last 25 may be the escape itself
			if code, ok := hexNumber(text[n:], 2); ok {
				return string([]byte{byte(code)}), n + 2
			}
		}
	case '&':
		return entity(text)
	}
	return string(text[:1]), 1
}

// backslash is escape for an escape of JSON, of C or of a shell, with as many backslashes as its depth needs.
func backslash(text []byte) (meant string, size int) {
	const most = 32
	n := 1
	for n < len(text) && n < most && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return string(text[:1]), 1
	}
	number := func(digits, base int) (int, bool) {
		from := n + 1
		if base == 8 {
			from = n
		}
		if len(text) < from+digits {
			return 0, false
		}
		code, err := strconv.ParseUint(string(text[from:from+digits]), base, 32)
		return int(code), err == nil
	}
	switch c := text[n]; {
	case c == 'n':
		return "\n", n + 1
	case c == 't':
		return "\t", n + 1
	case c == 'u':
		code, ok := number(4, 16)
		if next := n + 5; ok && utf16.IsSurrogate(rune(code)) {
			low, okLow := 0, false
			if len(text) >= 2*next && bytes.Equal(text[:n+1], text[next:next+n+1]) {
				low, okLow = hexNumber(text[next+n+1:], 4)
			}
			pair := utf16.DecodeRune(rune(code), rune(low))
			if !okLow || pair == utf8.RuneError {
				return string(text[:1]), 1
			}
			return string(pair), 2 * next
		}
		if ok {
			return string(rune(code)), n + 5
		}
	case c == 'U':
		if code, ok := number(8, 16); ok && utf8.ValidRune(rune(code)) {
			return string(rune(code)), n + 9
		}
	case c == 'x':
		if code, ok := number(2, 16); ok {
			return string([]byte{byte(code)}), n + 3
		}
	case c >= '0' && c <= '3':
		if code, ok := number(3, 8); ok {
			return string([]byte{byte(code)}), n + 3
		}
	case c < utf8.RuneSelf && !isToken(c) && c != '\\':
		return string(text[n : n+1]), n + 1
	}
	return string(text[:1]), 1
}

// entity is escape for an entity of XML, with as many "amp;" as its depth needs.
func entity(text []byte) (meant string, size int) {
	const longest = 10
	n := 1
	for bytes.HasPrefix(text[n:], []byte("amp;")) {
		n += len("amp;")
	}
	name, _, ok := bytes.Cut(text[n:min(len(text), n+longest)], []byte(";"))
	if !ok {
		return string(text[:1]), n
	}
	size = n + len(name) + 1
	switch string(name) {
	case "quot":
		return "\"", size
	case "apos":
		return "'", size
	case "lt":
		return "<", size
	case "gt":
		return ">", size
	}
	if digits, isNumber := bytes.CutPrefix(name, []byte("#")); isNumber {
		base := 10
		if hex, isHex := bytes.CutPrefix(bytes.ToLower(digits), []byte("x")); isHex {
			digits, base = hex, 16
		}
		if code, err := strconv.ParseUint(string(digits), base, 31); err == nil && utf8.ValidRune(rune(code)) {
			return string(rune(code)), size
		}
	}
	return string(text[:1]), n
}
