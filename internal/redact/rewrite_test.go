package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// numbered returns the function that Rewrite asks for placeholders. Equal secrets get equal numbers.
func numbered() func(rule string, secret []byte) redact.Placeholder {
	known := make(map[string]redact.Placeholder)
	return func(rule string, secret []byte) redact.Placeholder {
		p, ok := known[string(secret)]
		if !ok {
			p = redact.Placeholder{Rule: rule, Number: len(known) + 1}
			known[string(secret)] = p
		}
		return p
	}
}

// rewrite replaces the secrets that begin and end at the first and the last byte of words in text.
func rewrite(text string, form redact.Form, words ...string) (string, []redact.Edit) {
	var found []redact.Finding
	for _, word := range words {
		start := strings.Index(text, word)
		found = append(found, redact.Finding{Rule: "word", Start: start, End: start + len(word)})
	}
	out, edits := redact.Rewrite([]byte(text), form, found, numbered())
	return string(out), edits
}

func TestASecretBecomesAPlaceholder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		form  redact.Form
		words []string
		want  string
	}{
		"text":                             {"my hunter2hunter2 is it", redact.Plain, []string{"hunter2hunter2"}, "my «secret:word:1» is it"},
		"a string of JSON":                 {`{"a":"x hunter2 y"}`, redact.JSON, []string{"hunter2"}, `{"a":"x «secret:word:1» y"}`},
		"a number of JSON":                 {`{"pin":12345678,"b":1}`, redact.JSON, []string{"12345678"}, `{"pin":"«secret:word:1»","b":1}`},
		"a part of a number":               {`[-1234.5e+6]`, redact.JSON, []string{"34.5"}, `["«secret:word:1»"]`},
		"more than a string":               {`{"a":"secret","b":2}`, redact.JSON, []string{`cret","b":2`}, `{"a":"se«secret:word:1»","«secret:word:2»":"«secret:word:3»"}`},
		"an end within an escape":          {`["ab\nc"]`, redact.JSON, []string{`b\`}, `["a«secret:word:1»c"]`},
		"a start within an escape":         {`["ab\u0041c"]`, redact.JSON, []string{"041c"}, `["ab«secret:word:1»"]`},
		"half of a pair":                   {`["a\uD83D\uDE00b"]`, redact.JSON, []string{"uDE00"}, `["a«secret:word:1»b"]`},
		"a part of a character":            {"[\"a€b\"]", redact.JSON, []string{"\x82"}, `["a«secret:word:1»b"]`},
		"a quote":                          {`["say \"x\""]`, redact.JSON, []string{`\"x\"`}, `["say «secret:word:1»"]`},
		"text like a placeholder":          {"«secret:word:1»", redact.Plain, nil, "««secret:word:1»"},
		"escaped text like a placeholder":  {"««secret:word:1»", redact.Plain, nil, "«««secret:word:1»"},
		"JSON like a placeholder":          {`["\u00ABsecret:word:1»"]`, redact.JSON, nil, `["«\u00ABsecret:word:1»"]`},
		"an escaped backslash":             {`["\\u00absecret:word:1»"]`, redact.JSON, nil, `["\\u00absecret:word:1»"]`},
		"a sign after a backslash":         {`["\\\u00absecret:word:1»"]`, redact.JSON, nil, `["\\«\u00absecret:word:1»"]`},
		"a placeholder's text in a secret": {"x «secret:word:1» y", redact.Plain, []string{"«secret:word:1» y"}, "x «secret:word:1»"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, edits := rewrite(c.text, c.form, c.words...)
			assert.Equal(t, c.want, out)
			back, err := redact.Restore([]byte(out), edits)
			require.NoError(t, err)
			assert.Equal(t, c.text, string(back))
			if c.form == redact.JSON {
				assert.True(t, json.Valid([]byte(out)))
			}
		})
	}
}

func TestEqualSecretsHaveEqualNumbers(t *testing.T) {
	t.Parallel()
	name := numbered()
	found := []redact.Finding{{Rule: "a", Start: 2, End: 6}, {Rule: "b", Start: 9, End: 13}, {Rule: "a", Start: 16, End: 25}}
	out, _ := redact.Rewrite([]byte(`["four","five","f\u006fur"]`), redact.JSON, found, name)
	assert.Equal(t, `["«secret:a:1»","«secret:b:2»","«secret:a:1»"]`, string(out))
}

func TestPlaceholdersAreTellableFromText(t *testing.T) {
	t.Parallel()
	one := redact.Placeholder{Rule: "GITHUB_TOKEN", Number: 12}
	text := []byte("a " + one.String() + " b ««secret:x:1» «secret::1» «secret:x:0» «secret:x:01» «secret:x:1 «secret:x y:1»")
	found := redact.Placeholders(text)
	require.Len(t, found, 1)
	assert.Equal(t, one, found[0].Placeholder)
	assert.Equal(t, one.String(), string(text[found[0].Start:found[0].End]))
	assert.Equal(t, "«secret:A_B__:1»", redact.Placeholder{Rule: "A B»", Number: 1}.String())
}

