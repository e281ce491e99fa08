package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func diffCommand() *command {
	cmd := &command{
		name:    "diff",
		summary: "show how two frames differ, in state or in code",
		usage: []string{
			"[<workflow>] <run>[:<frame>] <run>[:<frame>] [--full]",
			"--code [--stat] [--worktree TASK] <run>[:<frame>] <run>[:<frame>] [[--] <path>...]",
		},
		about: `Compares nodes, output rows, loops, input, and the revision of the working copy. A
bare run is its newest state. The two frames may belong to different runs. A workflow
file in front is accepted, as other tools give one, and is not read.

With --code, shows how the files differ: git diff does it, with your pager, colours and
diff settings. Paths are as for git diff.`,
		minArgs: 2, maxArgs: anyNumber,
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "show long values whole"},
			&urfave.BoolFlag{Name: "code", Usage: "show how the files differ"},
			&urfave.StringFlag{Name: "worktree", Usage: "with --code: compare the worktrees of `TASK`"},
			&urfave.BoolFlag{Name: "stat", Usage: "with --code: show how many lines of which file"},
			&urfave.BoolFlag{Name: "name-only", Usage: "with --code: show the names of the files"},
			&urfave.BoolFlag{Name: "name-status", Usage: "with --code: show the names, and what became of them"},
		},
		exits: reads(),
		examples: []example{
			{"see what frame 7 changed", "git smithers diff triage-1:6 triage-1:7"},
			{"see which code it changed", "git smithers diff --code triage-1:6 triage-1:7"},
			{"compare the newest state of a run with that of its fork", "git smithers diff triage-1 kx2m4abc"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		args := c.Args().Slice()
		formats := codeDiffFormats(c)
		switch {
		case c.Bool("code"):
			opts := codeDiffOptions{
				from: args[0], to: args[1], worktree: c.String("worktree"), paths: args[2:], formats: formats,
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runCodeDiff(ctx, s, store, opts) })
		case c.IsSet("worktree"):
			return cmd.misused("--worktree goes with --code")
		case len(formats) > 0:
			return cmd.misused("%s goes with --code", formats[0])
		case len(args) > 3:
			return cmd.misused("diff takes at most 3 arguments, got %d: %q is one too many", len(args), args[3])
		}
		args = args[len(args)-2:]
		return s.withStore(ctx, func(store *timeline.Store) error {
			return runDiff(ctx, s, store, args[0], args[1], c.Bool("full"))
		})
	}
	return cmd
}

// codeDiffFormats are the options of git diff that diff --code passes on.
func codeDiffFormats(c *urfave.Context) []string {
	var formats []string
	for _, name := range []string{"stat", "name-only", "name-status"} {
		if c.Bool(name) {
			formats = append(formats, "--"+name)
		}
	}
	return formats
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
		return s.writeJSON(diffDocument{"diff", addressOf(a), addressOf(b), result})
	}
	return s.paged(ctx, func() error {
		return result.Render(s.Out, diff.RenderOptions{Colors: s.painter(ctx).on, Full: full})
	})
}

// addressOf is the address of what was loaded: of a tip that is no frame, the run alone.
func addressOf(at *timeline.Loaded) string {
	if at.Entry.Frame == snapshot.NoFrame {
		return at.Address.Run
	}
	return at.Address.String()
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
