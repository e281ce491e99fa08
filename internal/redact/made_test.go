package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// Documentation shows tokens that nobody has. They are no secrets, unlike others of the same form.
func TestTokensOfDocumentationAreNoSecrets(t *testing.T) {
	t.Parallel()
	f := redact.NewFinder(nil)
	for _, one := range []struct{ made, real string }{
		{"AIza" + "SyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs", "AIza" + "SyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIt"},
		{"sk-" + "ant-api03-abc123xyz-456de-klMnopqrstuvwx-3456yza789bcde-1234fghijklmnopAA", "sk-" + "ant-api03-q7R2xyz-456de-klMnopqrstuvwx-3456yza789bcde-1234fghijklmnopAA"},
		{"sntr" + "yu_" + strings.Repeat("a", 64), "sntr" + "yu_" + strings.Repeat("0a9f3c7b1e5d2468", 4)},
		{"xoxp" + "-572370529330-573807301142-572331691188-", "xoxp" + "-572370529330-573807301142-572331691188-" + "0a9f3c7b1e5d24680a9f3c7b1e5d2468"},
		{"xoxe" + ".xoxp-1-SlackAppConfigurationAccessTokenHere", "xoxe" + ".xoxp-1-Mi0yLTU3MjM3MDUyOTMzMC01NzM4MDcz"},
	} {
		assert.Empty(t, f.Find([]byte("see "+one.made+" there")), one.made)
		assert.NotEmpty(t, f.Find([]byte("see "+one.real+" there")), one.real)
	}
}
