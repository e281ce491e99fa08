package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Form is how a text is written.
type Form int

// The forms of texts.
const (
	Plain Form = iota
	JSON       // one JSON value
)

// Edit is a place at which Rewrite has changed a text.
type Edit struct {
	Offset int    `json:"at"`               // in the new text
	Text   string `json:"text"`             // what stands there in the new text: a placeholder, or an escaped sign
	Was    []byte `json:"was"`              // what stood there in the old text
	Number int    `json:"number,omitempty"` // the placeholder's number, or 0 for an escaped sign
}

// Kept is a range of a text that Rewrite has written before, and that stays as it is.
type Kept struct {
	Start, End int
	Edits      []Edit // those of the range; their offsets are in the text
}

// Rewrite returns text with a placeholder for each secret in found, and with each other place escaped that looks like a
// placeholder. The edits undo this; see Restore. found must be sorted and must not overlap, like the result of Find.
//
// In JSON, a placeholder replaces parts of strings and whole numbers, so the new text is valid JSON, too. name returns
// the placeholder for a secret; it gets the known value that the text spells, or the bytes that the secret means, without the
// escapes of JSON. Without anything
// to change, Rewrite returns text itself and no edits.
func Rewrite(text []byte, form Form, found []Finding, name func(rule string, secret []byte) Placeholder) ([]byte, []Edit) {
	return RewriteAround(nil, text, form, found, name)
}

// RewriteAround is Rewrite, but leaves the ranges in kept as they are, and returns their edits, too. kept must be sorted and must not
// overlap with found.
func RewriteAround(kept []Kept, text []byte, form Form, found []Finding, name func(rule string, secret []byte) Placeholder) ([]byte, []Edit) {
	parts := secretParts(text, form, found)
	for _, k := range kept {
		for _, e := range k.Edits {
			parts = append(parts, part{start: e.Offset, end: e.Offset + len(e.Text), made: &e})
		}
	}
	at := 0
	for m := range marks(text, form) {
		for at < len(kept) && kept[at].End <= m.start {
			at++
		}
		if at == len(kept) || m.start < kept[at].Start {
			parts = append(parts, part{start: m.start, end: m.start + m.length})
		}
	}
	if len(parts) == 0 {
		return text, nil
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.start - b.start })
	var out []byte
	var edits []Edit
	from := 0
	for _, p := range parts {
		if p.start < from {
			continue // a mark inside a secret
		}
		out = append(out, text[from:p.start]...)
		e := Edit{Offset: len(out), Was: bytes.Clone(text[p.start:p.end])}
		if p.made != nil {
			e.Text, e.Was, e.Number = p.made.Text, p.made.Was, p.made.Number
		} else if p.rule == "" {
			e.Text = sign + string(e.Was) // the old sign keeps its spelling, so that Unescape gives the very bytes
		} else {
			placeholder := name(p.rule, p.meaning(text))
			e.Text, e.Number = placeholder.String(), placeholder.Number
			if p.kind == numberPart {
				e.Text = `"` + e.Text + `"`
			}
		}
		out = append(out, e.Text...)
		edits = append(edits, e)
		from = p.end
	}
	return append(out, text[from:]...), edits
}

// errNotRewritten is the error about edits that do not belong to a text.
var errNotRewritten = errors.New("the text is not the one that was rewritten")

// Restore returns the text from which Rewrite made text and edits. If the edits do not belong to text, it returns an error.
func Restore(text []byte, edits []Edit) ([]byte, error) {
	var out []byte
	from := 0
	for _, e := range edits {
		if e.Offset < from || e.Offset > len(text) || !bytes.HasPrefix(text[e.Offset:], []byte(e.Text)) {
			return nil, errNotRewritten
		}
		out = append(append(out, text[from:e.Offset]...), e.Was...)
		from = e.Offset + len(e.Text)
	}
	return append(out, text[from:]...), nil
}

