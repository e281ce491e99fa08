package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// What may stand on the line after a secret. None of it is a part of the secret.
var nextLines = []string{
	"region = eu-west-1", "MODEL=codestral-latest", "NODE_ENV=production", "APP_DEBUG=false", "EMPTY=", "empty=", "DNS = 10.0.0.1", "site: datadoghq.eu", "  timeout: 30s", "- name: A", "key2: value",
	"export A=b", "Uploading distributions to https://upload.pypi.org/legacy/", "word word", "OK", "done", "Success! You are logged in", "+ make deploy", "$ ls", "# a comment", "model codestral-latest", "README.md", "src/main.go",
	"https://example.org/x", "./run.sh", "/usr/bin/make", "985823892716", "2026-01-02T03:04:05Z INFO start", "getUserName", "step2", "---", "-----BEGIN CERTIFICATE-----", "}", "", "[section]", "\"a\": 1", "v1.2.3 tagged",
}

// The lines that have a secret, of the lengths at which lines may have been broken, and of others.
var lastOnLine = []string{
	"aws_secret_access_key = [[{s40}]]", "MISTRAL_API_KEY=[[{b32}]]", "JWT_SECRET=[[{b69}]]", "export DEPLOY_TOKEN=[[{b44}]]", "the_session_secret: [[{b62}]]", "token: [[vcp_{b56}]]", "[[vcp_{b60}]]", "see [[vcp_{b72}]]",
	"DB_PASSWORD=[[kR7-{b60}]]", "  deploy_key: [[{h64}]]", "[[pypi-AgEIcHlwaS5vcmc{_161}]]", "ACCESS_TOKEN=[[{b107}]]",
}

func TestASecretEndsWithItsLine(t *testing.T) {
	t.Parallel()
	m, f := newMaker(61), redact.NewFinder(nil)
	for _, line := range lastOnLine {
		for _, end := range []string{"\n", "\r\n"} {
			one := plain(m.fill(line))
			secret := one.text[one.secrets[0][0]:one.secrets[0][1]]
			alone := secretsIn(f, one.text+end)
			assert.Equal(t, []string{secret}, alone, one.text)
			for _, next := range nextLines {
				for _, text := range []string{one.text + end + next + end, next + end + one.text + end + next + end + next + end, one.text + end + next} {
					assert.Equal(t, alone, secretsIn(f, text), "%q", text)
				}
			}
		}
	}
}

// secretsIn returns the secrets that the finder finds in text.
func secretsIn(f *redact.Finder, text string) (secrets []string) {
	for _, found := range f.Find([]byte(text)) {
		secrets = append(secrets, text[found.Start:found.End])
	}
	return secrets
}

// Lines of one length are secrets of their own.
func TestLinesOfOneLengthDoNotBecomeOneSecret(t *testing.T) {
	t.Parallel()
	m, f := newMaker(62), redact.NewFinder(nil)
	for _, form := range []string{"A_SECRET=[[{b55}]]§B_SECRET=[[{b55}]]§C_SECRET=[[{b55}]]§", "[[vcp_{b56}]]§[[vcp_{b56}]]§[[vcp_{b56}]]§", "first_token: [[{b44}]]§other_token: [[{b44}]]§third_token: [[{b44}]]§"} {
		for _, end := range []string{"\n", "\r\n"} {
			one := plain(strings.ReplaceAll(m.fill(form), "§", end))
			var want []string
			for _, at := range one.secrets {
				want = append(want, one.text[at[0]:at[1]])
			}
			assert.Equal(t, want, secretsIn(f, one.text))
		}
	}
}

// A text that a terminal or a program broke at a width has its secrets on several lines.
func TestABrokenSecretIsFound(t *testing.T) {
	t.Parallel()
	m, f := newMaker(63), redact.NewFinder(nil)
	for _, form := range []string{
		`+ curl -sS https://api.example.org/v1/items -H "X-Api-Key: [[{b120}]]" -o out`, "export DEPLOY_TOKEN=[[{b250}]]", `"secret_key": "[[{s120}]]"`, "the key is [[github_pat_{b22}_{b59}]]",
		"the key is [[sk-ant-api03-{_180}AA]], use it", "$ echo [[dop_v1_{h64}]]",
	} {
		for _, width := range []int{64, 72, 76, 80} {
			one := plain(m.fill(form))
			if len(one.text) < width || one.secrets[0][0] > width-4 || one.secrets[0][1] < width+8 {
				continue
			}
			at := one.secrets[0]
			found := f.Find([]byte(folded(one.text, width) + "\n"))
			broken := func(i int) int { return i + i/width }
			assert.GreaterOrEqual(t, share([2]int{broken(at[0]), broken(at[1]-1) + 1}, found), 0.95, folded(one.text, width))
			for _, one := range found {
				assert.LessOrEqual(t, one.End, broken(at[1]), folded(m.fill(form), width))
			}
		}
		for _, width := range []int{49, 97} { // of no program: the second line tells
			one := plain(m.fill(form))
			at := one.secrets[0]
			if at[0] < width && at[1] >= 2*width {
				found := f.Find([]byte(folded(one.text, width) + "\n"))
				assert.GreaterOrEqual(t, share([2]int{at[0], at[1] - 1 + at[1]/width}, found), 0.9, folded(one.text, width))
			}
		}
	}
}

func TestABase64RunEndsBeforeAName(t *testing.T) {
	t.Parallel()
	f := redact.NewFinder(nil)
	line := "CONFIG=" + base64.StdEncoding.EncodeToString([]byte("a=1\nDB_PASSWORD=kR7pQ2vX9mL4kR7pQ2vX9m"))
	assert.NotEmpty(t, secretsIn(f, line+"\n"))
	assert.Equal(t, secretsIn(f, line+"\n"), secretsIn(f, line+"\nregion=eu-west-1\n"))
}
