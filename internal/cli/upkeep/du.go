package upkeep

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
)

// duDocument is the document of du --json.
type duDocument struct {
	Kind string `json:"kind"`
	*prune.DiskUsage
}

func duCommand() *arg.Command {
	return &arg.Command{
		Name:    "du",
		Summary: "show the disk space of runs",
		Usage:   []string{"[<run>...]"},
		About: `Shows the space that the named runs, or all runs, take on disk, after packing. For each run
it shows the size of everything that the run reaches, and the part that only this run needs:
the space that a prune would free. Then it shows the size by collection, and the captured
files by worktree, and how rendered trees are stored: whole, or as differences of earlier ones
(delta), with the number of steps to a whole tree. Objects of your own commits are not
counted. Objects that several runs share are counted once, except in the table of runs.`,
		MaxArgs: arg.AnyNumber,
		Exits:   arg.Reads(),
		Examples: []arg.Example{
			{"see the space of all runs", "git smithers du"},
			{"see the space of one run", "git smithers du triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return withKeeper(ctx, s, func(k *prune.Keeper) error { return runDu(ctx, s, k, c.Args().Slice()) })
		},
	}
}

// runDu prints the disk space that the given runs use or, if runs is empty, that all runs use. At a terminal, it prints
// tables and totals. Otherwise it prints lines with tabs between the values, for scripts.
func runDu(ctx context.Context, s *session.Session, k *prune.Keeper, runs []string) error {
	usage, err := k.DiskUsage(ctx, runs...)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(duDocument{"du", usage})
	}
	if !s.IsTerminalOut() {
		return separateUsage(s, usage)
	}
	var b strings.Builder
	t := term.Table{Header: []string{"RUN", "TOTAL", "ALONE", "OBJECTS"}}
	for _, run := range usage.Runs {
		t.Add(term.Cell{Text: run.RunID}, term.Cell{Text: display.Size(run.Total.Bytes)}, term.Cell{Text: display.Size(run.Alone.Bytes)},
			term.Cell{Text: plain.Number(run.Total.Objects)})
	}
	t.Align(&b, "")
	for _, part := range []struct {
		title string
		list  []prune.NameUsage
	}{{"COLLECTION", usage.Collections}, {"WORKTREE", usage.Worktrees}} {
		t := term.Table{Header: []string{part.title, "TOTAL", "OBJECTS"}}
		for _, one := range part.list {
			t.Add(term.Cell{Text: usageName(part.title, one.Name)}, term.Cell{Text: display.Size(one.Bytes)}, term.Cell{Text: plain.Number(one.Objects)})
		}
		if len(t.Rows) > 0 {
			b.WriteString("\n")
		}
		t.Align(&b, "")
	}
	frames := term.Table{Header: []string{"RENDERED TREES", "TOTAL", "OBJECTS", "TO A WHOLE TREE"}}
	for _, one := range usage.Frames {
		frames.Add(term.Cell{Text: one.Encoding}, term.Cell{Text: display.Size(one.Bytes)}, term.Cell{Text: plain.Number(one.Objects)},
			term.Cell{Text: fmt.Sprintf("%s, at most %d", display.Score(one.Distance), one.Farthest)})
	}
	if len(frames.Rows) > 0 {
		b.WriteString("\n")
	}
	frames.Align(&b, "")
	fmt.Fprintf(&b, "\n%s in all: %s in %s\n", plain.Count(len(usage.Runs), "run"), display.Size(usage.Together.Bytes), plain.Count(int(usage.Together.Objects), "object"))
	if usage.Held.Objects > 0 {
		fmt.Fprintf(&b, "pruned and not collected: %s; `git smithers prune --collect` frees this space\n", display.Size(usage.Held.Bytes))
	}
	fmt.Fprintf(&b, "%s; index: %s; other files of git-smithers: %s\n", plain.Count(usage.Refs, "ref"), display.Size(usage.Index), display.Size(usage.Private))
	return s.Printf("%s", b.String())
}

// usageName returns the name that a row of a table shows. title is the title of the table, and name is the name in the
// data. In the table of worktrees, the working copy that tasks share has no name; usageName returns "(main)" for it.
func usageName(title, name string) string {
	if title == "WORKTREE" && name == "" {
		return "(main)"
	}
	return name
}

// separateUsage prints lines for scripts. Each line has four values with tabs between them: the kind, the name, the
// number of bytes and the number of objects. The kind is run, alone (the part that only this run needs), collection,
// worktree, frame (rendered trees by encoding), together (all runs) or held (pruned, but not collected). The last two kinds have no name.
func separateUsage(s *session.Session, usage *prune.DiskUsage) error {
	var b strings.Builder
	line := func(what, name string, u prune.Usage) {
		fmt.Fprintf(&b, "%s\t%s\t%d\t%d\n", what, plain.Text(name), u.Bytes, u.Objects)
	}
	for _, run := range usage.Runs {
		line("run", run.RunID, run.Total)
		line("alone", run.RunID, run.Alone)
	}
	for _, one := range usage.Collections {
		line("collection", one.Name, one.Usage)
	}
	for _, one := range usage.Worktrees {
		line("worktree", one.Name, one.Usage)
	}
	for _, one := range usage.Frames {
		line("frame", one.Encoding, one.Usage)
	}
	line("together", "", usage.Together)
	line("held", "", usage.Held)
	return s.Printf("%s", b.String())
}
