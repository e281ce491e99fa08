package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func diffCommand() *command {
	cmd := &command{
		name:    "diff",
		summary: "show how two frames differ, in state or in code",
		usage: []string{
			"[<workflow>] <run>[:<frame>] [<run>[:<frame>]] [--full]",
			"--code [--stat] [--worktree TASK] [<workflow>] <run>[:<frame>] [<run>[:<frame>]] [[--] <path>...]",
		},
		about: `Compares nodes, output rows, loops, input, and the revision of the working copy, and
counts the files and lines that differ. A bare run is its newest state. The two frames
may belong to different runs. One frame alone is compared with the frame before it, so
that its own changes are shown. A workflow file in front is accepted, as other tools give
one, and is not read: a first argument that is the name of a file is one, unless it is the
only argument.

With --code, shows how the files differ: git diff does it, with your pager, colours and
diff settings. Paths are as for git diff.`,
		minArgs: 1, maxArgs: anyNumber,
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
			{"see what frame 7 changed", "git smithers diff triage-1:7"},
			{"see which code it changed", "git smithers diff --code triage-1:7"},
			{"see what came between two frames", "git smithers diff triage-1:2 triage-1:7"},
			{"compare the newest state of a run with that of its fork", "git smithers diff triage-1 kx2m4abc"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		args := s.withoutWorkflow(c.Args().Slice())
		formats := codeDiffFormats(c)
		if !c.Bool("code") {
			switch {
			case c.IsSet("worktree"):
				return cmd.misused("--worktree goes with --code")
			case len(formats) > 0:
				return cmd.misused("%s goes with --code", formats[0])
			case len(args) > 2:
				return cmd.misused("diff compares two frames, got %d arguments: %q is no workflow file, and %q is one too many",
					len(args), args[0], args[2])
			}
		}
		return s.withStore(ctx, func(store *timeline.Store) error {
			if c.Bool("code") {
				return runCodeDiff(ctx, s, store, args, codeDiffOptions{c.String("worktree"), formats})
			}
			two, err := loadSides(ctx, store, args)
			if err != nil {
				return err
			}
			return runDiff(ctx, s, store, two, c.Bool("full"))
		})
	}
	return cmd
}

// withoutWorkflow leaves out a workflow file in front of addresses. Of two arguments, the first is one if a file has that
// name; of more, also if it ends as those of workflows do. Which it is, is told if the name is not that of a workflow.
func (s *session) withoutWorkflow(args []string) []string {
	switch {
	case len(args) < 2 || !s.isFile(args[0]) && (len(args) == 2 || !isWorkflowName(args[0])):
		return args
	case !isWorkflowName(args[0]):
		s.Note("%s is a file here, so it is taken for a workflow and not for a run; <run>:<frame> names a frame", plain.Text(args[0]))
	}
	return args[1:]
}

// A comparison is the two sides of a diff. from is nil for what comes before a run's first frame.
type comparison struct{ from, to *timeline.Loaded }

// loadSides loads two addresses, or one and the frame before it.
func loadSides(ctx context.Context, store *timeline.Store, addresses []string) (two comparison, err error) {
	if two.to, err = store.Load(ctx, addresses[len(addresses)-1]); err != nil {
		return two, err
	}
	if len(addresses) > 1 {
		two.from, err = store.Load(ctx, addresses[0])
	} else {
		two.from, err = code.Before(ctx, store, two.to)
	}
	return two, err
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
	Kind string  `json:"kind"`
	From *string `json:"from"` // nil: nothing comes before the run's first frame
	To   string  `json:"to"`
	*diff.Result
	// Files counts what differs of the files; left out if they are the same, or were not captured.
	Files []code.FileChanges `json:"files,omitempty"`
}

// runDiff compares two frames.
func runDiff(ctx context.Context, s *session, store *timeline.Store, two comparison, full bool) error {
	result, err := two.states()
	if err != nil {
		return err
	}
	files, err := two.countFiles(ctx, store)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the state is shown without the files
		s.Warn(fmt.Errorf("how the files differ is not known: %w", err))
	}
	if s.JSON {
		return s.WriteJSON(diffDocument{"diff", two.fromAddress(), addressOf(two.to), result, files})
	}
	return s.Paged(ctx, func() error {
		if !result.Empty() || len(files) == 0 {
			if err := result.Render(s.Out, diff.RenderOptions{Colors: s.painter(ctx).On(), Full: full}); err != nil {
				return err
			}
		}
		return s.printFileChanges(ctx, two, files)
	})
}

// fromAddress returns the address of the first side, or nil if the run has no frame before.
func (c comparison) fromAddress() *string {
	if c.from == nil {
		return nil
	}
	return new(addressOf(c.from))
}

// countFiles counts what differs of the files; nothing if there is no first side.
func (c comparison) countFiles(ctx context.Context, store *timeline.Store) ([]code.FileChanges, error) {
	if c.from == nil {
		return nil, nil
	}
	return code.CompareFiles(ctx, store, c.from.Entry, c.to.Entry)
}

// printFileChanges says how many files and lines differ, and what shows them.
func (s *session) printFileChanges(ctx context.Context, two comparison, files []code.FileChanges) error {
	if len(files) == 0 {
		return nil
	}
	p := s.painter(ctx)
	var text strings.Builder
	text.WriteString("Files changed:\n")
	for _, f := range files {
		text.WriteString(p.Paint(term.Yellow, fmt.Sprintf("  ~ %s, +%d -%d", plain.Count(f.Files, "file"), f.Added, f.Removed)))
		text.WriteString(fileChangesOf(f, addressOf(two.from), addressOf(two.to)) + "\n")
	}
	return s.Printf("%s", text.String())
}

// addressOf is the address of what was loaded: of a tip that is no frame, the run alone.
func addressOf(at *timeline.Loaded) string {
	if at.Entry.Frame == snapshot.NoFrame {
		return at.Address.Run
	}
	return at.Address.String()
}

// states compares the states.
func (c comparison) states() (*diff.Result, error) {
	from := diff.Snapshot{State: snapshot.EmptyState()}
	if c.from != nil {
		var err error
		if from, err = sideOf(c.from.Entry); err != nil {
			return nil, err
		}
	}
	to, err := sideOf(c.to.Entry)
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

// fileChangesOf returns the working copy that changes are in, and the command that shows them.
func fileChangesOf(f code.FileChanges, from, to string) string {
	if f.Began {
		return ", in the worktree of " + plain.Text(f.Worktree) + " since it was made"
	}
	args := []string{"diff", "--code"}
	where := ""
	if f.Worktree != "" {
		args, where = append(args, "--worktree", f.Worktree), ", in the worktree of "+plain.Text(f.Worktree)
	}
	return where + "; `" + fault.CommandLine(program, append(args, from, to)...) + "` shows them"
}
