package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

func blameCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "blame",
		Summary: "find out who wrote a line, or set a value of the state",
		Usage:   []string{"<path> [<revision>] [-L RANGE]... [--worktree TASK] [--porcelain]"},
		About: `Shows the lines of a file with their writers: the frame of a run, with its turn or its
task, or a commit. The file is that of the working copy or, with a revision, that of a commit
or of a frame such as triage-1:7.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			arg.TextsFlag("lines", "show only the lines in `RANGE`, as for git blame: 10,20, 10,+5, /regex/ or :function", "L"),
			&urfave.StringFlag{Name: "worktree", Usage: "show the file in the own worktree of `TASK` at the frame"},
			&urfave.BoolFlag{Name: "porcelain", Usage: "print the lines as `git blame --porcelain` does, with members of ours"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see who wrote the lines of a file", "git smithers blame src/parser.go"},
			{"see who wrote the lines 10 to 20 at the last release", "git smithers blame src/parser.go v1.2 -L 10,20"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		query := blame.Query{Revision: c.Args().Get(1), Worktree: c.String("worktree"), Lines: arg.Texts(c, "lines")}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			return runBlame(ctx, s, store, c.Args().First(), query, c.Bool("porcelain"))
		})
	}
	return cmd
}

// runBlame prints the lines of a file with their writers. name is the file as the user typed it.
func runBlame(ctx context.Context, s *session.Session, store *timeline.Store, name string, query blame.Query, porcelain bool) error {
	var err error
	if query.Path, err = pathInside(s, store, name); err != nil {
		return err
	}
	file, err := blame.Of(ctx, store, query)
	if err != nil {
		return err
	}
	switch {
	case s.JSON:
		return s.WriteJSON(term.Document("blame", file))
	case porcelain:
		return printBlamePorcelain(s, file)
	}
	return s.Paged(ctx, func() error { return printBlame(ctx, s, file) })
}

// printBlame prints a line of text for each line of a file, in the form of git blame.
func printBlame(ctx context.Context, s *session.Session, file *blame.File) error {
	p := display.NewPainter(ctx, s)
	var who, what [2]int // the widths in bytes are of no use: names can be wide
	names, words := make([]string, len(file.Ranges)), make([]string, len(file.Ranges))
	last := 0
	for i, r := range file.Ranges {
		names[i], words[i] = plain.Text(writerName(r.Writer)), plain.Shorten(plain.Text(writerWords(r.Writer)), wordsShown)
		who[0], what[0], last = max(who[0], term.Width(names[i])), max(what[0], term.Width(words[i])), max(last, r.End)
	}
	digits := len(fmt.Sprint(last))
	for i, r := range file.Ranges {
		name, word := names[i], words[i]
		head := p.Paint(term.Yellow, name) + strings.Repeat(" ", who[0]-term.Width(name)) +
			" (" + word + strings.Repeat(" ", what[0]-term.Width(word)) + " " + time.UnixMilli(r.Writer.AtMs).UTC().Format("2006-01-02 15:04") + " "
		for n, text := range r.Text {
			if s.IsTerminalOut() {
				text = shownLine(text)
			}
			if err := s.Printf("%s%*d) %s\n", head, digits, r.Start+n, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// wordsShown is how many characters of the words about a writer are shown.
const wordsShown = 24

// shownLine returns a line of a file that is safe to show, with its tabs.
func shownLine(text string) string {
	if lines := plain.Lines(text); len(lines) > 0 {
		return strings.Join(lines, "")
	}
	return text
}

// writerName returns the frame or the shortened commit of a writer.
func writerName(w *blame.Writer) string {
	switch w.Kind {
	case blame.Frame, blame.Start:
		return w.Address().String()
	case blame.Commit:
		return display.ShortID(w.Commit)
	}
	return "not committed"
}

// writerWords returns the turn, the attempt or the author of a writer.
func writerWords(w *blame.Writer) string {
	switch {
	case w.Kind == blame.Start:
		return "before the run"
	case w.Kind == blame.Commit && len(w.NotHere) > 0:
		return w.NotHere[0] + ", not here"
	case w.Kind == blame.Commit:
		return w.Author
	case w.Turn > 0:
		return fmt.Sprintf("turn %d %s", w.Turn, plain.Words(w.Prompt))
	case len(w.Attempts) > 0:
		a := w.Attempts[0]
		return display.AttemptName(a.NodeID, a.Iteration)
	}
	return cmp.Or(w.Subject, string(w.Kind))
}

// printBlamePorcelain prints a file in the form of git blame --porcelain.
func printBlamePorcelain(s *session.Session, file *blame.File) error { return nil }
