package redact_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

func TestNamesOfFilesOfSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".env", "deep/.env", ".env.local", ".env.production", "prod.env", ".ENV", "id_rsa", "keys/id_ed25519", ".netrc", "_netrc", ".pgpass",
		".git-credentials", ".aws/credentials", "home/.aws/credentials", "server.key", "a/b.p12", "store.jks", "release.keystore", "all.kdbx",
	} {
		assert.True(t, redact.SecretFile(name), name)
	}
	for _, name := range []string{
		".env.example", ".env.sample", "deep/.env.template", ".env.dist", ".env.defaults", ".env.local.example", "example.env", ".envrc",
		".env/bin/python", "env", "id_rsa.pub", "id_ed25519.pub", "credentials", "src/credentials.go", "cert.pem", ".npmrc", "key", ".key",
		"keynote.md", "monkey.go", "my.aws/credentials",
	} {
		assert.False(t, redact.SecretFile(name), name)
	}
}

func TestTheFirstSecretOfAFileIsFoundWhereverItIs(t *testing.T) {
	t.Parallel()
	const value = "Zr8-quite-secret/value+41"
	finder := redact.NewFinder([]redact.Value{{Name: "DEPLOY_TOKEN", Text: value}})
	line := strings.Repeat("some plain words stand here ", 3) + "\n"
	whole := []byte(strings.Repeat(line, 3<<20/len(line)))
	_, found := finder.FirstIn("log.txt", whole)
	assert.False(t, found)
	for _, at := range []int{0, 1<<20 - 30, 1<<20 - 10, 1 << 20, 2<<20 - 15, len(whole) - len(value)} {
		text := bytes.Clone(whole)
		copy(text[at:], value)
		rule, found := finder.FirstIn("log.txt", text)
		assert.True(t, found, at)
		assert.Equal(t, "DEPLOY_TOKEN", rule)
	}
	dense := bytes.Repeat([]byte("x"), 3<<20) // without a line end
	_, found = finder.FirstIn("dense", dense)
	assert.False(t, found)
	copy(dense[1<<20-10:], value)
	_, found = finder.FirstIn("dense", dense)
	assert.True(t, found)
}

// Words beside random bytes are no assignment, but a known value is one wherever it stands.
func TestInABinaryFileOnlyFormsAndValuesCount(t *testing.T) {
	t.Parallel()
	finder := redact.NewFinder([]redact.Value{{Name: "DEPLOY_TOKEN", Text: "Zr8-quite-secret/value+41"}})
	const assigned = "password=hT7-kk2.Wq9z\n"
	rule, _ := finder.FirstIn("a", []byte(assigned))
	assert.Equal(t, "secret-name", rule)
	_, found := finder.FirstIn("a", []byte("\x00"+assigned))
	assert.False(t, found)
	rule, _ = finder.FirstIn("a", []byte("\x00"+assigned+"Zr8-quite-secret/value+41"))
	assert.Equal(t, "DEPLOY_TOKEN", rule)
}
