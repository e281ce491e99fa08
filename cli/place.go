package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// iterationFlag is --iteration of the commands that take the newest one else.
func iterationFlag() urfave.Flag {
	return &urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0; without it, the newest"}
}

// placeFlags are the flags of the commands that are about one node of a run. Smithers has --node alone.
func placeFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "node", Aliases: []string{"n"}, Usage: "the node is `ID`, as with a second argument"}, iterationFlag(),
	}
}

// whoFlag is --by of the commands that keep who called them.
func whoFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "by", Usage: "keep that it was `WHO`; without it, git's user.name; with '', nobody"}
}

// parseIteration reads --iteration; nil when it was not given.
func parseIteration(c *urfave.Context) (*int, error) {
	if !c.IsSet("iteration") {
		return nil, nil
	}
	n := c.Int("iteration")
	if n < 0 {
		return nil, fault.New(fault.Usage, "--iteration does not take %d", n).Hint("iterations are counted from 0")
	}
	return &n, nil
}

// parsePlace reads which node is meant: by the second argument, by --node, or by both where they say the same.
func parsePlace(c *urfave.Context) (mailbox.Place, error) {
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
	iteration, err := parseIteration(c)
	return mailbox.Place{Node: node, Iteration: iteration}, err
}

// who is a person that --by names, and git's user.name where it was not given (nil).
func who(by *string, store *timeline.Store) string {
	if by != nil {
		return *by
	}
	return store.UserName()
}

// parseWho reads --by; nil when it was not given.
func parseWho(c *urfave.Context) *string {
	if !c.IsSet("by") {
		return nil
	}
	return new(c.String("by"))
}

// noteWhoGoesOn tells what happens to a run now that it has what it waited for.
func (s *session) noteWhoGoesOn(store *timeline.Store, head *timeline.Head, running bool) {
	row := head.Row()
	id := plain.Text(row.ID)
	switch {
	case running:
		s.Note("the process that runs %s goes on", id)
	case row.Status == snapshot.RunFinished:
		s.Note("run %s has finished: nothing waits for it", id)
	case row.Status.Ended():
		s.Note("run %s is %s, and keeps this for `%s resume %s`", id, plain.Text(string(row.Status)), program, fault.Word(row.ID))
	default:
		next, err := app.NextCommand(head, ", or a supervisor, goes on"+s.inOwnWorktree(store, head))
		if err != nil {
			s.Warn(err)
			return
		}
		s.Note("%s", next)
	}
}
