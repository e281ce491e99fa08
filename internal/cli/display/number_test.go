package display

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAndTimesForPeople(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		0: "< 1 ms", 613: "613 ms", 2000: "2.0 s", 252_000: "4m 12s", 7_380_000: "2h 03m", 273_600_000: "3d 4h",
	} {
		assert.Equal(t, want, Took(ms))
	}
	assert.Equal(t, "184k tokens", Tokens(184_321))
	assert.Equal(t, "999 tokens", Tokens(999))
	assert.Equal(t, "23 h 56 min", Span(24*time.Hour-4*time.Minute))
	assert.Equal(t, "4 min", Span(4*time.Minute))

	now := time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("x", 3600))
	for at, want := range map[time.Time]string{
		now.Add(7 * time.Minute): "today 13:07",
		now.Add(-12 * time.Hour): "today 01:00",
		now.Add(-14 * time.Hour): "Thu 23:00",
		now.AddDate(0, 0, -6):    "Sat 13:00",
		now.AddDate(0, 0, -8):    "12 Nov 13:00",
		now.AddDate(-1, 0, 0):    "2025-11-20",
		now.Add(26 * time.Hour):  "21 Nov 15:00",
		now.AddDate(0, 2, 0):     "2027-01-20",
	} {
		assert.Equal(t, want, Moment(now, at.UnixMilli(), "15:04"))
	}
}
