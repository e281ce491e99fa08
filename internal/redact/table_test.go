package redact

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEachRuleOfTheTableFindsWhatItsPatternDescribes makes texts that match the pattern of a rule, and looks for the rule's literals in
// them. A rule whose matches have none of its literals is never tried.
func TestEachRuleOfTheTableFindsWhatItsPatternDescribes(t *testing.T) {
	t.Parallel()
	rules := readTable(table)
	require.Greater(t, len(rules), 100)
	for _, r := range rules {
		require.NotNil(t, r.check, r.name)
		assert.Equal(t, RuleName(r.name), r.name)
		expr, err := syntax.Parse(letters().Replace(r.pattern), syntax.Perl)
		require.NoError(t, err, r.name)
		program, err := syntax.Compile(expr.Simplify())
		require.NoError(t, err, r.name)
		assert.LessOrEqual(t, len(program.Inst), maxProgram, r.name)
		whole := regexp.MustCompile(letters().Replace(r.pattern))
		for seed := range uint64(10) {
			text := example(expr, rand.New(rand.NewPCG(seed, 1)))
			if !whole.MatchString(text) {
				continue // an assertion of the pattern needs what example does not know
			}
			assert.True(t, hasAny(strings.ToLower(text), r.literals), "%s has none of %q: %q", r.name, r.literals, text)
			if r.back == 0 && r.exact != "" {
				assert.True(t, strings.HasPrefix(text, r.exact), "%s: %q", r.name, text)
			}
		}
	}
}

func hasAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) || strings.ContainsAny(word, `%\`) {
			return true
		}
	}
	return false
}

// example returns a text that matches an expression, with few repetitions.
func example(e *syntax.Regexp, random *rand.Rand) string {
	times := func(least, most int) string {
		if most < 0 || most > least+3 {
			most = least + 3
		}
		var b strings.Builder
		for range least + random.IntN(most-least+1) {
			b.WriteString(example(e.Sub[0], random))
		}
		return b.String()
	}
	switch e.Op { //nolint:exhaustive // what stands for no text
	case syntax.OpLiteral:
		return string(e.Rune)
	case syntax.OpCharClass:
		for {
			pair := 2 * random.IntN(len(e.Rune)/2)
			low, high := e.Rune[pair], min(e.Rune[pair+1], '~')
			if high >= low && high >= ' ' {
				low = max(low, ' ')
				return string(low + rune(random.IntN(int(high-low)+1)))
			}
		}
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		return "x"
	case syntax.OpStar:
		return times(0, -1)
	case syntax.OpPlus:
		return times(1, -1)
	case syntax.OpQuest:
		return times(0, 1)
	case syntax.OpRepeat:
		return times(e.Min, e.Max)
	case syntax.OpCapture:
		return example(e.Sub[0], random)
	case syntax.OpAlternate:
		return example(e.Sub[random.IntN(len(e.Sub))], random)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range e.Sub {
			b.WriteString(example(sub, random))
		}
		return b.String()
	}
	return ""
}
