package arg

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// IterationFlag returns the flag --iteration, for a command that takes the newest iteration if the flag is not given.
func IterationFlag() urfave.Flag {
	return &urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0 (default: the newest)"}
}

// PlaceFlags returns the flags --node and --iteration, which name one node of a run. The flag --node means the same as
// a second argument; it exists because Smithers has the same flag.
func PlaceFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "node", Aliases: []string{"n"}, Usage: "the node `ID`, in place of the second argument"}, IterationFlag(),
	}
}

// WhoFlag returns the flag --by for a command that records who called it.
func WhoFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "by", Usage: "record the name `WHO` (default: git's user.name; '' for no name)"}
}

// ParseIteration returns the number of the flag --iteration, or nil if the flag was not given. The error is usage if
// the number is negative.
func ParseIteration(c *urfave.Context) (*int, error) {
	if !c.IsSet("iteration") {
		return nil, nil
	}
	n := c.Int("iteration")
	if n < 0 {
		return nil, fault.New(fault.Usage, "--iteration cannot be %d", n).Hint("use a number from 0")
	}
	return &n, nil
}

// ParsePlace returns the node that the second argument or --node names, and the iteration that --iteration names. If
// the command line names no node, the node is "". If it names no iteration, the iteration is nil. The error is usage if
// --node is empty or differs from the argument, or if the iteration is negative.
func ParsePlace(c *urfave.Context) (mailbox.Place, error) {
	node := c.Args().Get(1)
	if c.IsSet("node") {
		named := c.String("node")
		if named == "" {
			return mailbox.Place{}, fault.New(fault.Usage, "--node cannot be empty").
				Hint("leave out --node if the run has only one open request")
		}
		if c.NArg() > 1 && node != named {
			return mailbox.Place{}, fault.New(fault.Usage, "the command has two nodes: the argument %q and --node %q", node, named).
				Hint("name the node once")
		}
		node = named
	}
	iteration, err := ParseIteration(c)
	return mailbox.Place{Node: node, Iteration: iteration}, err
}

// Who returns the name of the user who called the command. by is the result of ParseWho. If by is nil, the name is
// git's user.name. Otherwise the name is *by, which may be "".
func Who(by *string, store *timeline.Store) string {
	if by != nil {
		return *by
	}
	return timeline.UserName(store)
}

// ParseWho returns the value of the flag --by, or nil if the flag was not given.
func ParseWho(c *urfave.Context) *string {
	if !c.IsSet("by") {
		return nil
	}
	return new(c.String("by"))
}
