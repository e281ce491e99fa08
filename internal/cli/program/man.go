package program

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// manCommand returns the hidden command that prints the man page. The Makefile installs this man page, because git
// shows it for "git smithers --help". tree returns the root of all commands.
func manCommand(tree func() *arg.Command) *arg.Command {
	return &arg.Command{
		Name:    "man",
		Summary: "print the man page in roff",
		Hidden:  true,
		Run: func(_ context.Context, s *session.Session, _ *urfave.Context) error {
			return arg.WriteMan(s.Out, tree())
		},
	}
}
