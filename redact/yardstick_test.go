package redact_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/redact"
)

// TestYardstick finds the secrets with which another scanner tests its rules. tools/yardstick.sh makes the samples and runs it, in a
// soak.
func TestYardstick(t *testing.T) {
	t.Parallel()
	path := os.Getenv("YARDSTICK")
	if path == "" {
		t.Skip("tools/yardstick.sh runs this test")
	}
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was only read
	finder := redact.NewFinder(nil)
	count := make(map[bool]int)    // samples with and without a secret
	found := make(map[bool]int)    // in which the finder finds one
	missed := make(map[string]int) // samples with a secret that it does not find, by rule
	lines := bufio.NewScanner(file)
	const longest = 1 << 24
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var s struct {
			Rule   string
			Secret bool
			Text   string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		count[s.Secret]++
		if len(finder.Find([]byte(s.Text))) > 0 {
			found[s.Secret]++
		} else if s.Secret {
			missed[s.Rule]++
		}
	}
	require.NoError(t, lines.Err())
	t.Logf("found %d of %d secrets, and %d false ones in %d harmless texts", found[true], count[true], found[false], count[false])
	for _, rule := range slices.Sorted(maps.Keys(missed)) {
		t.Logf("missed %d of %s", missed[rule], rule)
	}
	require.Greater(t, count[true], 1000)
	assert.GreaterOrEqual(t, 100*found[true], 90*count[true])
	// The goal is one in forty. Nearly all that is left is a random value that the sample assigns to a name such as api_token, which
	// counts as a secret here whatever its form, or a key that Google publishes in its manuals.
	assert.LessOrEqual(t, 100*found[false], 14*count[false])
}
