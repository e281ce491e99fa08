package timeline_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// In a clone without the vault, another input needs no secret of the members that it replaces.
func TestAnotherInputReplacesMissingSecrets(t *testing.T) {
	t.Parallel()
	missing := func(snapshot.Place, []byte) ([]byte, error) { return nil, fault.New(fault.SecretMissing, "gone") }
	broken := func(snapshot.Place, []byte) ([]byte, error) { return nil, errors.New("cannot be read") }
	const stored = `{"pass":"«secret:P:1»","note":"««secret:P:1»"}`
	for name, c := range map[string]struct {
		reveal         snapshot.Reveal
		stored, over   string
		want, trouble  string
		wantCode       fault.Code
		withoutStored  bool
		withoutChanges bool
	}{
		"the member is replaced":      {reveal: missing, stored: stored, over: `{"pass":"new «secret:P:1»"}`, want: `{"pass":"new «secret:P:1»","note":"«secret:P:1»"}`},
		"another member is replaced":  {reveal: missing, stored: stored, over: `{"note":"n"}`, wantCode: fault.SecretMissing},
		"nothing is replaced":         {reveal: missing, stored: stored, withoutChanges: true, wantCode: fault.SecretMissing},
		"the input is no object":      {reveal: missing, stored: `"«secret:P:1»"`, over: `{"pass":"new"}`, wantCode: fault.SecretMissing},
		"the change is no object":     {reveal: missing, stored: stored, over: `[1]`, wantCode: fault.SecretMissing},
		"a secret in a member's name": {reveal: missing, stored: `{"«secret:P:1»":1,"a":2}`, over: `{"a":3}`, wantCode: fault.SecretMissing},
		"the vault cannot be read":    {reveal: broken, stored: stored, over: `{"pass":"new"}`, trouble: "cannot be read"},
		"there was no input":          {reveal: broken, withoutStored: true, over: `{"a":1}`, want: `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, over := []byte(c.stored), []byte(c.over)
			if c.withoutStored {
				before = nil
			}
			if c.withoutChanges {
				over = nil
			}
			got, err := timeline.WholeInput(c.reveal, before, over)
			switch {
			case c.wantCode != "":
				assert.Equal(t, c.wantCode, fault.CodeOf(err))
			case c.trouble != "":
				assert.ErrorContains(t, err, c.trouble)
			default:
				require.NoError(t, err)
				assert.Equal(t, c.want, string(got))
			}
		})
	}
}
