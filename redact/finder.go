package redact

import (
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
const rulesVersion = "1"

// Finder finds known values, and secrets by the built-in rules. A Finder is immutable and safe for concurrent use.
type Finder struct{ known *Known }

// Fingerprint returns a text that differs if the Finder looks for other secrets. It tells none of them.
func (f *Finder) Fingerprint() string {
	h := sha256.New()
	h.Write([]byte("git-smithers secrets " + rulesVersion + "\n"))
	for _, form := range f.known.sorted {
		h.Write(binary.AppendUvarint(nil, uint64(len(form))))
		h.Write(form)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NewFinder returns a Finder of the values and of the secrets that the built-in rules know. It is cheap: the rules are made
// at the first Find.
func NewFinder(values []Value) *Finder { return &Finder{NewKnown(values)} }

// Find returns the secrets in text, sorted by Start. They do not overlap. Find does not modify text.
func (f *Finder) Find(text []byte) []Finding {
	known := f.known.Find(text)
	found := withoutPlaceholders(text, builtIn().Find(text))
	if len(known) == 0 {
		return found
	}
	found = append(known, found...) // where both begin at the same byte, the known value gives its name
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	return merged(found)
}

// FindIn is Find for the content of a file. path is the file's path in the working copy, with slashes.
func (f *Finder) FindIn(path string, text []byte) []Finding {
	return f.Find(text)
}

// Digest returns the name by which people allow a secret without writing it down: the first 16 hex digits of its SHA-256.
func Digest(secret []byte) string {
	const digits = 16
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])[:digits]
}

// withoutPlaceholders returns the findings that do not begin in a placeholder: the name of a placeholder's rule may look as if the
// number were assigned to it. found is sorted.
func withoutPlaceholders(text []byte, found []Finding) []Finding {
	if len(found) == 0 {
		return found
	}
	list := Placeholders(text)
	return slices.DeleteFunc(found, func(f Finding) bool {
		for len(list) > 0 && list[0].End <= f.Start {
			list = list[1:]
		}
		return len(list) > 0 && list[0].Start <= f.Start
	})
}
