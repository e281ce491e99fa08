package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The bounds of rules that users write. A file of rules may come from a stranger.
const (
	// MaxRuleFile is the largest size of a file of rules in bytes.
	MaxRuleFile  = 1 << 20
	maxListed    = 1000   // elements of each list in a file
	maxPattern   = 1000   // bytes of a pattern, and of every other text
	maxProgram   = 2000   // instructions of a compiled pattern
	maxPrograms  = 20_000 // instructions of all patterns together
	minKeyword   = 3      // bytes
	minWord      = 4      // bytes
	ruleBefore   = 200    // bytes before a keyword that a pattern sees
	searchBudget = 200_000_000
)

// RulesPath is the path of a repository's own rules in its working copy.
const RulesPath = ".smithers/secrets.yaml"

// wordRule is the rule of findings of words that users list.
const wordRule = "word"

// Rules are what users add to the built-in rules: rules, words, names of variables, and exceptions. The zero Rules, and a nil
// *Rules, add nothing. Rules are immutable.
type Rules struct {
	rules  []ownRule
	words  []string
	names  []string // globs in upper case; "!" before a glob exempts
	allow  []exception
	source [][]byte // the files, for Fingerprint
}

// ownRule is a rule of the user.
type ownRule struct {
	name     string
	keywords []string // in lower case
	pattern  *regexp.Regexp
	size     int // instructions
}

// exception is a finding that counts as harmless. One of digest, path and rule is set.
type exception struct {
	digest, path, rule string
	trusted            bool // it may free known values, too
}

// And returns the rules of r and of other.
func (r *Rules) And(other *Rules) *Rules {
	if r == nil || other == nil {
		return firstRules(r, other)
	}
	return &Rules{
		slices.Concat(r.rules, other.rules), slices.Concat(r.words, other.words), slices.Concat(r.names, other.names),
		slices.Concat(r.allow, other.allow), slices.Concat(r.source, other.source),
	}
}

// firstRules returns the first argument that is not nil, or nil.
func firstRules(a, b *Rules) *Rules {
	if a != nil {
		return a
	}
	return b
}

// SecretVariable reports whether an environment variable with the given name may hold a secret, as the built-in names and
// those of r say. Unmasked reports whether the variable's value can be searched for.
func (r *Rules) SecretVariable(name string) bool {
	secret := SecretVariable(name)
	if r == nil {
		return secret
	}
	for _, glob := range r.names {
		exempts := strings.HasPrefix(glob, "!")
		if ok, _ := path.Match(strings.TrimPrefix(glob, "!"), strings.ToUpper(name)); ok {
			secret = !exempts
		}
	}
	return secret
}

// Words returns the words of the block-list as values to search for.
func (r *Rules) Words() []Value {
	if r == nil {
		return nil
	}
	values := make([]Value, len(r.words))
	for i, word := range r.words {
		values[i] = Value{Name: wordRule, Text: word, Listed: true}
	}
	return values
}

// find returns the secrets that the user's rules find in text, in no order. They may overlap. A pattern sees the text around its
// keywords alone. If the patterns take too long on a text, the rest of them is left out.
func (r *Rules) find(text []byte) []Finding {
	if r == nil || len(r.rules) == 0 {
		return nil
	}
	var found []Finding
	lower := bytes.ToLower(text)
	if len(lower) != len(text) { // some letters beyond ASCII change their size
		lower = asciiLower(text)
	}
	left := searchBudget
	for _, rule := range r.rules {
		for _, w := range windowsOf(lower, rule.keywords) {
			if left -= (w[1] - w[0]) * rule.size; left < 0 {
				return found
			}
			for _, at := range rule.pattern.FindAllSubmatchIndex(text[w[0]:w[1]], -1) {
				start, end := at[0], at[1]
				if len(at) > 2 && at[2] >= 0 {
					start, end = at[2], at[3]
				}
				if start < end {
					found = append(found, Finding{Rule: rule.name, Start: w[0] + start, End: w[0] + end})
				}
			}
		}
	}
	return found
}

// asciiLower returns text with the ASCII letters in lower case.
func asciiLower(text []byte) []byte {
	out := bytes.Clone(text)
	for i, b := range out {
		if b >= 'A' && b <= 'Z' {
			out[i] = b | 0x20
		}
	}
	return out
}

// windowsOf returns the ranges of text around keywords, sorted, without overlaps. text is in lower case.
func windowsOf(text []byte, keywords []string) [][2]int {
	var out [][2]int
	for _, keyword := range keywords {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(keyword))
			if i < 0 {
				break
			}
			at := from + i
			out = append(out, [2]int{max(0, at-ruleBefore), min(len(text), at+len(keyword)+window)})
			from = at + len(keyword)
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	merged := out[:0]
	for _, w := range out {
		if n := len(merged); n > 0 && w[0] <= merged[n-1][1] {
			merged[n-1][1] = max(merged[n-1][1], w[1])
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// allows reports whether an exception covers a finding of a rule in text. file is the path of a file, or "". known says that the
// finding is a known value: only trusted exceptions free it.
func (r *Rules) allows(f Finding, text []byte, file string, known bool) bool {
	if r == nil {
		return false
	}
	if f.Rule == wordRule && file == RulesPath {
		return true // the list of the words
	}
	digest := ""
	for _, e := range r.allow {
		if known && !e.trusted {
			continue
		}
		switch {
		case e.digest != "":
			if digest == "" {
				digest = f.Digest(text)
			}
			if digest == e.digest {
				return true
			}
		case e.rule != "" && e.rule == f.Rule, e.path != "" && file != "" && matchPath(e.path, file):
			return true
		}
	}
	return false
}

// allowsPath reports whether an exception covers all of a file.
func (r *Rules) allowsPath(file string) bool {
	return r != nil && slices.ContainsFunc(r.allow, func(e exception) bool { return e.path != "" && matchPath(e.path, file) })
}

// matchPath reports whether a glob matches the path of a file. A glob without a slash matches the file's name in any folder, and one
// that ends with /** everything in a folder.
func matchPath(glob, file string) bool {
	if folder, ok := strings.CutSuffix(glob, "/**"); ok {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if ok, _ := path.Match(folder, dir); ok {
				return true
			}
		}
		return false
	}
	if !strings.Contains(glob, "/") {
		file = path.Base(file)
	}
	ok, _ := path.Match(glob, file)
	return ok
}

// Digest returns the name by which people allow a secret without writing it down: the first 16 hex digits of its SHA-256.
func Digest(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])[:digestSize]
}

// Digest returns the digest of the secret that f found in text: of the known value, if there is one, so that all its spellings have the
// same digest.
func (f Finding) Digest(text []byte) string {
	if f.Of != "" {
		return Digest([]byte(f.Of))
	}
	return Digest(text[f.Start:f.End])
}

// digestSize is the number of digits of a Digest.
const digestSize = 16
