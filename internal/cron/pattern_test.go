package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// fires returns the next n times of a pattern in a zone, in that zone.
func fires(t *testing.T, pattern, zone, after string, n int) string {
	t.Helper()
	p, err := cron.ParsePattern(pattern)
	require.NoError(t, err)
	in, err := cron.Zone(zone)
	require.NoError(t, err)
	at, err := time.Parse(time.RFC3339, after)
	require.NoError(t, err)
	var all []string
	for range n {
		if at = p.Next(at, in); at.IsZero() {
			return strings.Join(append(all, "never"), ", ")
		}
		all = append(all, at.In(in).Format("01-02 15:04:05 -0700"))
	}
	return strings.Join(all, ", ")
}

func TestPatternsFire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, zone, after, want string }{
		{"30 2 * * *", "UTC", "2026-11-28T02:30:00Z", "11-29 02:30:00 +0000, 11-30 02:30:00 +0000"},
		{"*/20 8-9 * * MON-FRI", "UTC", "2026-11-27T09:00:00Z", "11-27 09:20:00 +0000, 11-27 09:40:00 +0000, 11-30 08:00:00 +0000"},
		{"*/30 * * * * *", "UTC", "2026-11-28T02:30:01Z", "11-28 02:30:30 +0000, 11-28 02:31:00 +0000"},
		{"@daily", "America/New_York", "2026-06-01T00:00:00Z", "06-01 00:00:00 -0400, 06-02 00:00:00 -0400"},
		{"0 0 L * *", "UTC", "2027-02-01T00:00:00Z", "02-28 00:00:00 +0000, 03-31 00:00:00 +0000"},
		{"0 12 * * 5#2", "UTC", "2026-11-01T00:00:00Z", "11-13 12:00:00 +0000, 12-11 12:00:00 +0000"},
		{"0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z", "11-06 00:00:00 +0000, 11-13 00:00:00 +0000, 11-20 00:00:00 +0000"},
		{"0 0 29 2 *", "UTC", "2024-03-01T00:00:00Z", "02-29 00:00:00 +0000"},
		{"0 0 31 2 *", "UTC", "2026-01-01T00:00:00Z", "never"},
		{"0 0 */2 * 1", "UTC", "2026-11-01T00:00:00Z", "11-09 00:00:00 +0000, 11-23 00:00:00 +0000"},
		{"0 0 1-31/2 * 1", "UTC", "2026-11-01T00:00:00Z", "11-02 00:00:00 +0000, 11-03 00:00:00 +0000"},
		{"*/90 * * * *", "UTC", "2026-11-01T00:00:00Z", "11-01 01:00:00 +0000, 11-01 02:00:00 +0000"},
		{"0 0 * * * ", "Asia/Kathmandu", "2026-01-01T00:00:00Z", "01-02 00:00:00 +0545"},
	} {
		assert.Equal(t, c.want, fires(t, c.pattern, c.zone, c.after, strings.Count(c.want, ",")+1), c.pattern)
	}
}

// In Berlin, clocks go from 02:00 to 03:00 on 2026-03-29 and from 03:00 back to 02:00 on 2026-10-25.
func TestAChangeOfClocksLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, pattern, zone, after, want string }{
		{"a skipped time fires as much later", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "03-28 02:30:00 +0100, 03-29 03:30:00 +0200, 03-30 02:30:00 +0200"},
		{"once, if that is a time, too", "30 2,3 * * *", "Europe/Berlin", "2026-03-28T20:00:00Z", "03-29 03:30:00 +0200, 03-30 02:30:00 +0200"},
		{"a time that comes twice fires once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25 02:30:00 +0200, 10-26 02:30:00 +0100"},
		{"each hour that passes counts", "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "10-25 02:00:00 +0200, 10-25 02:00:00 +0100, 10-25 03:00:00 +0100"},
		{"and no hour that does not", "0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", "03-29 01:00:00 +0100, 03-29 03:00:00 +0200"},
		{"half an hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "04-05 01:45:00 +1100, 04-06 01:45:00 +1030"},
		{"a skipped midnight", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "11-04 01:00:00 -0200, 11-05 00:00:00 -0200"},
	} {
		assert.Equal(t, c.want, fires(t, c.pattern, c.zone, c.after, strings.Count(c.want, ",")+1), c.what)
	}
}

func TestAWrongFieldIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"60 * * * *":      `the minute cannot be "60"; it is 0 to 59`,
		"0 24 * * *":      `the hour cannot be "24"; it is 0 to 23`,
		"0 0 0 * *":       `the day of the month cannot be "0"; it is 1 to 31`,
		"0 0 1 JANU *":    `the month cannot be "1U"; it is 1 to 12`,
		"0 0 * * 8":       `the day of the week cannot be "8"; it is 0 to 7`,
		"99 * * * * *":    `the second cannot be "99"; it is 0 to 59`,
		"0 0 1 1 * 99999": `cannot be`,
		"* * * *":         "it has 4 fields",
	} {
		_, err := cron.ParsePattern(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestWhatDialectsReadDifferentlyIsSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30 2 * * *":     "",
		"*/10 * * * 1-5": "",
		"0 0 13 * 5":     "a day that fits either the day of the month 13 or the day of the week 5 is enough",
		"0 0 */2 * 1":    "a day must fit both the day of the month */2 and the day of the week 1",
		"*/90 * * * *":   "the step of the minute */90 is longer than the field: it fires at minute 0 alone",
		"5/15 * * * *":   "the minute 5/15 begins at 5 and goes on in steps of 15",
		"0 0 L * *":      "L, W, # and ? are extensions",
		"0 0 2 * * *":    "the first of six fields is the second",
		"@daily":         "",
	} {
		p, err := cron.ParsePattern(text)
		require.NoError(t, err, text)
		said := strings.Join(p.Differences(), "; ")
		if want == "" {
			assert.Empty(t, said, text)
			continue
		}
		assert.Contains(t, said, want, text)
	}
}

func TestWhatIsNoPatternIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "* * * *", "not a cron", "60 * * * *", "@every 5m", "@reboot", "* * * * * * * *", "CRON_TZ=UTC 0 0 * * *", "0 0 * * H"} {
		_, err := cron.ParsePattern(text)
		require.Error(t, err, text)
		assert.Equal(t, fault.InvalidSchedule, fault.CodeOf(err), text)
	}
	_, err := cron.Zone("Mars/Olympus")
	assert.Equal(t, fault.InvalidSchedule, fault.CodeOf(err))
}
