package arg

import (
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ParseMoment reads a time on the command line, and returns it in milliseconds since 1970. text may be a time in RFC
// 3339, milliseconds since 1970, or a duration before now. The error is usage for any other text. flag is the name of
// the flag, for the message of the error.
func ParseMoment(now time.Time, flag, text string) (int64, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UnixMilli(), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixMilli(), nil
	}
	return 0, fault.New(fault.Usage, "--%s cannot be %q", flag, text).
		Hint("use a time such as 2026-11-20T17:47:44Z, milliseconds since 1970, or how long ago: 10m, 2h30m")
}

// SinceFlag returns the flag --since for a command that lists. usage is the beginning of the text that help shows for the
// flag.
func SinceFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "since", Usage: usage + ": RFC 3339, milliseconds since 1970, or how long ago"}
}

// ParseSince returns the time of --since in milliseconds since 1970, or 0 if the flag was not given. The error is usage if
// the time is invalid.
func ParseSince(s *session.Session, c *urfave.Context) (int64, error) {
	if !c.IsSet("since") {
		return 0, nil
	}
	return ParseMoment(s.Now(), "since", c.String("since"))
}
