package program

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
)

// manCommand prints the man page, which the Makefile installs: without it,
// "git smithers --help" finds nothing, since git shows a man page for it.
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
