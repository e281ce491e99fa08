package inspect

import (
	"cmp"
	"context"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

func branchesCommand() *arg.Command {
	return &arg.Command{
		Name:    "branches",
		Summary: "list the forks of a run",
		Usage:   []string{"<run> [--limit N] [--since TIME]"},
		About: `Lists the forks of a run, the oldest first: the id of the fork, the frame at which it was
forked, its label, the time of the fork, and its description: of a session, in what it differs. With --json, prints one object
per line.`,
		MinArgs: 1, MaxArgs: 1,
		Flags:    arg.WindowFlags("forks", "the newest", "made"),
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"list the forks of triage-1", "git smithers branches triage-1"}, {"list the other courses of the newest session", "git smithers branches @session"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			window, err := arg.ParseWindow(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runBranches(ctx, s, store, c.Args().First(), window)
			})
		},
	}
}

// runBranches prints a line for each fork of a run, the oldest first. The argument run is the id of the run or a unique
// prefix.
func runBranches(ctx context.Context, s *session.Session, store *timeline.Store, run string, window arg.Window) error {
	forks, err := list.Branches(ctx, store, run)
	if err != nil {
		return err
	}
	forks = arg.Last(window, forks, func(b list.Branch) int64 { return b.CreatedAtMs })
	if s.JSON {
		for _, branch := range forks {
			if err := s.WriteJSON(term.Document("branch", branch, agent.NameAt(branch.Head(store)))); err != nil {
				return err
			}
		}
		return nil
	}
	if len(forks) == 0 && s.OutTTY {
		s.Note("run %s has no forks", plain.Text(run))
	}
	t := term.Table{Header: []string{"RUN", "FRAME", "LABEL", "CREATED", "DESCRIPTION"}}
	for _, branch := range forks {
		created := display.ClockTime(branch.CreatedAtMs)
		if s.IsTerminalOut() {
			created = display.Ago(s.Now(), branch.CreatedAtMs)
		}
		t.Add(
			term.Cell{Text: branch.RunID}, term.Cell{Text: strconv.FormatInt(branch.ParentFrameNo, 10)},
			term.Cell{Text: display.OrEmpty(branch.BranchLabel)}, term.Cell{Text: created}, term.Cell{Text: cmp.Or(display.OrEmpty(branch.ForkDescription), agent.NameAt(branch.Head(store)).Text())},
		)
	}
	return t.Write(s.Terminal)
}
