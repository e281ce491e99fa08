package columns_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// The vectors come from Smithers 0.32.0: the schemas of its outputs and the signatures it stored for them.
func TestSignatureIsSmithers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/signatures.json")
	require.NoError(t, err)
	var vectors []struct {
		Table, Text, Signature string
		Schema                 json.RawMessage
		Undecidable            string // why the schema alone does not decide the signature
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		t.Run(v.Table, func(t *testing.T) {
			t.Parallel()
			if v.Undecidable != "" {
				require.NotEqual(t, v.Signature, columns.Signature(v.Table, v.Schema), "the vector can be decided")
				return
			}
			require.Equal(t, v.Signature, columns.Signature(v.Table, v.Schema), "of %s", v.Text)
		})
	}
}
