package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func diffCommand() *command {
	return &command{
		name:    "diff",
		summary: "show how the state of two frames differs",
		usage:   []string{"[<workflow>] <run>[:<frame>] <run>[:<frame>] [--full]"},
		about: `Compares nodes, output rows, loops, input, and the revision of the working copy. A
bare run is its newest state. The two frames may belong to different runs. A workflow
file in front is accepted, as other tools give one, and is not read.`,
		minArgs: 2, maxArgs: 3,
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "show long values whole"},
		},
		exits: reads(),
		examples: []example{
			{"see what frame 7 changed", "git smithers diff triage-1:6 triage-1:7"},
			{"compare the newest state of a run with that of its fork", "git smithers diff triage-1 kx2m4abc"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			args := c.Args().Slice()
			args = args[len(args)-2:]
			return s.withStore(ctx, func(store *timeline.Store) error {
				return runDiff(ctx, s, store, args[0], args[1], c.Bool("full"))
			})
		},
	}
}

// diffDocument is what diff prints with --json: Smithers' shape, and what was compared.
type diffDocument struct {
	Kind string `json:"kind"`
	From string `json:"from"`
	To   string `json:"to"`
	*diff.Result
}

// runDiff compares two frames.
func runDiff(ctx context.Context, s *session, store *timeline.Store, from, to string, full bool) error {
	a, err := store.Load(ctx, from)
	if err != nil {
		return err
	}
	b, err := store.Load(ctx, to)
	if err != nil {
		return err
	}
	result, err := compare(a.Entry, b.Entry)
	if err != nil {
		return err
	}
	if s.json {
		return s.writeJSON(diffDocument{"diff", a.Address.String(), b.Address.String(), result})
	}
	return s.paged(ctx, func() error {
		return result.Render(s.Out, diff.RenderOptions{Colors: s.painter(ctx).on, Full: full})
	})
}

func compare(a, b *snapshot.Entry) (*diff.Result, error) {
	from, err := sideOf(a)
	if err != nil {
		return nil, err
	}
	to, err := sideOf(b)
	if err != nil {
		return nil, err
	}
	return diff.Snapshots(from, to)
}

// sideOf is an entry as one side of a comparison.
func sideOf(entry *snapshot.Entry) (diff.Snapshot, error) {
	state, err := entry.State()
	if err != nil {
		return diff.Snapshot{}, err
	}
	vcs, err := entry.VCSRevision()
	return diff.Snapshot{State: state, VCS: vcs}, err
}
