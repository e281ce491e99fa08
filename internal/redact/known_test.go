package redact_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// without returns text without what k finds in it.
func without(k *redact.Known, text string) string {
	var out strings.Builder
	at := 0
	for _, f := range k.Find([]byte(text)) {
		out.WriteString(text[at:f.Start])
		at = f.End
	}
	out.WriteString(text[at:])
	return out.String()
}

func TestAKnownValueIsFoundInEachForm(t *testing.T) {
	t.Parallel()
	m := newMaker(21)
	for range 200 {
		value := m.password() + pick(m, []string{"", "&", "'x\"", "/é", " $", "<%", "\\n"}) + m.letters('b', 4)
		quoted, err := json.Marshal(value)
		require.NoError(t, err)
		twice, err := json.Marshal(string(quoted))
		require.NoError(t, err)
		k := redact.NewKnown([]redact.Value{{Name: "DB_PASSWORD", Text: value}})
		for form, text := range map[string]string{
			"plain": value, "beside": value + value, "json": string(quoted[1 : len(quoted)-1]), "json twice": strings.Trim(string(twice), `\"`),
			"query": url.QueryEscape(value), "path": url.PathEscape(value), "hex": hex.EncodeToString([]byte(value)),
			"shell": strings.ReplaceAll(value, "'", `'\''`),
		} {
			left := without(k, "<"+text+">")
			if form == "json twice" {
				assert.LessOrEqual(t, len(left), 8, "%s of %q: %q", form, value, left)
				continue
			}
			assert.Equal(t, "<>", left, "%s of %q", form, value)
		}
		for offset := range 3 {
			text := base64.StdEncoding.EncodeToString([]byte("abc"[:offset] + value + "de"))
			assert.LessOrEqual(t, len(without(k, text)), 8, "base64 at %d of %q", offset, value)
		}
	}
}

func TestAKnownValueIsFoundWithAnyEscapesOfJSON(t *testing.T) {
	t.Parallel()
	const value = "Kx7q/Lm2&Zr9<Tn4Wp8Vb3"
	f := redact.NewFinder([]redact.Value{{Name: "A_TOKEN", Text: value}})
	spelled := map[string]string{
		"a letter":        `Kx7q/Lm2&Zr9<T\u006e4Wp8Vb3`,
		"capital hex":     `Kx7q/Lm2&Zr9<T\u006E4Wp8Vb3`,
		"some signs":      `Kx7q\/Lm2\u0026Zr9<Tn4Wp8Vb3`,
		"another sign":    `Kx7q\u002fLm2&Zr9<Tn4Wp8Vb3`,
		"JSON inside":     `Kx7q/Lm2&Zr9<T\\u006e4Wp8Vb3`,
		"far behind text": strings.Repeat(`{"a":"\u0041b\/c"} `, 9000) + `Kx7q/Lm2&Zr9<T\u006e4Wp8Vb3`,
	}
	var all strings.Builder
	for _, r := range value {
		fmt.Fprintf(&all, `\u%04x`, r)
	}
	spelled["all"] = all.String()
	for name, text := range spelled {
		text = `{"k":"` + text + `"}`
		found := f.Find([]byte(text))
		if assert.Len(t, found, 1, name) {
			assert.Equal(t, "A_TOKEN", found[0].Rule, name)
			assert.Equal(t, len(text)-2, found[0].End, name)
			assert.Equal(t, value, found[0].Of, name)
		}
	}
	assert.Empty(t, f.Find([]byte(`{"k":"\u004bx7q is \/ another"}`)))
}

