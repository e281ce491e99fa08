package upkeep

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// cacheTrustDocument is one line of cache trust --json.
type cacheTrustDocument struct {
	Kind    string `json:"kind"`
	RunID   string `json:"runId"`
	Added   int    `json:"added"`   // results that are used now
	Removed int    `json:"removed"` // results that are not used any more
}

func cacheTrustCommand() *arg.Command {
	return &arg.Command{
		Name:    "trust",
		Summary: "use the results of a run that another clone made",
		Usage:   []string{"<run>... [--remove]"},
		About: `Puts the results of fetched runs into the cache of this clone, so that equal tasks take them and
the files that they changed, as if the runs had worked here. Nothing is taken from a run that
you have not named: whoever made the run chose its results. A run that goes on elsewhere must
be trusted again after the next fetch.

Results with secrets, and results whose files did not come with the run, are left out. With
--remove, the results of the runs are removed from the cache.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags:   []urfave.Flag{&urfave.BoolFlag{Name: "remove", Usage: "use the results of the runs no longer"}},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"use what the build server has done", "git smithers fetch && git smithers cache trust nightly-7"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runCacheTrust(ctx, s, store, c.Args().Slice(), c.Bool("remove"))
			})
		},
	}
}

// runCacheTrust adds the results of runs to the cache, or removes them.
func runCacheTrust(ctx context.Context, s *session.Session, store *timeline.Store, runs []string, remove bool) error {
	d := requests.Open(s, store)
	for _, run := range runs {
		id, err := store.ResolveRunToChange(ctx, run)
		if err != nil {
			return err
		}
		doc := cacheTrustDocument{Kind: "cacheTrust", RunID: id}
		if remove {
			doc.Removed, err = d.DistrustResults(ctx, id)
		} else {
			doc.Added, err = d.TrustResults(ctx, id)
		}
		if err != nil {
			return err
		}
		if s.JSON {
			if err := s.WriteJSON(doc); err != nil {
				return err
			}
			continue
		}
		if remove {
			s.Note("%s of run %s removed", plain.Count(doc.Removed, "result"), plain.Text(id))
		} else {
			s.Note("%s of run %s added to the cache", plain.Count(doc.Added, "result"), plain.Text(id))
		}
	}
	return nil
}
