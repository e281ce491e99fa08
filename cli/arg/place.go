package arg

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// IterationFlag is --iteration of the commands that take the newest one else.
func IterationFlag() urfave.Flag {
	return &urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0; without it, the newest"}
}

// PlaceFlags are the flags of the commands that are about one node of a run. Smithers has --node alone.
func PlaceFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "node", Aliases: []string{"n"}, Usage: "the node is `ID`, as with a second argument"}, IterationFlag(),
	}
}

// WhoFlag is --by of the commands that keep who called them.
func WhoFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "by", Usage: "record that `WHO` did it; without it, git's user.name; with '', no name"}
}

// ParseIteration reads --iteration; nil when it was not given.
func ParseIteration(c *urfave.Context) (*int, error) {
	if !c.IsSet("iteration") {
		return nil, nil
	}
	n := c.Int("iteration")
	if n < 0 {
		return nil, fault.New(fault.Usage, "--iteration does not take %d", n).Hint("iterations are counted from 0")
	}
	return &n, nil
}

// ParsePlace reads which node is meant: by the second argument, by --node, or by both where they say the same.
func ParsePlace(c *urfave.Context) (mailbox.Place, error) {
	node := c.Args().Get(1)
	if c.IsSet("node") {
		named := c.String("node")
		if named == "" {
			return mailbox.Place{}, fault.New(fault.Usage, "--node does not take an empty name").
				Hint("without a node, it is the only one that is open")
		}
		if c.NArg() > 1 && node != named {
			return mailbox.Place{}, fault.New(fault.Usage, "two nodes are named: %q, and %q by --node", node, named).Hint("name one")
		}
		node = named
	}
	iteration, err := ParseIteration(c)
	return mailbox.Place{Node: node, Iteration: iteration}, err
}

// Who is a person that --by names, and git's user.name where it was not given (nil).
func Who(by *string, store *timeline.Store) string {
	if by != nil {
		return *by
	}
	return timeline.UserName(store)
}

// ParseWho reads --by; nil when it was not given.
func ParseWho(c *urfave.Context) *string {
	if !c.IsSet("by") {
		return nil
	}
	return new(c.String("by"))
}
