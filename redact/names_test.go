package redact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/redact"
)

func TestVariablesAreSecretByTheirNames(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]bool{
		"GITHUB_TOKEN": true, "db_password": true, "STRIPE_SECRET": true, "API_KEY": true, "AWS_CREDENTIALS": true,
		"HOME": false, "KEYBOARD_LAYOUT": false, "TOKENIZERS_PARALLELISM": false, "EDITOR": false,
	} {
		assert.Equal(t, secret, redact.SecretVariable(name), name)
	}
}
