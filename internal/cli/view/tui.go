// Package view has the commands that show runs in another program, git-smithers-desk.
package view

import (
	"context"
	"os"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// TUI returns the command tui.
func TUI() *arg.Command {
	cmd := &arg.Command{
		Name:    "tui",
		Summary: "look at runs in a view that moves along with them",
		Usage:   []string{"[<run>[:<frame>]]"},
		About: `Shows the runs of this repository at the terminal, until you leave with q: the list of runs;
of a run its steps, what each frame changed in state and code, logs, attempts and events; its
forks as a tree. What runs meanwhile, here or in another terminal, moves along.

Keys that change something show the command that they stand for before it runs. The command
asks at the terminal what it always asks. ? lists the keys.

The view is in a second program, git-smithers-desk, which is installed beside git-smithers.`,
		MaxArgs: 1,
		Exits:   arg.Reads(),
		Examples: []arg.Example{
			{"look at the runs", "git smithers tui"},
			{"look at a run", "git smithers tui triage-1"},
			{"look at a frame", "git smithers tui triage-1:7"},
		},
	}
	cmd.Run = func(_ context.Context, s *session.Session, c *urfave.Context) error {
		if s.JSON {
			return cmd.Misused("tui shows runs to people: --json is for `git smithers runs` and `git smithers show`")
		}
		if !s.InTTY || !s.OutTTY {
			return fault.New(fault.Usage, "tui needs a terminal").Hint("`git smithers` and `git smithers show RUN` print the same")
		}
		if kind, _ := s.LookupEnv("TERM"); kind == "" || kind == "dumb" {
			return fault.New(fault.Usage, "tui needs a terminal whose cursor moves, and TERM is %q", kind).Hint("`git smithers` and `git smithers show RUN` print the same")
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return requests.BecomeDesk(s, append([]string{"tui", "--program", self, "--color", s.Color, "--"}, c.Args().Slice()...)...)
	}
	return cmd
}
