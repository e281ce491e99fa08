package schema

import (
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/dlclark/regexp2"
)

// pattern is a regular expression of a schema. One that Go knows matches in linear time. Any other one is of ECMAScript's dialect,
// such as one with a lookahead: it may take very long, so each match has a time limit.
type pattern struct {
	text string
	size int // instructions, estimated
	re   *regexp.Regexp
	ecma *regexp2.Regexp // nil if re is set
}

// maxMatch is the longest time that one match of an ECMAScript pattern may take.
const maxMatch = time.Second

// newPattern compiles a pattern. The error is a *LimitError if the pattern is too large.
func newPattern(text string, bounds *Bounds) (*pattern, error) {
	if len(text) > maxPatternBytes {
		return nil, errPatternBytes
	}
	p := &pattern{text: text, size: len(text)}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		p.size = patternSize(parsed)
	}
	if bounds.patterns += p.size; bounds.patterns > maxPatternSize {
		return nil, errPatternSize
	}
	if p.re, err = regexp.Compile(text); err == nil {
		return p, nil
	}
	var other error
	if p.ecma, other = regexp2.Compile(text, regexp2.ECMAScript|regexp2.Unicode); other != nil {
		return nil, err
	}
	p.ecma.MatchTimeout = maxMatch
	return p, nil
}

// patternSize returns an estimate of the number of instructions of a compiled pattern. Each repeat counts as often as
// it can occur. Large character classes count as more than one instruction. patternSize returns at most
// maxPatternSize+1.
func patternSize(re *syntax.Regexp) int {
	const runesPerInstruction = 8 // about this many runes of a character class take the bytes of an instruction
	size := 1 + len(re.Rune)/runesPerInstruction
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune) // one instruction for each character
	}
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1 // x{2,} is xxx*
	}
	return min(size, maxPatternSize+1)
}

// matches reports whether the pattern matches in a text. It returns true if the check has no steps left.
func (c *check) matches(p *pattern, text string) bool {
	if !c.spend(int64(p.size) * int64(len(text)+1) / programPerStep) {
		return true
	}
	if p.re != nil {
		return p.re.MatchString(text)
	}
	const step = 100 * time.Nanosecond
	start := time.Now() //nolint:forbidigo // how long the match takes is what it costs
	found, err := p.ecma.MatchString(text)
	c.spend(int64(time.Since(start) / step)) //nolint:forbidigo // as above
	if err != nil {                          // the time limit
		c.left = -1
	}
	return found || err != nil
}
