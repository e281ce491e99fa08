package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/redact"
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

func TestPartsOfAKnownValueAreFound(t *testing.T) {
	t.Parallel()
	m := newMaker(22)
	secret, key := m.letters('b', 20), pem(m)
	k := redact.NewKnown([]redact.Value{
		{Name: "SERVICE_JSON", Text: `{"user": "lantern-user", "password": "` + secret + `"}`}, {Name: "DEPLOY_KEY", Text: key},
	})
	assert.Equal(t, "lantern-user has ", without(k, "lantern-user has "+secret))
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
		"https://ci:hunter22@example.org/": "", "/aJ/E6I2lfedxml4mjf9r4ztkZLFaeK2Kn4e1th": "", "harbor42": "",
	} {
		assert.Equal(t, why, redact.Unmasked(value), value)
	}
	k := redact.NewKnown([]redact.Value{{Name: "SHORT_KEY", Text: "abc1234"}})
	assert.Zero(t, k.Longest())
	assert.Empty(t, k.Find([]byte("abc1234 abc1234")))
}
