package upkeep

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/timeline"
)

// indexDocument is the document of doctor --rebuild-index --json.
type indexDocument struct {
	Kind    string `json:"kind"`
	Runs    int    `json:"runs"`
	Entries int    `json:"entries"`
	Frames  int    `json:"frames"`
}

func indexCommand() *arg.Command {
	return &arg.Command{
		Name:     "index",
		Summary:  "rebuild the index of runs and frames",
		Hidden:   true,
		Usage:    []string{"<command>"},
		About:    arg.BecameFlag("doctor --rebuild-index"),
		Children: []*arg.Command{indexRebuildCommand()},
	}
}

func indexRebuildCommand() *arg.Command {
	return &arg.Command{
		Name:     "rebuild",
		Summary:  "rebuild the index from the refs",
		About:    arg.BecameFlag("doctor --rebuild-index"),
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"rebuild the index", "git smithers doctor --rebuild-index"}},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runIndexRebuild(ctx, s, store) })
		},
	}
}

// runIndexRebuild rebuilds the index, deletes that of texts, which the next search makes anew, and prints how many runs, entries and frames it has.
func runIndexRebuild(ctx context.Context, s *session.Session, store *timeline.Store) error {
	if err := search.Remove(ctx, store); err != nil {
		return err
	}
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

// entries returns n and the noun: "1 entry", "2 entries".
func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return plain.Count(n, "entrie") // plain.Count adds the s
}
