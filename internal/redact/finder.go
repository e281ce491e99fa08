package redact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"
)

// builtIn returns the Scanner with the built-in rules, which all Finders share.
var builtIn = sync.OnceValue(New)

// rulesVersion changes with the built-in rules: what was found clean before is searched again.
const rulesVersion = "6"

// Finder finds known values, and secrets by the built-in rules and those of the user. A Finder is immutable and safe for
// concurrent use.
type Finder struct {
	known   *Known
	rules   *Rules
	learned []*Known // the values of Knowing
}

// NewFinder returns a Finder of the values and of the secrets that the built-in rules know. It is cheap: the rules are made
// at the first Find.
func NewFinder(values []Value) *Finder { return NewFinderWith(values, nil) }

// NewFinderWith is NewFinder with rules of the user, which may be nil.
func NewFinderWith(values []Value, rules *Rules) *Finder {
	return &Finder{known: NewKnown(slices.Concat(values, rules.Words())), rules: rules}
}

// Knowing returns a Finder that finds the values of these searches, too: secrets that a rule has found beside a name, for texts without the
// name. Fingerprint does not tell the values.
func (f *Finder) Knowing(learned ...*Known) *Finder { return &Finder{f.known, f.rules, learned} }

// Fingerprint returns a text that differs if the Finder looks for other secrets. It tells none of them.
func (f *Finder) Fingerprint() string {
	h := sha256.New()
	h.Write([]byte("git-smithers secrets " + rulesVersion + "\n"))
	add := func(part []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	for _, form := range f.known.sorted {
		add(form)
	}
	if f.rules != nil {
		for _, file := range f.rules.source {
			add(file)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find returns the secrets in text, sorted by Start. They do not overlap. Find does not modify text.
func (f *Finder) Find(text []byte) []Finding { return f.find("", text) }

// FindIn is Find for the content of a file, or a piece of it. path is the file's path in the working copy, with slashes; "" stands for a text
// that is in no file. In a binary file, the words around a value do not count, because programs have words beside random
// bytes.
func (f *Finder) FindIn(path string, text []byte) []Finding {
	found := f.find(path, text)
	if path != "" && isBinary(text) {
		found = slices.DeleteFunc(found, func(f Finding) bool { return slices.Contains(vague, f.Rule) })
	}
	return found
}

// find returns the secrets in the text of a file, or in a text without a path, that no exception covers.
func (f *Finder) find(path string, text []byte) []Finding {
	known := f.known.spelled(text)
	for _, learned := range f.learned {
		if again := learned.spelled(text); len(again) > 0 {
			known = append(known, again...)
			slices.SortStableFunc(known, byStart)
			known = merged(known)
		}
	}
	known = withoutPlaceholders(text, known, func(f Finding, _ bool) bool { return f.Rule != wordRule })
	found := builtIn().find(text, f.known)
	own := withoutPlaceholders(text, f.rules.find(text), func(Finding, bool) bool { return false })
	if len(own) > 0 {
		found = append(own, found...)
		slices.SortStableFunc(found, byStart)
		found = merged(found)
	}
	known = slices.DeleteFunc(known, func(one Finding) bool { return f.rules.allows(one, text, path, true) })
	found = slices.DeleteFunc(found, func(one Finding) bool { return f.rules.allows(one, text, path, one.Of != "") })
	if len(known) == 0 {
		return found
	}
	found = append(known, found...) // where both begin at the same byte, the known value gives its name
	slices.SortStableFunc(found, byStart)
	return merged(found)
}

// spelled returns the values in text in any spelling, sorted by Start. They do not overlap.
func (k *Known) spelled(text []byte) []Finding {
	if k == nil {
		return nil
	}
	found := k.Find(text)
	if respelled := k.respelled(text); len(respelled) > 0 {
		found = append(found, respelled...)
		slices.SortStableFunc(found, byStart)
		found = merged(found)
	}
	return found
}

// byStart compares two findings by their offsets.
func byStart(a, b Finding) int { return cmp.Compare(a.Start, b.Start) }

// AllowsPath reports whether an exception of the user covers all of a file.
func (f *Finder) AllowsPath(path string) bool { return f.rules.allowsPath(path) }

// isBinary reports whether a content is binary: it has a NUL in its first bytes, as git decides.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binaryHead)], 0) >= 0
}
