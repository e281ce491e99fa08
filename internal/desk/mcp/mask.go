package mcp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/timeline"
)

// A mask takes out of texts what the gate of a push would refuse, whatever smithers.secrets is: the model's provider is somebody else.
type mask struct {
	finder  *redact.Finder
	allowed map[string]bool // digests of what may leave the repository
}

// newMask returns the mask of a repository.
func newMask(s *timeline.Store) (*mask, error) {
	finder, err := timeline.SecretFinder(s)
	if err != nil {
		return nil, err
	}
	kept, err := secretscan.Allowances(s)
	m := &mask{finder, make(map[string]bool)}
	for _, a := range kept {
		m.allowed[a.Digest] = true
	}
	return m, err
}

// A span is a part of a text, from its first byte to the one after its last.
type span struct{ from, to int }

// Before lines of a file, git diff, blame and search print a margin.
var (
	margin = lazyregexp.New(`^(?:\s+\d+[: ] |[-+ ]|\S+ \(.*? \d+\) )`)
	// keyLine matches a line of base64 as in a private key. Its first line, by which a key is found, may be outside of a hunk or a range.
	keyLine = lazyregexp.New(`^\s*[0-9A-Za-z+/]{60,76}={0,2}\s*$`)
	// cutWord matches a word that a command has shortened: it can be a part of a secret, by which nobody finds the secret.
	cutWord = lazyregexp.New(`(?:…|\.\.\.)[0-9A-Za-z_+/=~.-]{6,}|[0-9A-Za-z_+/=~.-]{6,}(?:…|\.\.\.)`)
	// plainWord matches a word of a language, or a path of such words.
	plainWord = lazyregexp.New(`^(?:[A-Z]?[a-z]{0,16}(?:[/._-]+|$))+$`)
)

// Letters that are both in a line of a key; digests are of one kind.
const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ghijklmnopqrstuvwxyz"

// text returns a text without secrets, and with escapes in place of characters that hide or move others. path is the file whose lines the text
// has, or "". Of a text that a command has shortened, the word at the cut is left out, too, unless it is one of a language.
func (m *mask) text(path string, text []byte) string {
	spans := append(m.inLines(path, text), cutWords(string(text))...)
	for _, f := range m.finder.Find(text) {
		if !m.allowed[f.Digest(text)] {
			spans = append(spans, span{f.Start, f.End})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	at := 0
	for _, s := range spans {
		if s.to > at {
			out.Write(text[at:max(at, s.from)])
			out.WriteString(timeline.Masked)
			at = s.to
		}
	}
	out.Write(text[at:])
	if out.Len() == 0 {
		return ""
	}
	return term.Visible(strings.Join(plain.Lines(out.String()), "\n") + "\n")
}

// cutWords returns the words of a text that were shortened, without the dots.
func cutWords(text string) (found []span) {
	for _, at := range cutWord.FindAllStringIndex(text, -1) {
		whole := text[at[0]:at[1]]
		from := at[0] + len(whole) - len(strings.TrimLeft(whole, "…."))
		word := strings.Trim(whole, "….")
		if !plainWord.MatchString(word) {
			found = append(found, span{from, from + len(word)})
		}
	}
	return found
}

// inLines returns the parts of a text that are secrets in its lines without their margins.
func (m *mask) inLines(path string, text []byte) (found []span) {
	var lines []byte
	var starts []span // of each line: in lines, and in text
	at := 0
	for line := range strings.Lines(string(text)) {
		rest := line[len(margin.FindString(line)):]
		from := at + len(line) - len(rest)
		starts = append(starts, span{len(lines), from})
		if keyLine.MatchString(rest) && strings.ContainsAny(rest, upper) && strings.ContainsAny(rest, lower) {
			found = append(found, span{from, from + len(strings.TrimRight(rest, "\r\n"))})
		}
		lines, at = append(lines, rest...), at+len(line)
	}
	lines = append(lines, '\n') // each line ends with one
	for _, f := range m.finder.FindIn(path, lines) {
		if m.allowed[f.Digest(lines)] {
			continue
		}
		first, _ := slices.BinarySearchFunc(starts, f.Start+1, func(s span, at int) int { return cmp.Compare(s.from, at) })
		for i := first - 1; i < len(starts) && starts[i].from < f.End; i++ {
			s, end := starts[i], len(lines)
			if i+1 < len(starts) {
				end = starts[i+1].from
			}
			if from, to := max(f.Start, s.from), min(f.End, end-1); from < to {
				found = append(found, span{from - s.from + s.to, to - s.from + s.to})
			}
		}
	}
	return found
}
