package inspect

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/compare"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func diffCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "diff",
		Summary: "compare two frames, in state or in code",
		Usage: []string{
			"[<workflow>] <run>[:<frame>] [<run>[:<frame>]] [--full] [--side-by-side]",
			"--code [--stat] [--worktree TASK] [<workflow>] <run>[:<frame>] [<run>[:<frame>]] [[--] <path>...]",
			"--align <run> <run> [--full]",
		},
		About: `Compares nodes, output rows, loops, input, and the revision of the working copy, and counts
changed files and lines, tool calls and scores. A run without a frame stands for its newest state. The two frames
may belong to different runs. A single frame is compared with the frame before it. A
workflow file before the run is accepted for compatibility and is not read: if there are
several arguments and the first is the name of a file, it is the workflow.

--code compares the files with git diff, with your pager, colours and diff settings. Paths
have the same meaning as for git diff.

--align compares two runs step by step. It matches steps by task and iteration, and tool
calls by the tool and its input. A line begins with ~ if the step or call had another
outcome, with - if only the first run has it, and with + if only the second has it. Other
lines are equal; many equal lines are one line, unless --full is given.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "show long values in full"},
			&urfave.BoolFlag{Name: "side-by-side", Aliases: []string{"y"}, Usage: "show the values before and after beside each other"},
			&urfave.BoolFlag{Name: "align", Usage: "compare two runs step by step"},
			&urfave.BoolFlag{Name: "code", Usage: "compare the files with git diff"},
			&urfave.StringFlag{Name: "worktree", Usage: "with --code: compare the worktrees of `TASK`"},
			&urfave.BoolFlag{Name: "stat", Usage: "with --code: show the changed lines of each file as numbers"},
			&urfave.BoolFlag{Name: "name-only", Usage: "with --code: show only the names of changed files"},
			&urfave.BoolFlag{Name: "name-status", Usage: "with --code: show the names and the kind of change"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see the changes of frame 7", "git smithers diff triage-1:7"},
			{"see the code changes of frame 7", "git smithers diff --code triage-1:7"},
			{"see the changes between two frames", "git smithers diff triage-1:2 triage-1:7"},
			{"compare the newest state of a run with that of its fork", "git smithers diff triage-1 kx2m4abc"},
			{"see why one run passed and another failed", "git smithers diff --align triage-1 kx2m4abc"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		args := withoutWorkflow(s, c.Args().Slice())
		formats := codeDiffFormats(c)
		if c.Bool("align") {
			switch {
			case c.Bool("code"):
				return cmd.Misused("--align and --code do not go together")
			case len(args) != 2:
				return cmd.Misused("diff --align needs two runs, got %s", plain.Count(len(args), "argument"))
			}
		}
		options := diff.RenderOptions{Full: c.Bool("full")}
		if c.Bool("side-by-side") {
			if c.Bool("align") || c.Bool("code") {
				return cmd.Misused("--side-by-side goes with neither --align nor --code")
			}
			options.Side = sideOf(s.Columns(), display.GlyphsOf(s.Terminal).Dots, options.Full)
		}
		if !c.Bool("code") {
			switch {
			case c.IsSet("worktree"):
				return cmd.Misused("--worktree needs --code")
			case len(formats) > 0:
				return cmd.Misused("%s needs --code", formats[0])
			case len(args) > 2:
				return cmd.Misused("diff compares two frames, got %d arguments: %q is not a workflow file; remove %q",
					len(args), args[0], args[2])
			}
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("align") {
				return runAlign(ctx, s, store, args, c.Bool("full"))
			}
			if c.Bool("code") {
				return runCodeDiff(ctx, s, store, args, codeDiffOptions{c.String("worktree"), formats})
			}
			two, err := compare.Load(ctx, store, args)
			if err != nil {
				return err
			}
			return runDiff(ctx, s, store, two, options)
		})
	}
	return cmd
}

// withoutWorkflow returns args without the workflow file that users of Smithers type before the addresses. The first
// argument is a workflow file in these cases:
//   - There are two or more arguments, and a file has the name of the first.
//   - There are three or more arguments, and the first has the extension of a workflow file.
//
// If withoutWorkflow removes a name without the extension of a workflow file, it notes this, because the user may have
// meant a run.
func withoutWorkflow(s *session.Session, args []string) []string {
	switch {
	case len(args) < 2 || !arg.IsFile(s, args[0]) && (len(args) == 2 || !arg.IsWorkflowName(args[0])):
		return args
	case !arg.IsWorkflowName(args[0]):
		s.Note("%s is the name of a file, so it was read as a workflow and not as a run; to name a frame, type <run>:<frame>", plain.Text(args[0]))
	}
	return args[1:]
}

// codeDiffFormats returns the flags on the command line that diff --code passes to git diff, such as --stat.
func codeDiffFormats(c *urfave.Context) []string {
	var formats []string
	for _, name := range []string{"stat", "name-only", "name-status"} {
		if c.Bool(name) {
			formats = append(formats, "--"+name)
		}
	}
	return formats
}

// runDiff prints how the states of two frames differ, and how many of their files and lines differ. If the files cannot
// be compared, runDiff warns and prints only how the states differ. options say how values
// are shown.
func runDiff(ctx context.Context, s *session.Session, store *timeline.Store, two compare.Sides, options diff.RenderOptions) error {
	result, err := two.States()
	if err != nil {
		return err
	}
	files, err := two.CountFiles(ctx, store)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the state is shown without the files
		s.Warn(fmt.Errorf("the files could not be compared: %w", err))
	}
	var from *snapshot.Entry
	if two.From != nil {
		from = two.From.Entry
	}
	journal, err := compareJournals(from, two.To.Entry)
	if err != nil {
		return timeline.Explain(err)
	}
	if s.JSON {
		var differs *journalDifference
		if !journal.empty() {
			differs = &journal
		}
		return s.WriteJSON(term.Document("diff", term.Member("from", two.FromAddress()), term.Member("to", compare.AddressOf(two.To)), result,
			term.Optional("files", files), term.Optional("journal", differs)))
	}
	return s.Paged(ctx, func() error {
		if !result.Empty() || len(files) == 0 && journal.empty() { // if only files or journals differ, do not print that the states are equal
			options.Colors = display.NewPainter(ctx, s).On()
			if err := result.Render(s.Out, options); err != nil {
				return err
			}
		}
		if err := printFileChanges(ctx, s, two, files); err != nil {
			return err
		}
		return s.Printf("%s", journal.text(display.NewPainter(ctx, s)))
	})
}

// jsonKey is the key of a member at the beginning of a line of JSON.
var jsonKey = lazyregexp.New(`^ *"(?:[^"\\]|\\.)*": `)

