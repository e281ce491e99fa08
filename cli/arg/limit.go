package arg

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// LimitFlag returns --limit of the commands that list.
func LimitFlag(preset int, usage string) urfave.Flag {
	return &urfave.IntFlag{Name: "limit", Value: preset, Usage: usage}
}

// ParseLimit reads --limit, which must be at least 1.
func ParseLimit(c *urfave.Context) (int, error) {
	n := c.Int("limit")
	if c.IsSet("limit") && n < 1 {
		return 0, fault.New(fault.Usage, "--limit cannot be %d", n).Hint("use a number from 1")
	}
	return n, nil
}
