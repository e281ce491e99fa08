package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// clockTime is a moment as text, to the second, in UTC.
func clockTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

// ago is how long before now a moment was, for people.
func ago(now time.Time, ms int64) string {
	d := now.Sub(time.UnixMilli(ms))
	switch {
	case d < 0:
		return clockTime(ms)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return plain.Count(int(d/time.Minute), "minute") + " ago"
	case d < 24*time.Hour:
		return plain.Count(int(d/time.Hour), "hour") + " ago"
	case d < 30*24*time.Hour:
		return plain.Count(int(d/(24*time.Hour)), "day") + " ago"
	}
	return clockTime(ms)[:len("2006-01-02")]
}

// duration is a length of time for people, in at most two units.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// parseMoment reads a time that the command line gives: RFC 3339, milliseconds since
// 1970, or how long ago it was. It is milliseconds since 1970.
func parseMoment(now time.Time, flag, text string) (int64, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMilli(), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixMilli(), nil
	}
	return 0, fault.New(fault.Usage, "--%s does not take %q", flag, text).
		Hint("it takes a time such as 2026-11-20T17:47:44Z, milliseconds since 1970, or how long ago it was: 10m, 2h30m")
}
