package display

import (
	"fmt"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Took formats a length of time for people, as Duration does. ms is in milliseconds.
func Took(ms int64) string {
	if ms < 1 {
		return "< 1 ms"
	}
	return Duration(time.Duration(ms) * time.Millisecond)
}

// Span formats a length of time roughly, in one unit or two, such as "4 min" or "23 h 56 min".
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Moment formats a moment for people in the zone of now: the time of today, the weekday and time of the six days before, the day and
// time of this year, or the date. ms is in milliseconds since 1970. clock is the layout of the time.
func Moment(now time.Time, ms int64, clock string) string {
	at := time.UnixMilli(ms).In(now.Location())
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case !at.Before(midnight) && at.Before(midnight.AddDate(0, 0, 1)):
		return "today " + at.Format(clock)
	case at.Before(midnight) && !at.Before(midnight.AddDate(0, 0, -6)):
		return at.Format("Mon " + clock)
	case at.Year() == now.Year():
		return at.Format("2 Jan " + clock)
	}
	return at.Format("2006-01-02")
}

// Tokens formats a number of tokens, such as "184k tokens".
func Tokens(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " tokens"
	}
	return plain.Number(n/1000) + "k tokens"
}