// sideOf returns the function that cuts a text to the width of one side of a terminal, or breaks it into lines of this width if full is true. Of a
// member whose beginning is cut, the key stays.
func sideOf(columns int, dots string, full bool) func(text string, focus int) []string {
	const beside = 9 // what stands before the left and between the sides
	width := max((columns-beside)/2, 10)
	return func(text string, focus int) (lines []string) {
		add := func(line string) { lines = append(lines, display.Padded(line, line, width)) }
		for full && term.Width(text) > width {
			line := term.CutEnd(text, width, "")
			add(line)
			text = text[len(line):]
		}
		if focus > width/2 && term.Width(text) > width {
			key := jsonKey.FindString(text)
			name, cut := term.CutMiddle(strings.TrimLeft(key, " "), width/2, dots), dots
			start := max(focus-(width-term.Width(name))/4, len(key))
			if start == len(key) {
				cut = ""
			}
			text = name + cut + strings.ToValidUTF8(text[start:], "")
		}
		add(term.CutEnd(text, width, dots))
		return lines
	}
}

// printFileChanges prints a line for each working copy that differs. The line has the number of files, the numbers of
// added and removed lines, and the command that shows the changes. printFileChanges prints nothing if files is empty.
func printFileChanges(ctx context.Context, s *session.Session, two compare.Sides, files []files.FileChanges) error {
	if len(files) == 0 {
		return nil
	}
	p, minus := display.NewPainter(ctx, s), "-"
	if s.IsTerminalOut() {
		minus = display.GlyphsOf(s.Terminal).Minus
	}
	var text strings.Builder
	text.WriteString("Files changed:\n")
	for _, f := range files {
		text.WriteString(p.Paint(term.Yellow, fmt.Sprintf("  ~ %s, +%s %s%s", plain.Count(f.Files, "file"), plain.Number(f.Added), minus, plain.Number(f.Removed))))
		text.WriteString(fileChangesOf(f, compare.AddressOf(two.From), compare.AddressOf(two.To)) + "\n")
	}
	return s.Printf("%s", text.String())
}

// fileChangesOf returns the end of the line about f, the changes in one working copy. For the own worktree of a task,
// the text names the task. It then has the command that shows the changes between the addresses from and to. The text
// has no command if the worktree did not exist yet at the address from.
func fileChangesOf(f files.FileChanges, from, to string) string {
	if f.Began {
		return ", in the worktree of " + plain.Text(f.Worktree) + " since it was made"
	}
	args := []string{"diff", "--code"}
	where := ""
	if f.Worktree != "" {
		args, where = append(args, "--worktree", f.Worktree), ", in the worktree of "+plain.Text(f.Worktree)
	}
	return where + "; `" + fault.CommandLine(arg.Program, append(args, from, to)...) + "` shows them"
}
