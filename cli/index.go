package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// indexDocument is what doctor --rebuild-index prints with --json.
type indexDocument struct {
	Kind    string `json:"kind"`
	Runs    int    `json:"runs"`
	Entries int    `json:"entries"`
	Frames  int    `json:"frames"`
}

func indexCommand() *command {
	return &command{
		name:     "index",
		summary:  "look after the index of runs and frames",
		hidden:   true,
		usage:    []string{"<command>"},
		about:    becameFlag("doctor --rebuild-index"),
		children: []*command{indexRebuildCommand()},
	}
}

func indexRebuildCommand() *command {
	return &command{
		name:     "rebuild",
		summary:  "drop the index and read it again from the refs",
		about:    becameFlag("doctor --rebuild-index"),
		exits:    writes(),
		examples: []example{{"make the index anew", "git smithers doctor --rebuild-index"}},
		run: func(ctx context.Context, s *session, _ *urfave.Context) error {
			return s.withStore(ctx, func(store *timeline.Store) error { return runIndexRebuild(ctx, s, store) })
		},
	}
}

// runIndexRebuild makes the index anew and says what is in it.
func runIndexRebuild(ctx context.Context, s *session, store *timeline.Store) error {
	bar := s.Progress("indexing")
	stats, err := store.RebuildIndex(ctx, bar.Update)
	bar.Finish()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(indexDocument{"index", stats.Runs, stats.Entries, stats.Frames})
	}
	return s.Printf("indexed %s, %s, %s\n", plain.Count(stats.Runs, "run"), entries(stats.Entries), plain.Count(stats.Frames, "frame"))
}

// entries is a number of entries.
func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return plain.Count(n, "entrie")
}
