package arg

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// LimitFlag returns the flag --limit for a command that lists. preset is its default.
func LimitFlag(preset int, usage string) urfave.Flag {
	return &urfave.IntFlag{Name: "limit", Value: preset, Usage: usage}
}

// ParseLimit reads --limit. The error is usage if the number is below 1.
func ParseLimit(c *urfave.Context) (int, error) {
	n := c.Int("limit")
	if c.IsSet("limit") && n < 1 {
		return 0, fault.New(fault.Usage, "--limit cannot be %d", n).Hint("use a number from 1")
	}
	return n, nil
}