// part is a range of a text to be replaced. Without a rule it is a sign to escape.
type part struct {
	start, end int
	kind       partKind
	rule       string
	of         string // the known value that the part spells, or ""
	made       *Edit  // the edit that has made the part before, or nil
}

// partKind is what a part is in the text.
type partKind int

const (
	plainPart  partKind = iota
	stringPart          // within a string of JSON
	numberPart          // a whole number of JSON
)

// meaning returns the bytes that the part means.
func (p part) meaning(text []byte) []byte {
	raw := text[p.start:p.end]
	if p.of != "" {
		return []byte(p.of)
	}
	if p.kind != stringPart || bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var meant string
	if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &meant) != nil {
		return raw
	}
	return []byte(meant)
}

// secretParts returns the ranges of text that must be replaced to remove the secrets in found.
func secretParts(text []byte, form Form, found []Finding) []part {
	if len(found) == 0 {
		return nil
	}
	var parts []part
	if form == Plain {
		for _, f := range found {
			parts = append(parts, part{f.Start, f.End, plainPart, f.Rule, f.Of, nil})
		}
		return parts
	}
	next := 0
	for t := range tokens(text) {
		for next < len(found) && found[next].End <= t.start {
			next++
		}
		from := t.start
		for _, f := range found[next:] {
			if f.Start >= t.end {
				break
			}
			var p part
			var ok bool
			if p, from, ok = t.part(text, from, f); ok {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// token is a number of a JSON text, or what stands between the quotes of a string.
type token struct {
	start, end int
	isNumber   bool
}

// tokens yields the strings and numbers of a JSON text.
func tokens(text []byte) func(yield func(token) bool) {
	return func(yield func(token) bool) {
		for i := 0; i < len(text); i++ {
			start := i
			switch b := text[i]; {
			case b == '"':
				start++
				for i++; i < len(text) && text[i] != '"'; i++ {
					if text[i] == '\\' {
						i++
					}
				}
				if !yield(token{start: start, end: min(i, len(text))}) {
					return
				}
			case b == '-' || b >= '0' && b <= '9':
				for i+1 < len(text) && isNumberByte(text[i+1]) {
					i++
				}
				if !yield(token{start: start, end: i + 1, isNumber: true}) {
					return
				}
			}
		}
	}
}

// isNumberByte reports whether b may be in a number of JSON.
func isNumberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '.' || b == '-' || b == '+' || b|0x20 == 'e'
}

// part returns the part of the token that f covers, or all of a number that f touches. It widens the part to whole escapes
// and characters. from is where a character begins that is not behind f. next is such a place for the finding that follows f: a token with
// many findings is read once.
func (t token) part(text []byte, from int, f Finding) (_ part, next int, ok bool) {
	if t.isNumber {
		return part{t.start, t.end, numberPart, f.Rule, f.Of, nil}, from, true
	}
	low, high := max(f.Start, t.start), min(f.End, t.end)
	p := part{start: -1, kind: stringPart, rule: f.Rule, of: f.Of}
	for i := from; i < high; {
		size := unit(text[i:t.end])
		if i+size > low && p.start < 0 {
			p.start = i
		}
		from = i
		i += size
		p.end = i
	}
	return p, from, p.start >= 0 && p.start < p.end
}

// unit returns the number of bytes of the first character of text, as the inside of a JSON string spells it. Text must not
// be empty. The two halves of a character beyond U+FFFF are one unit.
func unit(text []byte) int {
	if text[0] == '\\' {
		switch {
		case len(text) < 2 || text[1] != 'u':
			return min(2, len(text))
		case len(text) >= 12 && text[6] == '\\' && text[7] == 'u' && text[2]|0x20 == 'd' && isHigh(text[3]):
			return 12
		}
		return min(6, len(text))
	}
	size := 1
	for !startsRune(text, size) {
		size++
	}
	return size
}

// isHigh reports whether b is the second hex digit of the first half of a surrogate pair: \uD8.. to \uDB..
func isHigh(b byte) bool { return b == '8' || b == '9' || b|0x20 == 'a' || b|0x20 == 'b' }
