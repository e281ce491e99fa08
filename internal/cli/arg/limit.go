package arg

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// LimitFlag returns the flag --limit for a command that lists. preset is the default value of the flag. usage is the
// text that help shows for the flag.
func LimitFlag(preset int, usage string) urfave.Flag {
	return &urfave.IntFlag{Name: "limit", Value: preset, Usage: usage}
}

// ParseLimit returns the number of --limit, or its default if the flag was not given. The error is usage if the number
// is below 1.
func ParseLimit(c *urfave.Context) (int, error) {
	n := c.Int("limit")
	if c.IsSet("limit") && n < 1 {
		return 0, fault.New(fault.Usage, "--limit cannot be %d", n).Hint("use a number from 1")
	}
	return n, nil
}
