package search

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// maxPattern is the length of the longest text or expression that is searched for, in bytes.
	maxPattern = 2000
	// maxTerms is the largest number of texts.
	maxTerms = 32
	// maxGrams is how many trigrams of a text or an expression choose the files that are read.
	maxGrams = 32
)

// Query is what is searched for, and where.
type Query struct {
	// Texts are plain texts, all of which a document must have. Case does not matter. In a file, a text is a substring of a line. In all other kinds, it is
	// words next to each other, whatever stands between them.
	Texts []string
	// Regex is a regular expression in the syntax of package regexp that is matched with each line. Either Texts or Regex is set.
	Regex      string
	IgnoreCase bool // of Regex

	Kinds   []Kind // no kind means all
	Run     string // the whole id of a run; "" means all
	SinceMs int64  // only what was first there at this time or later, in milliseconds since 1970
	Limit   int    // the largest number of hits; 0 means all
	Context int    // lines around each line with a match
}

// matcher finds a query in texts, and says what documents may have it.
type matcher struct {
	terms []term

	// These are conditions for SQLite's full-text search: each document that matches has all of them.
	words []string // phrases of folded words, for documents that are no files
	grams []string // folded trigrams, for files
	prose bool     // a document that is no file can have all terms
}

// term is one of the texts of a query, or its expression.
type term struct {
	words []string       // the folded words of a text
	exact *regexp.Regexp // the text as a substring, or the expression
}

// newMatcher returns the matcher of a query. Code: usage if the query is empty, too long, or no valid expression.
func newMatcher(q Query) (*matcher, error) {
	long := len(q.Regex)
	for _, text := range q.Texts {
		long += len(text)
	}
	switch {
	case long == 0 || slices.ContainsFunc(q.Texts, func(text string) bool { return strings.TrimSpace(text) == "" }):
		return nil, fault.New(fault.Usage, "there is nothing to search for").Hint("give a text, or an expression with --regex")
	case long > maxPattern || len(q.Texts) > maxTerms:
		return nil, fault.New(fault.Usage, "a search is for at most %d texts with %d bytes, and this one has %d texts with %d bytes", maxTerms, maxPattern, len(q.Texts), long)
	case q.Regex != "":
		return newRegex(q)
	}
	m := &matcher{prose: true}
	for _, text := range q.Texts {
		text = bounded(text)
		t := term{wordsOf(text), regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))}
		m.terms = append(m.terms, t)
		m.prose = m.prose && len(t.words) > 0
		m.words = append(m.words, quoted(strings.Join(t.words, " ")))
		m.grams = append(m.grams, gramsOf(fold(text))...)
	}
	if !m.prose && len(q.Kinds) > 0 && !slices.Contains(q.Kinds, Code) {
		return nil, fault.New(fault.Usage, "a text without letters and digits is found only in %s", Code).Hint("search with --regex, which looks at each character")
	}
	return m, nil
}

// newRegex returns the matcher of a regular expression.
func newRegex(q Query) (*matcher, error) {
	flags := ""
	if q.IgnoreCase {
		flags = "(?i)"
	}
	regex, err := regexp.Compile(flags + q.Regex)
	parsed, _ := syntax.Parse(flags+q.Regex, syntax.Perl) // as Compile does
	if err != nil {
		return nil, fault.New(fault.Usage, "--regex cannot be %q: %s", q.Regex, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
			Hint("expressions have the syntax of RE2, without references back: https://github.com/google/re2/wiki/Syntax")
	}
	m := &matcher{terms: []term{{exact: regex}}, prose: true}
	for _, literal := range required(parsed, nil) {
		m.grams = append(m.grams, gramsOf(fold(literal))...)
		// The first word may begin outside of the literal, and the last one may end there.
		words := wordsOf("x" + literal + "x")
		for i, word := range words[1:] {
			if i < len(words)-2 {
				m.words = append(m.words, quoted(word))
			} else if word = strings.TrimSuffix(word, "x"); word != "" {
				m.words = append(m.words, quoted(word)+"*")
			}
		}
	}
	return m, nil
}

// required appends the texts that each match of an expression has.
func required(re *syntax.Regexp, to []string) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return append(to, string(re.Rune))
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0], to)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0], to)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			to = required(sub, to)
		}
	default: // other expressions match texts that have nothing in common, or nothing at all
	}
	return to
}

// gramsOf returns the trigrams of a folded text, at most maxGrams, quoted. A zero byte would end the statement for SQLite.
func gramsOf(text string) (grams []string) {
	runes := []rune(text)
	for i := range min(len(runes)-2, maxGrams) {
		if gram := string(runes[i : i+3]); !strings.ContainsRune(gram, 0) {
			grams = append(grams, quoted(gram))
		}
	}
	return grams
}

// quoted returns a phrase for SQLite's full-text search, in which no character has a meaning.
func quoted(phrase string) string { return `"` + strings.ReplaceAll(phrase, `"`, `""`) + `"` }

// maxMatches is how many matches of each text are looked for in one document.
const maxMatches = 10_000

// found is a match of a term in a text.
type found struct {
	span

	term int
}

// find returns the matches in a text, or nil if the text does not match. They are sorted by their places.
func (m *matcher) find(kind Kind, text string) (all []found) {
	for i, t := range m.terms {
		var spans []span
		if kind == Code || t.words == nil {
			spans = inLines(text, t.exact)
		} else {
			spans = phrase(text, t.words)
		}
		if len(spans) == 0 {
			return nil
		}
		for _, s := range spans {
			all = append(all, found{s, i})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	return all
}

// inLines returns where an expression matches in the lines of a text.
func inLines(text string, exact *regexp.Regexp) (spans []span) {
	for start := 0; start < len(text) && len(spans) < maxMatches; {
		line, _, _ := strings.Cut(text[start:], "\n")
		for _, at := range exact.FindAllStringIndex(strings.TrimSuffix(line, "\r"), maxMatches-len(spans)) {
			if at[0] < at[1] {
				spans = append(spans, span{start + at[0], start + at[1]})
			}
		}
		start += len(line) + 1
	}
	return spans
}

// phrase returns where the folded words stand next to each other in a text.
func phrase(text string, want []string) (spans []span) {
	var last []span // the words before, as many as want has
	for t := range tokens(text) {
		if last = append(last, t); len(last) > len(want) {
			last = last[1:]
		}
		same := len(last) == len(want)
		for i := len(last) - 1; same && i >= 0; i-- { // the last word differs most often
			same = fold(text[last[i].start:last[i].end]) == want[i]
		}
		if same {
			if spans = append(spans, span{last[0].start, t.end}); len(spans) >= maxMatches {
				break
			}
		}
	}
	return spans
}

// Check returns an error if the query is invalid, before anything is read. Code: usage.
func (q Query) Check() error {
	_, err := newMatcher(q)
	return err
}
