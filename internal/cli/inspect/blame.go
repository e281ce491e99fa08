package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func blameCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "blame",
		Summary: "find out who wrote a line, or set a value of the state",
		Usage:   []string{"<path> [<revision>] [-L RANGE]... [--worktree TASK] [--porcelain]", "<run>[:<frame>] <member> [--limit N]"},
		About: `Shows the lines of a file with their writers: the frame of a run, with its turn or its
task, or a commit. Lines that a run found when it began, and that no commit had, are "before
the run". The file is that of the working copy, or that of a revision: a commit or a frame
such as triage-1:7.

With a run and the path of a value in its state, lists the frames that have set the value, the
newest first: input.MEMBER, outputs.TABLE.MEMBER, nodes.TASK.state, nodes.TASK.output.MEMBER,
loops.LOOP.iteration, scores.SCORER, approvals.TASK.status. A second argument that begins so is
always such a path; a branch of that name is heads/NAME.

With --json, prints one document for a file, and one object a line for a value.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			arg.TextsFlag("lines", "show only the lines in `RANGE`, as for git blame: 10,20, 10,+5, /regex/ or :function", "L"),
			&urfave.StringFlag{Name: "worktree", Usage: "show the file in the own worktree of `TASK` at the frame"},
			&urfave.BoolFlag{Name: "porcelain", Usage: "print the lines in the form of git blame --porcelain"},
			arg.LimitFlag(0, "list only the newest `N` frames that have set the value (default: all)"),
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see who wrote the lines of a file", "git smithers blame src/parser.go"},
			{"see who wrote the lines 10 to 20 at the last release", "git smithers blame src/parser.go v1.2 -L 10,20"},
			{"see which frame approved", "git smithers blame triage-1 outputs.verdict.approved"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		limit, err := arg.ParseLimit(c)
		if err != nil {
			return err
		}
		if path, ok := blame.ParseStatePath(c.Args().Get(1)); ok {
			for _, flag := range []string{"lines", "worktree", "porcelain"} {
				if c.IsSet(flag) {
					return cmd.Misused("--%s does not go with %s, a value of the state", flag, path).
						Hint("if %s is a branch, name it heads/%s", path, path)
				}
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runBlameState(ctx, s, store, c.Args().First(), path, limit) })
		}
		if c.IsSet("limit") {
			return cmd.Misused("--limit is for a value of the state")
		}
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
	if query.Path, err = pathInside(s, store, name); fault.CodeOf(err) == fault.NoWorkingCopy && query.Revision != "" && filepath.IsLocal(name) {
		query.Path, err = filepath.ToSlash(filepath.Clean(name)), nil // of a bare repository
	}
	if err != nil {
		return err
	}
	if query.Revision, err = newestFrame(ctx, store, query.Revision); err != nil {
		return err
	}
	file, err := blame.NewReader(store).File(ctx, query)
	if err != nil {
		return err
	}
	switch {
	case s.JSON:
		file.Path = snapshot.EscapePath(file.Path)
		for i := range file.Ranges {
			file.Ranges[i].OriginalPath = snapshot.EscapePath(file.Ranges[i].OriginalPath)
		}
		return s.WriteJSON(term.Document("blame", file))
	case porcelain:
		return printBlamePorcelain(s, store, file)
	}
	return s.Paged(ctx, func() error { return printBlame(ctx, s, file) })
}

// newestFrame returns the address of the frame that a revision such as @:3 or @session:3 names. Any other revision, such as @ or @{-1}, means
// what it means to git and jj, and is returned as it is.
func newestFrame(ctx context.Context, store *timeline.Store, revision string) (string, error) {
	name, frame, ok := app.SplitNewest(revision)
	if !ok || name == app.NewestName && !strings.HasPrefix(revision, name+":") {
		return revision, nil
	}
	run, err := app.Newest(ctx, store, name)
	if err != nil {
		return "", err
	}
	return agent.FrameOf(ctx, store, run.ID, frame)
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
	digits := len(strconv.Itoa(last))
	for i, r := range file.Ranges {
		name, word := names[i], words[i]
		head := p.Paint(term.Yellow, name) + strings.Repeat(" ", who[0]-term.Width(name)) +
			" (" + word + strings.Repeat(" ", what[0]-term.Width(word)) + " " + time.UnixMilli(r.Writer.AtMs).UTC().Format("2006-01-02 15:04Z") + " "
		for n, text := range r.Text {
			if err := s.Printf("%s%*d) %s\n", head, digits, r.Start+n, shownLine(text)); err != nil {
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
	case blame.Uncommitted:
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
	return w.Subject
}

// runBlameState prints the frames that have set a value.
func runBlameState(ctx context.Context, s *session.Session, store *timeline.Store, address string, path *blame.StatePath, limit int) error {
	at, err := store.Load(ctx, address)
	if err != nil {
		return err
	}
	set, err := blame.Settings(ctx, store, at, path, limit)
	if err != nil {
		return err
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "setting", set)
	}
	t := term.Table{Header: []string{"FRAME", "TIME", "BY", "VALUE"}}
	for _, one := range set {
		by, value := one.Subject, "removed"
		if one.NodeID != "" {
			by = display.AttemptName(one.NodeID, one.Iteration)
		}
		if one.NodeID != "" && one.Attempt != nil {
			by += fmt.Sprintf(", attempt %d", *one.Attempt)
		}
		if !one.Removed {
			value = display.Value(one.Value, display.ValueShown)
		}
		t.Add(term.Cell{Text: timeline.Address{Run: one.RunID, Frame: one.FrameNo}.String()}, term.Cell{Text: display.ClockTime(one.AtMs)},
			term.Cell{Text: by}, term.Cell{Text: value})
	}
	return t.Write(s.Terminal)
}
