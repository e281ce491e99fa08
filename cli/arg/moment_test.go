package arg

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTimesAreGivenInThreeWays(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000_000)
	for text, want := range map[string]int64{
		"1970-01-02T00:00:00Z": 86_400_000, "1970-01-02T01:00:00.5+01:00": 86_400_500,
		"5": 5, "0": 0, "10m": 1_000_000_000 - 600_000, "1h30m": 1_000_000_000 - 5_400_000, "0s": 1_000_000_000,
	} {
		got, err := ParseMoment(now, "after", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "yesterday", "-1", "-5m", "2026-11-20", "1e3"} {
		_, err := ParseMoment(now, "after", text)
		assert.Equal(t, fault.Usage, fault.CodeOf(err), text)
	}
}
