package upkeep

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// unsealDocument is the document of seal --undo --json.
type unsealDocument struct {
	Kind string               `json:"kind"`
	Runs []timeline.SealedRun `json:"runs"`
}

func unsealCommand() *arg.Command {
	return &arg.Command{
		Name:    "unseal",
		Summary: "make the frame refs of sealed runs again",
		Hidden:  true,
		Usage:   []string{"<run>..."},
		About:   arg.BecameFlag("seal --undo"),
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Changes:  true,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"look at a frame of a sealed run with plain git", "git smithers seal --undo triage-1 && git show refs/smithers/triage-1/7"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runUnseal(ctx, s, store, c.Args().Slice()) })
		},
	}
}

// runUnseal makes the frame refs of sealed runs again, and prints how many refs it has made for each run.
func runUnseal(ctx context.Context, s *session.Session, store *timeline.Store, runs []string) error {
	unsealed, err := timeline.Unseal(ctx, store, runs...)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(unsealDocument{"unseal", unsealed.Runs})
	}
	var b strings.Builder
	for _, run := range unsealed.Runs {
		fmt.Fprintf(&b, "unsealed %s: made %s\n", plain.Text(run.RunID), plain.Count(run.FrameRefs, "frame ref"))
	}
	return s.Printf("%s", b.String())
}
