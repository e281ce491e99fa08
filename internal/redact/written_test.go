package redact_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// The places in which people and programs write secrets without a name that says so. A dot stands for the secret.
var writtenPlaces = map[string]string{
	"a bot's address":             "curl https://api.telegram.org/bot7123456789:AA·/getMe",
	"a token in a header":         `curl -H "Authorization: token ·" https://git.example.net/api/v3/user`,
	"a header of JSON":            `{"Authorization": "token ·"}`,
	"a cookie that is set":        "< set-cookie: sid=·; Path=/; HttpOnly",
	"a cookie":                    "> Cookie: theme=dark; session_id=·",
	"a mailer":                    `"auth": {"user": "smtp", "pass": "·"}`,
	"a tunnel":                    "[Peer]\nPresharedKey = ·+/aaQ=",
	"a default of Terraform":      "variable \"db_password\" {\n  type = string\n  default = \"·\"\n}",
	"a wireless network":          "network={\n  psk=\"·\"\n}",
	"nmcli":                       "nmcli dev wifi connect Lantern password ·",
	"wpa_passphrase":              "wpa_passphrase 'The Lantern' ·",
	"a share":                     `net use Z: \\fs\data /user:anna ·`,
	"lftp":                        "lftp -u bob,· sftp://h",
	"mysqladmin":                  "mysqladmin -u root password ·",
	"rclone":                      "rclone config create box webdav user=anna pass=·",
	"aws":                         "aws configure set aws_secret_access_key ·",
	"a pair of YAML":              "basic_auth: [prom, ·]",
	"a pair of Python":            `requests.get(u, auth=("anna", "·"))`,
	"a sentence":                  "Your temporary password is ·",
	"a question":                  "Password for user anna: ·",
	"a sentence in German":        "Passwort: ·",
	"a sentence in French":        "Mot de passe : ·",
	"a session in a query string": "GET /app?sid=·&x=1",
}

func TestSecretsAreFoundWherePeopleWriteThem(t *testing.T) {
	t.Parallel()
	m, finder := newMaker(31), redact.NewFinder(nil)
	for _, place := range slices.Sorted(maps.Keys(writtenPlaces)) { // the secrets are the same each time
		text := writtenPlaces[place]
		for range 20 {
			secret := m.letters('b', 15) + "k7Q" + m.letters('b', 15) // in a sentence, a word without a digit is no secret
			whole := strings.ReplaceAll(text, "·", secret)
			covered := false
			for _, f := range finder.Find([]byte(whole)) {
				at := strings.Index(whole, secret)
				covered = covered || f.Start <= at && f.End >= at+len(secret)
			}
			assert.True(t, covered, "%s: %s", place, whole)
		}
	}
}

// The same places with texts that are no secrets.
func TestNoSecretsAreFoundWherePeopleExplainThem(t *testing.T) {
	t.Parallel()
	finder := redact.NewFinder(nil)
	for _, text := range []string{
		"The password is required", "the password is SHA256-hashed and salted", "Password for user anna:", "password is incorrect (attempt 3 of 5)", "Passwort: mindestens 8 Zeichen",
		"password=password123 rejected as too weak", `{"pass": "12/12", "fail": "0"}`, `{"pass": "see above"}`, "psk=<your key>", "ssid=TheLanternInnGuest24",
		"Authorization: token <token>", "Authorization: Bearer undefined", "variable \"db_password\" {\n  type = string\n  sensitive = true\n}", "auth=(user, password)",
		`auth=("user", "password")`, "net use * /delete", "lftp -u bob sftp://h", "rclone copy a:b c:d", "mot de passe oublié ?", "Cookie: sid=; theme=dark", "set-cookie: sess=deleted; Path=/",
		"basic_auth: [user, password]", "wpa_passphrase SSID", "nmcli connection modify x wifi-sec.psk-flags 1",
	} {
		assert.Empty(t, finder.Find([]byte(text)), text)
	}
}
