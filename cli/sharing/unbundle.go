package sharing

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline/share"
)

func unbundleCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "unbundle",
		Summary: "take runs out of a bundle",
		Usage:   []string{"<file> [<run>...]", "<file> <run> --as NEWID"},
		About: `Takes the named runs, by their full ids, or all, out of a file that bundle made, as fetch
takes them from a remote: with the same checks, and with the same outcomes for runs that
are here already. --as takes a run under another id.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags:    []urfave.Flag{asFlag()},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"take what a bundle has", "git smithers unbundle runs.bundle"}},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		file, runs, as := c.Args().First(), c.Args().Tail(), c.String("as")
		if c.IsSet("as") && (as == "" || len(runs) != 1) {
			return cmd.Misused("--as takes one run under another id: name the file and the run")
		}
		return withSharer(ctx, s, func(sharer *share.Sharer) error {
			fetched, err := sharer.UnbundleAs(ctx, s.Path(file), as, runs...)
			if fetched != nil {
				fetched.Remote = file
			}
			return tellFetched(ctx, s, "unbundle", fetched, err)
		})
	}
	return cmd
}
