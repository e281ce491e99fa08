package upkeep

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// sealDocument is the document of seal --json.
type sealDocument struct {
	Kind string `json:"kind"`
	*timeline.SealResult
}

func sealCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "seal",
		Summary: "pack ended runs and delete their frame refs",
		Usage:   []string{"[<run>...]", "--undo <run>..."},
		About: `Packs the named runs, or all ended runs, and deletes the refs of their frames. The runs keep
their tips, and <run>:<frame> still finds every frame. Each frame ref slows down every fetch
and push a little; tips cost almost nothing. git's own commands, such as git show
refs/smithers/<run>/<frame>, need the refs: --undo makes them again. They stay until more
runs end and the number of refs exceeds smithers.frameRefs.

Every run is packed when it ends, and the oldest runs lose their frame refs when the number
of refs exceeds smithers.frameRefs. Set smithers.seal to false to do both only with seal.`,
		MaxArgs: arg.AnyNumber,
		Flags:   []urfave.Flag{&urfave.BoolFlag{Name: "undo", Usage: "make the frame refs of the named runs again"}},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"seal all ended runs", "git smithers seal"},
			{"seal one run", "git smithers seal triage-1"},
			{"look at a frame of a sealed run with plain git", "git smithers seal --undo triage-1 && git show refs/smithers/triage-1/7"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		job, runs := runSeal, c.Args().Slice()
		if c.Bool("undo") {
			if len(runs) == 0 {
				return cmd.Misused("--undo needs a run")
			}
			job = runUnseal
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return job(ctx, s, store, runs) })
	}
	return cmd
}

// runSeal seals the given runs or, if runs is empty, all ended runs: it drops their frame refs and packs their objects.
// It prints a line for each sealed run, and a line with the size before and after.
func runSeal(ctx context.Context, s *session.Session, store *timeline.Store, runs []string) error {
	sealed, err := timeline.Seal(ctx, store, runs...)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(sealDocument{"seal", sealed})
	}
	var b strings.Builder
	for _, run := range sealed.Runs {
		fmt.Fprintf(&b, "sealed %s: dropped %s\n", plain.Text(run.RunID), plain.Count(run.FrameRefs, "frame ref"))
	}
	if sealed.BytesBefore > 0 {
		fmt.Fprintf(&b, "packed: %s instead of %s\n", display.Size(sealed.BytesAfter), display.Size(sealed.BytesBefore))
	}
	if len(sealed.Runs) == 0 && s.OutTTY {
		s.Note("nothing to seal: no ended run has frame refs")
	}
	return s.Printf("%s", b.String())
}
