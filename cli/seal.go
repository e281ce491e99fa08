package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
)

// sealDocument is what seal prints with --json.
type sealDocument struct {
	Kind string `json:"kind"`
	*timeline.Sealed
}

func sealCommand() *command {
	return &command{
		name:    "seal",
		summary: "pack runs that have ended, and drop their frame refs",
		usage:   []string{"[<run>...]"},
		about: `Packs the named runs, or all that have ended, and drops the refs of their frames. The
runs keep their tips, and every frame is still found as <run>:<frame>. Frame refs cost
everybody a little at each fetch and push, tips hardly anything. To have git's own
commands find the frames again, unseal the run.

Runs are packed when they end, and the oldest lose their frame refs where there are
more than smithers.frameRefs. Set smithers.seal to false to leave both to this command.`,
		maxArgs: anyNumber,
		changes: true,
		exits:   writes(),
		examples: []example{
			{"seal all runs that have ended", "git smithers seal"},
			{"seal one run", "git smithers seal triage-1"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			return s.withStore(ctx, func(store *timeline.Store) error { return runSeal(ctx, s, store, c.Args().Slice()) })
		},
	}
}

// runSeal seals runs and says what that did.
func runSeal(ctx context.Context, s *session, store *timeline.Store, runs []string) error {
	sealed, err := store.Seal(ctx, runs...)
	if err != nil {
		return err
	}
	if s.json {
		return s.writeJSON(sealDocument{"seal", sealed})
	}
	var b strings.Builder
	for _, run := range sealed.Runs {
		fmt.Fprintf(&b, "sealed %s: dropped %s\n", plain(run.RunID), plural(run.FrameRefs, "frame ref"))
	}
	if sealed.BytesBefore > 0 {
		fmt.Fprintf(&b, "packed: %s instead of %s\n", sizeText(sealed.BytesAfter), sizeText(sealed.BytesBefore))
	}
	if len(sealed.Runs) == 0 && s.outTTY {
		s.note("no run that has ended has frame refs")
	}
	return s.printf("%s", b.String())
}
