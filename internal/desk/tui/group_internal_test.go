package tui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

const scoreYAML = `name: score
outputs: {verdict: {type: object}}
tasks:
  - id: work
    output: verdict
    run: |
      set -- $(sed 's/.*"input":{[^}]*"n":\([0-9]*\).*/\1/')
      [ $1 != 0 ]
      [ $1 = 2 ] || echo '{"inputTokens":100,"costUsd":0.5}' >"$SMITHERS_USAGE"
      echo "{\"score\": $1}"
`

func TestAGroupIsAPageOfItsVariants(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{
		"score.yaml": scoreYAML, "variants.jsonl": `{"n":1}` + "\n" + `{"n":3,"note":"\u001b]0;t\u0007\u202e"}` + "\n" + `{"n":0}` + "\n" + `{"n":2}` + "\n" + `{"n":4}` + "\n",
	})
	v.do(fault.ExitOK, "sweep", "score.yaml", "--inputs", "variants.jsonl", "--by", "outputs.verdict.score", "--stop-when", "outputs.verdict.score == 2", "--parallel", "1", "--group", "g", "--in-place")
	v.open("", 80, 24)
	assert.Contains(t, v.screen(), "Runs  1\n", "the variants are on the page of the group")
	v.press("enter")
	v.golden("group")
	assert.NotContains(t, v.m.View().Content, "\x1b]")
	v.press("G", "enter")
	assert.Contains(t, v.screen(), "this variant has no run here")
	v.press("g", "j", "enter")
	assert.Contains(t, v.screen(), "g.2")
	assert.Contains(t, v.screen(), "diff g.2:2 g.2:3")
	v.press("q", "c")
	assert.Contains(t, v.screen(), "$ git smithers compare g.2 g.3 g.4 g.1 --by=outputs.verdict.score")
	v.golden("group-compare")
	v.press("q", "o")
	assert.Contains(t, v.screen(), "sweep")
	assert.Contains(t, v.screen(), "Steps")

	v.env = append(v.env, "GIT_SMITHERS_ASCII=1")
	v.open("g", 50, 12)
	v.golden("group-narrow-ascii")
	assert.Equal(t, -1, strings.IndexFunc(v.screen(), func(r rune) bool { return r > 126 }))
	v.open("g", 120, 40)
	v.golden("group-wide-ascii")
}
