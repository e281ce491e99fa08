package display

import (
	"fmt"
	"time"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// ClockTime formats a moment in UTC, to the second. ms is the moment in milliseconds since 1970.
func ClockTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

// Ago formats a moment for people as the time between the moment and now, such as "3 hours ago". ms is the moment in
// milliseconds since 1970. A moment in the future is formatted by ClockTime. A moment 30 or more days ago is formatted
// as a date.
func Ago(now time.Time, ms int64) string {
	d := now.Sub(time.UnixMilli(ms))
	switch {
	case d < 0:
		return ClockTime(ms)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return plain.Count(int(d/time.Minute), "minute") + " ago"
	case d < 24*time.Hour:
		return plain.Count(int(d/time.Hour), "hour") + " ago"
	case d < 30*24*time.Hour:
		return plain.Count(int(d/(24*time.Hour)), "day") + " ago"
	}
	return ClockTime(ms)[:len("2006-01-02")]
}

// Duration formats a length of time for people in at most two units, such as "1.5 s" or "3m 05s".
func Duration(d time.Duration) string {
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
