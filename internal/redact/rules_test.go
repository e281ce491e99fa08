package redact_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

const ruleFile = `
rules:
  - {name: acme-key, keywords: [acme_], pattern: 'acme_[0-9a-z]{12}'}
  - {name: ticket, keywords: [Ticket], pattern: 'ticket ([A-Z]+-[0-9]+)'}
words: [Blauwal, "Project X"]
names: ["*_PAT", "!PUBLIC_KEY_*"]
allow:
  - {digest: %s, reason: from the manual}
  - {path: "testdata/**", reason: made up}
  - {path: "*.example", reason: made up}
  - {rule: github-token, reason: we rotate them hourly}
`

// rulesOf parses the file, which allows a text.
func rulesOf(t *testing.T, allowed string, trusted bool) *redact.Rules {
	t.Helper()
	rules, err := redact.ParseRules(fmt.Appendf(nil, ruleFile, redact.Digest([]byte(allowed))), trusted)
	require.NoError(t, err)
	return rules
}

func TestUsersRulesFindMore(t *testing.T) {
	t.Parallel()
	f := redact.NewFinderWith(nil, rulesOf(t, "x", false))
	for text, want := range map[string]string{
		"key ACME_x acme_0123456789ab.": "acme-key acme_0123456789ab",
		"see ticket AB-17 now":          "ticket AB-17",
		"Ticket AB-17":                  "", // the pattern says how it is spelled
		"for Blauwal GmbH":              "word Blauwal",
		`{"to":"Project\u0020X"}`:       `word Project\u0020X`,
		"Project%20X":                   "word Project%20X",
	} {
		var got []string
		for _, one := range f.Find([]byte(text)) {
			got = append(got, one.Rule+" "+text[one.Start:one.End])
		}
		assert.Equal(t, want, strings.Join(got, "; "), text)
	}
}

func TestNamesOfVariablesCanBeAddedAndExempted(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{true, false} { // a stranger's file can only add
		rules := rulesOf(t, "x", trusted)
		for name, want := range map[string]bool{"GITLAB_PAT": true, "gitlab_pat": true, "PUBLIC_KEY_A": !trusted, "API_KEY": true, "HOME": false} {
			assert.Equal(t, want, rules.SecretVariable(name), name)
		}
	}
	assert.True(t, (*redact.Rules)(nil).SecretVariable("API_KEY"))
}

func TestExceptionsFreeFindings(t *testing.T) {
	t.Parallel()
	const known, shown = "correct-horse-9", "password=hT7-kk2.Wq9z"
	values := []redact.Value{{Name: "CI_PASSWORD", Text: known}}
	find := func(f *redact.Finder, path, text string) int { return len(f.FindIn(path, []byte(text))) }
	stranger := redact.NewFinderWith(values, rulesOf(t, known, false))
	assert.Equal(t, 1, find(stranger, "a.txt", shown))
	assert.Zero(t, find(stranger, "testdata/deep/a.txt", shown))
	assert.Zero(t, find(stranger, "deep/a.example", shown))
	assert.Equal(t, 1, find(stranger, "", known), "a file of the repository does not free what the user knows as a secret")
	assert.Equal(t, 1, find(stranger, "testdata/a.txt", known))
	mine := redact.NewFinderWith(values, rulesOf(t, known, true))
	assert.Zero(t, find(mine, "", known))
	assert.Zero(t, find(redact.NewFinderWith(nil, rulesOf(t, "hT7-kk2.Wq9z", false)), "", shown))
	assert.True(t, mine.AllowsPath("testdata/.env"))
	assert.False(t, mine.AllowsPath(".env"))
	assert.NotEqual(t, mine.Fingerprint(), stranger.Fingerprint())
	assert.NotEqual(t, redact.NewFinder(values).Fingerprint(), stranger.Fingerprint())
}

func TestRulesAreMerged(t *testing.T) {
	t.Parallel()
	var none *redact.Rules
	rules := rulesOf(t, "x", false)
	assert.Same(t, rules, none.And(rules))
	assert.Same(t, rules, rules.And(nil))
	other, err := redact.ParseRules([]byte("words: [Narwal]"), true)
	require.NoError(t, err)
	f := redact.NewFinderWith(nil, rules.And(other))
	assert.Len(t, f.Find([]byte("Blauwal, Narwal")), 2)
	empty, err := redact.ParseRules(nil, false)
	require.NoError(t, err)
	assert.Empty(t, redact.NewFinderWith(nil, empty).Find([]byte("Blauwal")))
}

func TestBadRulesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"an unknown member":      {"ruels: []", "ruels"},
		"a wrong type":           {"words: {a: b}", "line 1"},
		"no YAML":                {"a: [", "L2"},
		"an alias":               {"words: &a [abcd]\nnames: *a", "aliases"},
		"a rule without a name":  {"rules: [{keywords: [abc], pattern: a}]", "rules[0]: the name"},
		"a strange name":         {"rules: [{name: 'a b', keywords: [abc], pattern: a}]", "rules[0]: the name"},
		"no keywords":            {"rules: [{name: a, pattern: a}]", "rules[0] (a): a rule needs keywords"},
		"a short keyword":        {"rules: [{name: a, keywords: [ab], pattern: a}]", "3 to 1000 bytes"},
		"no pattern":             {"rules: [{name: a, keywords: [abc]}]", "the pattern must have"},
		"a broken pattern":       {"rules: [{name: a, keywords: [abc], pattern: '('}]", "no regular expression"},
		"a huge pattern":         {"rules: [{name: a, keywords: [abc], pattern: '([a-z]b|cd){900}'}]", "instructions"},
		"an impossible pattern":  {"rules: [{name: a, keywords: [abc], pattern: '(a{500}){500}'}]", "no regular expression"},
		"a short word":           {"words: [abc]", "words[0]"},
		"every name":             {"names: ['*']", "names[0]"},
		"a broken name":          {"names: ['[']", "names[0]"},
		"nothing allowed":        {"allow: [{reason: x}]", "allow[0]: needs one of"},
		"two things allowed":     {"allow: [{rule: a, path: b, reason: x}]", "allow[0]: needs one of"},
		"no reason":              {"allow: [{rule: a}]", "allow[0]: needs a reason"},
		"a secret as its digest": {"allow: [{digest: hunter2, reason: x}]", "16 hex digits"},
		"too many words":         {"words: [" + strings.Repeat("abcd,", 1001) + "]", "at most 1000"},
		"too many patterns":      {"rules:\n" + strings.Repeat("  - {name: a, keywords: [abc], pattern: '[a-z]{900}'}\n", 200), "too large together"},
		"too many bytes":         {strings.Repeat("#", redact.MaxRuleFile+1), "more than"},
	} {
		_, err := redact.ParseRules([]byte(c.file), true)
		assert.ErrorContains(t, err, c.want, name)
	}
}

// A hostile rule costs a bounded time: as many steps as a text of some hundred kilobytes without it.
func TestHostileRulesAreBounded(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("rules:\n")
	for i := range 10 {
		fmt.Fprintf(&file, "  - {name: r%d, keywords: [aaa], pattern: '(a?){400}b'}\n", i)
	}
	rules, err := redact.ParseRules([]byte(file.String()), false)
	require.NoError(t, err)
	f := redact.NewFinderWith(nil, rules)
	text := append(bytes.Repeat([]byte("a"), 4<<20), "\npassword=hT7-kk2.Wq9z"...)
	found := f.Find(text)
	require.NotEmpty(t, found, "the built-in rules go on")
	assert.Equal(t, "secret-name", found[len(found)-1].Rule)
}
