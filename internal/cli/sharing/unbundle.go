package sharing

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

func unbundleCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "unbundle",
		Summary: "read runs from a bundle",
		Usage:   []string{"<file> [<run>...]", "<file> <run> --as NEWID"},
		About: `Reads the named runs, by their full ids, or all runs, from a file made by bundle. unbundle
makes the same checks as fetch and treats runs that exist in this repository in the same
way. --as reads a run under another id.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags:    []urfave.Flag{asFlag()},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"read all runs of a bundle", "git smithers unbundle runs.bundle"}},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		file, runs, as := c.Args().First(), c.Args().Tail(), c.String("as")
		if c.IsSet("as") && (as == "" || len(runs) != 1) {
			return cmd.Misused("--as needs exactly one run: name the file and the run")
		}
		return withSharer(ctx, s, func(store *timeline.Store, sharer *share.Sharer) error {
			fetched, err := sharer.Unbundle(ctx, s.Path(file), as, runs...)
			if fetched != nil {
				fetched.Remote = file
			}
			return tellFetched(ctx, s, "unbundle", fetched, errors.Join(err, noteForeign(store, fetched)))
		})
	}
	return cmd
}
