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

	"github.com/git-smithers/git-smithers/internal/redact"
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
	assigned := 0                  // samples without a secret in which it only finds values of secret names
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
		hits := finder.Find([]byte(s.Text))
		switch {
		case len(hits) > 0:
			found[s.Secret]++
			if !s.Secret && !slices.ContainsFunc(hits, func(f redact.Finding) bool { return f.Rule != "secret-name" }) {
				assigned++
			}
		case s.Secret:
			missed[s.Rule]++
		}
	}
	require.NoError(t, lines.Err())
	t.Logf("found %d of %d secrets, and %d false ones in %d harmless texts: %d of these are values of secret names",
		found[true], count[true], found[false], count[false], assigned)
	for _, rule := range slices.Sorted(maps.Keys(missed)) {
		t.Logf("missed %d of %s", missed[rule], rule)
	}
	require.Greater(t, count[true], 1000)
	assert.GreaterOrEqual(t, 100*found[true], 90*count[true])
	// The forms of services flag at most one in forty. The other false ones are random values that a sample assigns to a name
	// such as telegram_api_token, in a form that the service would not take. They count as secrets here, whatever their form.
	assert.LessOrEqual(t, 40*(found[false]-assigned), count[false])
	assert.LessOrEqual(t, 100*found[false], 5*count[false])
}
