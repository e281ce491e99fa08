package arg

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTimesAreGivenInFourWays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 3, 0, 0, 0, time.FixedZone("", 2*60*60))
	for text, want := range map[string]string{
		"1970-01-02T00:00:00Z": "1970-01-02T00:00:00Z", "1970-01-02T01:00:00.5+01:00": "1970-01-02T00:00:00.5Z",
		"2026-11-20": "2026-11-19T22:00:00Z", "1600000000000": "2020-09-13T12:26:40Z", "0": "1970-01-01T00:00:00Z",
		"10m": "2026-11-26T00:50:00Z", "1h30m": "2026-11-25T23:30:00Z", "0s": "2026-11-26T01:00:00Z",
		"7d": "2026-11-19T01:00:00Z", "1w": "2026-11-19T01:00:00Z",
	} {
		got, err := ParseMoment(now, "after", text)
		require.NoError(t, err, text)
		at, err := time.Parse(time.RFC3339, want)
		require.NoError(t, err)
		assert.Equal(t, at.UnixMilli(), got, text)
	}
	for _, text := range []string{"", "yesterday", "-1", "-5m", "-5d", "d", "99999w", "2026-13-20", "2026-11", "1e3", "5", "1764115200"} {
		_, err := ParseMoment(now, "after", text)
		assert.Equal(t, fault.Usage, fault.CodeOf(err), text)
	}
}