// Programs put texts into texts: JSON into JSON, YAML, URLs, pages and commands, each with escapes of its own.
func TestAKnownValueIsFoundWithTheEscapesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for value, spelled := range map[string][]string{
		`Grün"Oel7Qx9Zt`: {
			`{"body":"{\"x\": \"Gr\\u00fcn\\\"Oel7Qx9Zt\"}"}`, `{"body":"{\"x\": \"Grün\\\"Oel7Qx9Zt\"}"}`, `"Gr\u00FCn\"Oel7Qx9Zt"`,
			`Gr&#252;n&quot;Oel7Qx9Zt`, `Gr&#xfc;n&#34;Oel7Qx9Zt`, `Gr\303\274n"Oel7Qx9Zt`, `Gr\xc3\xbcn"Oel7Qx9Zt`, `Gr%25C3%25BCn%2522Oel7Qx9Zt`, `\\\\\"Gr\\\\u00fcn\\\\\\\"Oel7Qx9Zt`,
		},
		`Baum&Oel7/Qx9Zt`:      {`GET /x?k=Baum%26Oel7/Qx9Zt`, `%42%61%75%6d%26%4f%65%6c%37%2f%51%78%39%5a%74`, `Baum&amp;amp;Oel7/Qx9Zt`, `Baum\u0026Oel7\/Qx9Zt`},
		`it's+Oel7(Qx9Zt`:      {`it's%2BOel7(Qx9Zt`, `it&#39;s+Oel7(Qx9Zt`, `it&#x27;s%2BOel7%28Qx9Zt`},
		`p@ss/w0rd$Qz77`:       {`p\@ss/w0rd\$Qz77`, `echo "p@ss/w0rd\$Qz77"`, `p%40ss%2fw0rd%24Qz77`},
		`back\slash"And7Qx9Zt`: {`{"a":"back\\slash\"And7Qx9Zt"}`, `{\"a\":\"back\\\\slash\\\"And7Qx9Zt\"}`},
		"ab😀cd7Qx9Zt\"e":       {`ab\ud83d\ude00cd7Qx9Zt\"e`, `ab\\ud83d\\ude00cd7Qx9Zt\\\"e`, `ab&#128512;cd7Qx9Zt"e`},
	} {
		f := redact.NewFinder([]redact.Value{{Name: "A_TOKEN", Text: value}})
		for _, text := range append(spelled, value) {
			found := f.Find([]byte("a " + text + " b"))
			if assert.Len(t, found, 1, text) {
				assert.Equal(t, value, found[0].Of, text)
			}
		}
		assert.Empty(t, f.Find([]byte(`a % \ & &quot; &#99999999; %zz \u12 \x \ud83d &amp`)), value)
	}
}

// A long value makes a text with many escapes no slower than its length: the text is not read again for each escape.
func TestALongValueIsFoundAmongManyEscapes(t *testing.T) {
	t.Parallel()
	m := newMaker(41)
	value := m.letters('b', 4000) + `"` + m.letters('b', 20)
	f := redact.NewFinder([]redact.Value{{Name: "LONG_TOKEN", Text: value}, {Name: "LONGER_TOKEN", Text: m.letters('b', 100_000) + `"`}})
	text := strings.Repeat(`{"a":"\u0041\"\/"} `, 50_000) + strings.Replace(value, `"`, `\u0022`, 1) + strings.Repeat(` \"`, 50_000)
	found := f.Find([]byte(text))
	require.NotEmpty(t, found)
	assert.Equal(t, value, found[0].Of)
}

// Who writes the rules of a repository does not know the values of its users, and could list a word with each letter at its end.
func TestAWordFreesNoPartOfAValue(t *testing.T) {
	t.Parallel()
	rules, err := redact.ParseRules([]byte(`words: ["url: K", "3. end", "Zr9T n", "url:", "x7qLm2Zr9Tn4Wp8V"]`), false)
	require.NoError(t, err)
	const value = "Kx7qLm2Zr9Tn4Wp8Vb3"
	f := redact.NewFinderWith([]redact.Value{{Name: "A_TOKEN", Text: value}}, rules)
	for _, text := range []string{"url: " + value + ". end", "url: " + value + value + " end", "{\"url: " + value + "\"}", value + ". end"} {
		found := f.Find([]byte(text))
		var left strings.Builder
		at, values := 0, 0
		for _, one := range found {
			require.GreaterOrEqual(t, one.Start, at, "sorted, and no overlap")
			left.WriteString(text[at:one.Start])
			at = one.End
			if one.Rule == "A_TOKEN" {
				assert.Equal(t, value, one.Of)
				values++
			}
		}
		left.WriteString(text[at:])
		assert.NotRegexp(t, `[a-zA-Z0-9]{4,}`, strings.ReplaceAll(left.String(), "end", ""), text)
		assert.Equal(t, strings.Count(text, value), values, text)
	}
}