func TestUnescapeGivesTheTextBackButForPlaceholders(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"plain", "«secret:x:1»", "««secret:x:1» and «secret:y:2»", "«", "secret:", "«««««secret:",
		`"\u00absecret:x:1\u00bb"`, `"\u00AB«secret:x:1»"`, `"\\u00absecret:x:1»"`, `"«\u00ab\u00Absecret:"`,
	} {
		for _, form := range []redact.Form{redact.Plain, redact.JSON} {
			out, _ := redact.Rewrite([]byte(text), form, nil, nil)
			assert.Empty(t, redact.Placeholders(out))
			assert.Equal(t, text, string(redact.Unescape(out, form)))
		}
	}
}

func TestRestoreRefusesAnotherText(t *testing.T) {
	t.Parallel()
	out, edits := rewrite("my hunter2hunter2", redact.Plain, "hunter2hunter2")
	for _, text := range []string{"", "my «secret:word:2»", "x" + out} {
		_, err := redact.Restore([]byte(text), edits)
		assert.Error(t, err, text)
	}
}

func TestARewrittenTextHoldsNoSecretAndComesBack(t *testing.T) {
	t.Parallel()
	m, f := newMaker(21), redact.NewFinder([]redact.Value{{Name: "CI_PASSWORD", Text: "correct-horse-9"}})
	for i := range 600 {
		one := m.secretSample().text + " correct-horse-9 «secret:x:" + strconv.Itoa(i) + "»"
		quoted, err := json.Marshal(map[string]string{"a": one, "b": "c"})
		require.NoError(t, err)
		for form, text := range map[redact.Form][]byte{redact.Plain: []byte(one), redact.JSON: quoted} {
			out, edits := redact.Rewrite(text, form, f.Find(text), numbered())
			assert.NotContains(t, string(out), "correct-horse-9")
			if form == redact.JSON {
				require.True(t, json.Valid(out), "%s", out)
			}
			back, err := redact.Restore(out, edits)
			require.NoError(t, err)
			require.Equal(t, string(text), string(back))
		}
	}
}

func FuzzRewrite(f *testing.F) {
	m, finder := newMaker(22), redact.NewFinder([]redact.Value{{Name: "X", Text: "correct-horse-9"}})
	for range 30 {
		f.Add([]byte(m.secretSample().text))
	}
	f.Add([]byte(`["«secret:x:1» \u00absecret:","correct-horse-9"]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		form := redact.Plain
		if json.Valid(text) {
			form = redact.JSON
		}
		out, edits := redact.Rewrite(text, form, finder.Find(text), numbered())
		if form == redact.JSON && !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
		if back, err := redact.Restore(out, edits); err != nil || string(back) != string(text) {
			t.Fatalf("%q came back as %q: %v", text, back, err)
		}
	})
}

// A text without its secrets has none that a second look would find.
func TestPlaceholdersAreNoSecrets(t *testing.T) {
	t.Parallel()
	m, f := newMaker(24), redact.NewFinder([]redact.Value{{Name: "CI_PASSWORD", Text: "correct-horse-9"}})
	for _, text := range []string{`["a::0::1","correct-horse-9\n"]`, "password=correct-horse-9 correct-horse-9", "secret: correct-horse-9"} {
		out, _ := redact.Rewrite([]byte(text), redact.Plain, f.Find([]byte(text)), numbered())
		assert.Empty(t, f.Find(out), "%s", out)
	}
	again := 0
	for range 600 {
		text := []byte(m.secretSample().text + "\ncorrect-horse-9\n")
		out, _ := redact.Rewrite(text, redact.Plain, f.Find(text), numbered())
		again += min(1, len(f.Find(out)))
	}
	assert.LessOrEqual(t, again, 6, "of 600 texts: a secret that touches another may be found later")
}

func TestSpellingsOfAKnownValueHaveOneNumber(t *testing.T) {
	t.Parallel()
	const value = "quite/secret+value 7"
	f := redact.NewFinder([]redact.Value{{Name: "TOKEN", Text: value}})
	text := value + " quite%2Fsecret%2Bvalue%207 " + base64.StdEncoding.EncodeToString([]byte("x"+value+"yz")) + " " + hex.EncodeToString([]byte(value))
	out, edits := redact.Rewrite([]byte(text), redact.Plain, f.Find([]byte(text)), numbered())
	assert.Equal(t, 4, strings.Count(string(out), "«secret:TOKEN:1»"), "%s", out)
	back, err := redact.Restore(out, edits)
	require.NoError(t, err)
	assert.Equal(t, text, string(back))
}
