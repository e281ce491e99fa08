package redact_test

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// placeholderRules are the rules and the variables whose names look most like something that a value is assigned to.
var placeholderRules = []string{"anthropic-key", "github-token", "DEPLOY_TOKEN", "STRIPE_SECRET", "MY_PASSWORD", "acme-key1", "S3_SECRET_ACCESS_KEY", "remote-url", "private-key"}

// No rule finds anything in a placeholder, nor in its escape, wherever it stands and however a program spells it again.
func TestNoRuleMatchesInAPlaceholder(t *testing.T) {
	t.Parallel()
	rules, err := redact.ParseRules([]byte("rules: [{name: acme-key1, keywords: [acme-], pattern: 'acme-[a-z]+[0-9]'}]\nwords: [secret, anthropic]\n"), true)
	require.NoError(t, err)
	finder := redact.NewFinderWith([]redact.Value{{Name: "DEPLOY_TOKEN", Text: "Zr8-quite-wanted"}}, rules)
	places := map[string]string{
		"alone": "%", "in prose": "it prints % here", "a password": `password: "%"`, "a part of a password": `password = "abc%d1"`,
		"a flag": "tool --token % run", "mysql": "mysql -p% x", "a header": "Authorization: Bearer %", "a URL": "https://u:%@h/", "a URL's password": "https://u:ab%@host/",
		"a variable": "API_TOKEN=%", "a netrc": "machine h login u password %", "two": "%%", "cut off": "api %|",
	}
	spellings := map[string]func(string) string{
		"plain":        func(text string) string { return text },
		"JSON":         strconv.Quote,
		"ASCII JSON":   strconv.QuoteToASCII,
		"JSON in JSON": func(text string) string { return strconv.Quote(strconv.QuoteToASCII(text)) },
		"percent":      url.PathEscape,
	}
	for place, text := range places {
		for spelling, spell := range spellings {
			for _, rule := range placeholderRules {
				for _, signs := range []string{"", "«", "««"} {
					one := signs + redact.Placeholder{Rule: rule, Number: 12}.String()
					whole := spell(strings.ReplaceAll(text, "%", one))
					if strings.HasSuffix(text, "|") { // programs cut texts
						whole = strings.TrimSuffix(text, "%|") + one[:len(one)-3] + "…\nnext"
					}
					assert.Empty(t, finder.Find([]byte(whole)), "%s, %s", place, spelling)
					encoded := base64.StdEncoding.EncodeToString([]byte("here is a text: " + whole))
					assert.Empty(t, redact.NewFinder(nil).Find([]byte(encoded)), "%s, %s, in base64", place, spelling)
				}
			}
		}
	}
	for _, like := range []string{"«secret:schlüssel:1»", "«secret:X:123456789012»", "«secret:X:999999999999999999999»", `["«secret:clé-à-passe:1»"]`, "««secret:密码:3»"} {
		assert.Empty(t, finder.Find([]byte(like)), like)
	}
	for _, piece := range []string{"secret:anthropic-key:1» rest", "\xabsecret:anthropic-key:1»", "text «secret:S3_SECRET_AC", "text «secret:anthropic-key:1"} {
		assert.Empty(t, finder.Find([]byte(piece)), "a text that is stored in pieces: %s", piece)
	}
}

// What only begins like a placeholder hides no secret.
func TestASecretBesideASignIsFound(t *testing.T) {
	t.Parallel()
	token := "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
	finder := redact.NewFinder([]redact.Value{{Name: "DEPLOY_TOKEN", Text: "Zr8-quite-wanted"}})
	for _, text := range []string{
		"«secret:" + token, "«secret:" + token + "»", "«secret:" + token + ":1»", "«secret:x:1» " + token, token + "«secret:x:1»",
		"«secret:Zr8-quite-wanted:1»", "«secret:x:Zr8-quite-wanted»", "secret:hunter2-and-more is it", "x secret: hunter2-and-more",
		"-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAvxZ9aQ+mbn3u1\n", 8) + "«secret:x:1»\n" + strings.Repeat("u8dWlRk3JhFzq0Vv5yGf1bT7nXcQw\n", 8) + "-----END RSA PRIVATE KEY-----",
	} {
		assert.NotEmpty(t, finder.Find([]byte(text)), text)
	}
}
