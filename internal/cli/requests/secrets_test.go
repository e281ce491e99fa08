package requests

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAPersonIsAskedForAMissingSecret(t *testing.T) {
	t.Parallel()
	missing := redact.Placeholder{Rule: "DEPLOY_TOKEN", Number: 2}
	needed := engine.MissingSecret{Task: "ship", Reason: &vault.MissingError{
		At: snapshot.Place{Collection: "outputs/made", Key: "make::0"}, Missing: []redact.Placeholder{missing},
	}}
	tests := map[string]struct {
		env   []string
		typed string
		want  string // "" means that the run does not go on
		asked string
	}{
		"a variable of this name":         {[]string{"DEPLOY_TOKEN=one"}, "y\n", "one", "Give it your variable DEPLOY_TOKEN?"},
		"not that variable":               {[]string{"DEPLOY_TOKEN=one"}, "n\ntwo\n", "two", "The secret (not shown"},
		"no such variable":                {nil, "two\n", "two", "Run r, task ship needs the secret DEPLOY_TOKEN:2, which another clone took out of row \"make::0\" of outputs/made.\n"},
		"nothing is typed":                {nil, "\n", "", "The secret (not shown"},
		"the input ends at the question":  {[]string{"DEPLOY_TOKEN=one"}, "", "", "Give it"},
		"a variable of this name and end": {[]string{"DEPLOY_TOKEN=one"}, "n\n", "", "The secret (not shown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk := &strings.Builder{}
			s := &session.Session{Terminal: &term.Terminal{InTTY: true, Streams: term.Streams{
				In: iotest.OneByteReader(strings.NewReader(test.typed)), Err: talk, Env: test.env,
			}}}
			s.IsTTY = func(any) bool { return true }
			provide, err := parseSecrets(s, nil)
			require.NoError(t, err)
			got, err := provide("r", needed, missing)
			assert.Contains(t, talk.String(), test.asked)
			if test.want == "" {
				assert.Equal(t, fault.SecretMissing, fault.CodeOf(err))
				assert.ErrorContains(t, err, "task ship needs a secret")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
		})
	}
}