func TestAKnownValueIsFoundBehindTwoEncodings(t *testing.T) {
	t.Parallel()
	m := newMaker(23)
	wide := func(text string, order binary.AppendByteOrder) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	zipped := func(text string) string {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return out.String()
	}
	asJSON := func(text string) string {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		return string(quoted)
	}
	b64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for range 50 {
		value := m.letters('b', 8+m.IntN(24))
		finder := redact.NewFinder([]redact.Value{{Name: "DB_PASS", Text: value}})
		for form, text := range map[string]string{
			"UTF-16": wide("x "+value, binary.LittleEndian), "UTF-16, big-endian": wide("x "+value, binary.BigEndian),
			"UTF-16 in JSON": asJSON(wide("x "+value, binary.LittleEndian)), "PowerShell's encoded command": b64(wide("echo "+value, binary.LittleEndian)),
			"base32": base32.StdEncoding.EncodeToString([]byte("ab" + value)), "base32 in small letters": strings.ToLower(base32.StdEncoding.EncodeToString([]byte(value))),
			"base64 of base64": b64(b64("password: " + value)), "base64 of base64, nothing else": b64(b64(value)),
			"gzip": zipped("password: " + value + "\n"), "gzip in a text": "before " + zipped(value) + " after", "base64 of gzip": b64(zipped("x " + value)),
		} {
			found := finder.Find([]byte(text))
			if assert.NotEmpty(t, found, "%s of %q: %q", form, value, text) {
				assert.Equal(t, "DB_PASS", found[0].Rule, form)
			}
		}
	}
	finder := redact.NewFinder([]redact.Value{{Name: "DB_PASS", Text: "Zr8-quite-secret"}})
	assert.Empty(t, finder.Find([]byte(zipped("nothing of interest"))))
	rule, found := finder.FirstIn("dump.sql.gz", []byte(zipped(strings.Repeat("insert into t values (1);\n", 10_000)+"Zr8-quite-secret")))
	assert.True(t, found)
	assert.Equal(t, "DB_PASS", rule)
}

func TestManyStreamsAreOpenedUpToABound(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 3<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	start := time.Now()
	redact.NewFinder(nil).Find(bytes.Repeat(bomb.Bytes(), 300)) // 900 MB
	assert.Less(t, time.Since(start), 20*time.Second)
}

func TestTheSecretsInAVariableOfPairsAreFound(t *testing.T) {
	t.Parallel()
	for value, secret := range map[string]string{
		"api-key=Zr8quite4secret,x-team=web":                          "Zr8quite4secret",
		"Server=db;User ID=app;Password=Zr8quite4secret;Encrypt=True": "Zr8quite4secret",
	} {
		k := redact.NewKnown([]redact.Value{{Name: "V", Text: value}})
		assert.Equal(t, "it is ", without(k, "it is "+secret))
		assert.Equal(t, "web app db", without(k, "web app db"))
	}
}

func TestPartsOfAKnownValueAreFound(t *testing.T) {
	t.Parallel()
	m := newMaker(22)
	secret, key := m.letters('b', 20), pem(m)
	k := redact.NewKnown([]redact.Value{
		{Name: "SERVICE_JSON", Text: `{"user": "lantern-user", "password": "` + secret + `"}`}, {Name: "DEPLOY_KEY", Text: key},
	})
	assert.Equal(t, "lantern-user has ", without(k, "lantern-user has "+secret))
	dsn := redact.NewKnown([]redact.Value{{Name: "SENTRY_DSN", Text: "https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@o1.ingest.example.org/5"}})
	assert.Equal(t, "the key is ", without(dsn, "the key is 0a1b2c3d4e5f60718293a4b5c6d7e8f9"))
	for line := range strings.SplitSeq(key, "\n") {
		if strings.HasPrefix(line, "-----") {
			assert.Equal(t, line, without(k, line), "the first and the last line of a key are public")
		} else if len(line) >= redact.MinKnown {
			assert.Empty(t, without(k, line))
		}
	}
}

func TestValuesThatAreNoSecretsAreNotMasked(t *testing.T) {
	t.Parallel()
	for value, why := range map[string]string{
		"production": "is a common word", "correcthorsebatterystaple": "",
		"true": "has fewer than 8 bytes", "/home/dev/.ssh/id_ed25519": "is a path", "~/.ssh/key": "is a path", "https://login.example.net/token": "is a URL without a password",
		"A035C8C19219BA821ECEA86B64E628F8D684696D": "is a fingerprint", "11111111": "is too plain", "20260101": "is too plain", "undefined": "is a common word",
		"https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@o1.ingest.example.org/5": "", "https://deploy@example.org/": "is a URL without a password",
		"https://ci:hunter22@example.org/": "", "/aJ/E6I2lfedxml4mjf9r4ztkZLFaeK2Kn4e1th": "", "harbor42": "",
	} {
		assert.Equal(t, why, redact.Unmasked(value), value)
	}
	k := redact.NewKnown([]redact.Value{{Name: "SHORT_KEY", Text: "abc1234"}})
	assert.Zero(t, k.Longest())
	assert.Empty(t, k.Find([]byte("abc1234 abc1234")))
}
