package arg

import (
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// leastMoment is the smallest number that is a time in milliseconds since 1970: 9 September 2001 in milliseconds. A smaller number is
// most likely meant as seconds, or as something else.
const leastMoment = 1_000_000_000_000

// ParseMoment reads a time on the command line, and returns it in milliseconds since 1970. text may be a time in RFC
// 3339, a date, which begins at midnight in the zone of now, milliseconds since 1970 or, before now, a duration, or a number of days (7d)
// or weeks (1w). The error is usage for any other text. flag is the name of the flag, for the message of the error.
func ParseMoment(now time.Time, flag, text string) (int64, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMilli(), nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at.UnixMilli(), nil
	}
	refused := fault.New(fault.Usage, "--%s cannot be %q", flag, text)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		if ms > 0 && ms < leastMoment {
			return 0, refused.Hint("a number is milliseconds since 1970; how long ago needs a unit: 5m, 5h, 5d, 5w")
		}
		return ms, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixMilli(), nil
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		number, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.ParseUint(number, 10, 16); ok && err == nil {
			return now.AddDate(0, 0, -int(n)*days).UnixMilli(), nil
		}
	}
	return 0, refused.Hint("use a date such as 2026-11-20, a time such as 2026-11-20T17:47:44Z, milliseconds since 1970, or how long ago: 10m, 2h30m, 7d, 1w")
}

// SinceFlag returns the flag --since for a command that lists. usage is the beginning of the text that help shows for the
// flag.
func SinceFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "since", Usage: usage + ": a date, a time, or how long ago (90m, 7d, 1w)"}
}

// ParseSince returns the time of --since in milliseconds since 1970, or 0 if the flag was not given. The error is usage if
// the time is invalid.
func ParseSince(s *session.Session, c *urfave.Context) (int64, error) {
	if !c.IsSet("since") {
		return 0, nil
	}
	return ParseMoment(s.Now(), "since", c.String("since"))
}
