package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Value is a secret that is known, for example from a variable of the environment.
type Value struct {
	Name   string // the rule of findings: the name of the variable
	Text   string
	Listed bool // the user lists the text, so it counts below MinKnown, too
	Found  bool // a rule has found the text: of its lines, only base64 is looked for alone
}

// Known finds known values in text, as they are and in the forms in which programs print them; see formsOf. A Known is
// immutable and safe for concurrent use.
type Known struct {
	forms   []knownForm        // the longest first
	sorted  [][]byte           // the bytes of the forms, in order
	byStart map[uint32][]int32 // by the first four bytes, the indexes in forms, the longest form first
	starts  [1 << 16 / 64]uint64

	meant   *Known    // finds what the values mean, or nil; see respelled
	letters [256]bool // the bytes of what the values mean
}

// knownForm is one form of a value.
type knownForm struct {
	name  string
	bytes []byte
	of    string // the value, or the part of it, that the form spells
	coded bool   // the letters beside the form may spell a part of the value, too
}

// startSize is the number of bytes by which a form is looked up. Every form has at least as many.
const startSize = 4

// NewKnown returns the search for the values. It takes every value as it is: see Unmasked for the values that are no
// secrets. Texts of fewer than MinKnown bytes are ignored, unless they are listed.
func NewKnown(values []Value) *Known {
	var forms []knownForm
	for _, v := range values {
		forms = append(forms, formsOf(v)...)
	}
	k := newKnown(forms)
	k.meant, k.letters = meantBy(k.forms)
	return k
}

// newKnown returns the search for the forms.
func newKnown(forms []knownForm) *Known {
	k := &Known{byStart: make(map[uint32][]int32), forms: forms}
	slices.SortStableFunc(k.forms, func(a, b knownForm) int {
		return cmp.Or(cmp.Compare(len(b.bytes), len(a.bytes)), bytes.Compare(a.bytes, b.bytes))
	})
	k.forms = slices.CompactFunc(k.forms, func(a, b knownForm) bool { return bytes.Equal(a.bytes, b.bytes) })
	for i, form := range k.forms {
		start := binary.LittleEndian.Uint32(form.bytes)
		k.byStart[start] = append(k.byStart[start], int32(i))
		k.starts[uint16(start)/64] |= 1 << (uint16(start) % 64)
		k.sorted = append(k.sorted, form.bytes)
	}
	slices.SortFunc(k.sorted, bytes.Compare)
	return k
}

// Longest returns the length of the longest form, or 0 without values.
func (k *Known) Longest() int {
	if len(k.forms) == 0 {
		return 0
	}
	return len(k.forms[0].bytes)
}

// Find returns the values in text, sorted by Start. They do not overlap: overlapping values are one finding, and a word ends where a value
// begins, so that a word that somebody lists frees no part of a value. Find does not modify text. Its time is linear in the length of the
// text, unless the text repeats the starts of values.
func (k *Known) Find(text []byte) []Finding {
	if k == nil {
		return nil
	}
	var found []Finding
	for i := 0; i+startSize <= len(text); {
		if low := binary.LittleEndian.Uint16(text[i:]); k.starts[low/64]&(1<<(low%64)) == 0 {
			i++
			continue
		}
		form, ok := k.at(text[i:])
		if !ok {
			i++
			continue
		}
		f := Finding{form.name, i, i + len(form.bytes), form.of}
		if form.coded {
			f.Start, f.End = widen(text, f.Start, f.End)
		}
		found = join(found, f)
		i++
	}
	return found
}

// join adds a finding that begins after those in found.
func join(found []Finding, f Finding) []Finding {
	if len(found) == 0 || found[len(found)-1].End <= f.Start {
		return append(found, f)
	}
	last := &found[len(found)-1]
	isWord, wasWord := f.Rule == wordRule, last.Rule == wordRule
	switch {
	case f.End <= last.End:
	case wasWord && !isWord && last.Start < f.Start:
		last.End, last.Of = f.Start, ""
		return append(found, f)
	case isWord && !wasWord:
		return append(found, Finding{f.Rule, last.End, f.End, ""})
	default:
		last.End = f.End
	}
	return found
}

// at returns the longest form with which text begins.
func (k *Known) at(text []byte) (knownForm, bool) {
	for _, i := range k.byStart[binary.LittleEndian.Uint32(text)] {
		if bytes.HasPrefix(text, k.forms[i].bytes) {
			return k.forms[i], true
		}
	}
	return knownForm{}, false
}

// widen adds the base64 letter before and after a range, because a few bits of these letters may belong to the value.
func widen(text []byte, start, end int) (int, int) {
	if start > 0 && isBase64(text[start-1]) {
		start--
	}
	if end < len(text) && isBase64(text[end]) {
		end++
	}
	return start, end
}

// open returns the offset of the last bytes of text with which a value may begin, or len(text).
func (k *Known) open(text []byte) int {
	for i := max(0, len(text)-k.Longest()+1); i < len(text); i++ {
		tail := text[i:]
		at, _ := slices.BinarySearchFunc(k.sorted, tail, func(form, tail []byte) int { return bytes.Compare(form, tail) })
		if at < len(k.sorted) && bytes.HasPrefix(k.sorted[at], tail) {
			return max(0, i-1) // the letter before may belong to a base64 form
		}
	}
	return len(text)
}
