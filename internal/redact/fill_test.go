package redact_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

func TestSecretsTakenOutElsewhereAreFilledIn(t *testing.T) {
	t.Parallel()
	const text = `{"a":"x «secret:TOKEN:1» ««secret:TOKEN:1» «secret:other:2»","b":"«secret:TOKEN:1»"}`
	edits := redact.Fill([]byte(text), func(p redact.Placeholder) []byte {
		if p != (redact.Placeholder{Rule: "TOKEN", Number: 1}) {
			return nil
		}
		return []byte("with \"quotes\"\n")
	})
	whole, err := redact.Restore([]byte(text), edits)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"x with \"quotes\"\n «secret:TOKEN:1» «secret:other:2»","b":"with \"quotes\"\n"}`, string(whole))
}

// What one clone takes out, another fills in again: the texts mean the same.
func TestFillUndoesRewrite(t *testing.T) {
	t.Parallel()
	m, f := newMaker(23), redact.NewFinder([]redact.Value{{Name: "CI_PASSWORD", Text: "correct-horse-9"}})
	for range 300 {
		text, err := json.Marshal(map[string]string{"a": m.secretSample().text + " correct-horse-9", "b": "«secret:x:1» ««secret:"})
		require.NoError(t, err)
		secrets := make(map[redact.Placeholder][]byte)
		number := numbered()
		out, _ := redact.Rewrite(text, redact.JSON, f.Find(text), func(rule string, secret []byte) redact.Placeholder {
			p := number(rule, secret)
			secrets[p] = secret
			return p
		})
		back, err := redact.Restore(out, redact.Fill(out, func(p redact.Placeholder) []byte { return secrets[p] }))
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(back))
	}
}
