package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/share"
)

func unbundleCommand() *command {
	cmd := &command{
		name:    "unbundle",
		summary: "take runs out of a bundle",
		usage:   []string{"<file> [<run>...]", "<file> <run> --as NEWID"},
		about: `Takes the named runs, by their full ids, or all, out of a file that bundle made, as fetch
takes them from a remote: with the same checks, and with the same outcomes for runs that
are here already. --as takes a run under another id.`,
		minArgs: 1, maxArgs: anyNumber,
		flags:    []urfave.Flag{asFlag()},
		exits:    writes(),
		examples: []example{{"take what a bundle has", "git smithers unbundle runs.bundle"}},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		file, runs, as := c.Args().First(), c.Args().Tail(), c.String("as")
		if c.IsSet("as") && (as == "" || len(runs) != 1) {
			return cmd.misused("--as takes one run under another id: name the file and the run")
		}
		return s.withSharer(ctx, func(sharer *share.Sharer) error {
			fetched, err := sharer.UnbundleAs(ctx, s.path(file), as, runs...)
			if fetched != nil {
				fetched.Remote = file
			}
			return s.tellFetched(ctx, "unbundle", fetched, err)
		})
	}
	return cmd
}
