package search

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTextsThatAnExpressionNeeds(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"connection refused":   "connection refused",
		"(time)d? out":         "time out",
		"a|b":                  "",
		"(foo|bar)baz":         "baz",
		"x*abc+":               "ab c",
		"(abc){2,}[0-9]":       "abc",
		"(abc){0,2}def":        "def",
		"^err: .*$":            "err: ",
		"(?:warn(?:ing)?)":     "warn",
		"[Ee]rror (?i)REFUSED": "e rror  refused",
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		require.NoError(t, err)
		assert.Equal(t, strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(fold(strings.Join(required(re, nil), " "))), " "), expr)
	}
	for expr, want := range map[string][]string{
		"ection REFUSED 30": {`"refused"`, `"30"*`}, "one": nil, " two ": {`"two"`}, "(a )b c": {`"c"*`}, "拒否": {`"拒"`, `"否"`}, `a"b.`: {`"b"*`},
	} {
		m, err := newMatcher(Query{Regex: expr})
		require.NoError(t, err)
		assert.Equal(t, want, m.words, expr)
	}
}

func TestAValueIsToldAsLines(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a\nb"`: "a\nb", `12345678901234567890`: "12345678901234567890", `null`: "null", ``: "", `no json`: "no json", `"no end`: `"no end`,
		`{"a":{"b":[1,{"c":"x\ty, z"}],"d":null},"e":true}`: "a: b: 1\nc: x\ty, z\nd: null\ne: true",
		`{"a":1,"a":2}`: "a: 1\na: 2", `[]`: "", `{}`: "", `["x",[["\u00e9"]]]`: "x\né",
	} {
		assert.Equal(t, want, flat([]byte(value)), value)
	}
	wide := "[" + strings.Repeat(`"some text",`, 1<<20) + `""]`
	assert.Less(t, len(flat([]byte(wide))), maxText+100)
}

func TestLinesAroundMatches(t *testing.T) {
	t.Parallel()
	text := "one\ntwo x\nthree\nfour\nfive x y\nsix\nseven\n"
	at := func(part string, term int) found {
		i := strings.Index(text, part)
		return found{span{i, i + len(part)}, term}
	}
	show := func(around int, all ...found) (numbers []int) {
		got, _ := lines(text, all, around)
		for _, l := range got {
			numbers = append(numbers, l.Number)
		}
		return numbers
	}
	assert.Equal(t, []int{2, 5}, show(0, at("two", 0), at("five", 0)))
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6}, show(1, at("two", 0), at("five", 0)))
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, show(3, at("two", 0), at("five", 0)))
	assert.Equal(t, []int{5}, show(0, at("two", 0), at("five", 0), at("y", 1)), "the line with both")
	assert.Equal(t, []int{4, 5}, show(0, at("four\nfive", 0)), "a phrase over two lines")
	assert.Equal(t, []int{6, 7}, show(1, at("seven", 0)))

	long := strings.Repeat("é", 500) + "needle" + strings.Repeat("é", 500)
	got, more := lines(long, []found{{span{1000, 1006}, 0}}, 0)
	require.Len(t, got, 1)
	assert.Zero(t, more)
	assert.Equal(t, "needle", got[0].Text[got[0].Marks[0][0]:got[0].Marks[0][1]])
	assert.True(t, strings.HasPrefix(got[0].Text, "…é") && strings.HasSuffix(got[0].Text, "é…"))
}
