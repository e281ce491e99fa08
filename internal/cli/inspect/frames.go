package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func framesCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "frames",
		Summary: "find frames by jj change, commit or file",
		Usage:   []string{"{--change ID | --commit REV | --path PATH} [--run RUN] [--limit N] [--since TIME]"},
		About: `Lists the frames captured at a jj change or at a commit, or the frames that changed a file:
run and frame, time, revision, and description; with --path also the kind of change, in the
run's files and in the worktrees of tasks. With --commit, a commit that land made also finds
the frame that it landed. Ids may be shortened. A folder stands for all files in it. The
newest run comes first. With --json, prints one object per line.`,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "change", Usage: "find the frames of jj's change `ID`"},
			&urfave.StringFlag{Name: "commit", Usage: "find the frames at the commit `REV`: an id or any revision, such as HEAD~2"},
			&urfave.StringFlag{Name: "path", Usage: "find the frames that changed `PATH`, a file or a folder"},
			&urfave.StringFlag{Name: "run", Aliases: []string{"r"}, Usage: "search only `RUN`, an id or a unique prefix of it"},
		}, arg.WindowFlags("frames", "the first", "made")...),
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see which frames belong to a change that `jj log` shows", "git smithers frames --change qpvuntsm"},
			{"see which frames were made on the commit that is checked out", "git smithers frames --commit HEAD"},
			{"see which steps touched a file", "git smithers frames --path src/parser.go --run triage-1"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		query, err := parseFrames(cmd, c)
		if err != nil {
			return err
		}
		window, err := arg.ParseWindow(s, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runFrames(ctx, s, store, query, window) })
	}
	return cmd
}

// parseFrames reads the flags of the command `frames` into a query. The command line must have exactly one of
// --change, --commit and --path, and the value of this flag must not be empty; otherwise the error is usage. The field
// Path of the query is the path exactly as the user typed it.
func parseFrames(cmd *arg.Command, c *urfave.Context) (list.FrameQuery, error) {
	asked := 0
	for _, name := range []string{"change", "commit", "path"} {
		if !c.IsSet(name) {
			continue
		}
		asked++
		if c.String(name) == "" {
			return list.FrameQuery{}, cmd.Misused("--%s is empty", name)
		}
	}
	if asked != 1 {
		return list.FrameQuery{}, cmd.Misused("frames needs one of --change, --commit and --path")
	}
	return list.FrameQuery{
		Change: c.String("change"), Commit: c.String("commit"), Path: c.String("path"), Run: c.String("run"),
	}, nil
}

// runFrames prints the frames that query selects, one on each line. query.Path is the path as the user typed it, or "".
// If no frame of any run has this path, runFrames warns and prints nothing.
func runFrames(ctx context.Context, s *session.Session, store *timeline.Store, query list.FrameQuery, window arg.Window) error {
	if query.Path != "" {
		path, err := pathInside(s, store, query.Path)
		if err != nil {
			return err
		}
		query.Path = path
	}
	matches, err := list.FramesOf(ctx, store, query)
	if err != nil {
		return err
	}
	if len(matches) == 0 && query.Path != "" {
		kept, err := list.KeepsPath(ctx, store, query)
		if err != nil {
			return err
		}
		if !kept {
			s.Warn(fmt.Errorf("no frame has %s; a path is relative to the current folder", query.Path))
			return nil
		}
	}
	matches = arg.First(window, matches, func(match list.FrameMatch) int64 { return match.CreatedAtMs })
	if s.JSON {
		return term.WriteAll(s.Terminal, "frame", matches)
	}
	if len(matches) == 0 {
		s.Note("no frame was found")
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"FRAME", "TIME", "REVISION", "WHAT"}}
	if query.Path != "" {
		t.Header = append(t.Header, "CHANGED")
	}
	for _, match := range matches {
		cells := []term.Cell{
			{Text: timeline.Address{Run: match.RunID, Frame: match.FrameNo}.String()},
			{Text: display.ClockTime(match.CreatedAtMs)},
			p.RevisionCell(match.VCS, match.ChangeID),
			{Text: match.Subject},
		}
		if query.Path != "" {
			cells = append(cells, term.Cell{Text: changedPaths(s, match.Paths, query.Path) + sinceFrame(match)})
		}
		t.Add(cells...)
	}
	return t.Write(s.Terminal)
}

// pathInside returns the path of a file relative to the top of the working copy, with slashes. name is the name of the
// file on the command line. The file need not exist. pathInside resolves symbolic links in the folder of the path, but
// not in its last element. The error is no_working_copy if the repository has no working copy, and usage if the path is
// outside of the working copy.
func pathInside(s *session.Session, store *timeline.Store, name string) (string, error) {
	path := filepath.Clean(s.Path(name))
	top := store.Workspace().Root
	if top == "" {
		return "", fault.New(fault.NoWorkingCopy, "this repository has no working copy, so path %s cannot be resolved", name).
			Hint("run this command in a working copy of the repository")
	}
	if app.RealFolder(path) == top {
		return ".", nil
	}
	path = filepath.Join(app.RealFolder(filepath.Dir(path)), filepath.Base(path))
	rel, err := filepath.Rel(top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fault.New(fault.Usage, "%s is outside of the working copy", name).
			Hint("type a path inside of %s", top)
	}
	return filepath.ToSlash(rel), nil
}

// sinceFrame returns a remark for a change whose frame is uncertain: the frames before the listed frame have no
// captured files, so the change may have been made at one of them. For any other change, it returns "".
func sinceFrame(match list.FrameMatch) string {
	if match.Since == nil {
		return ""
	}
	return fmt.Sprintf(" (since frame %d: the frames in between have no captured files)", *match.Since)
}

// changedPaths returns the changes in words, separated by commas. asked is the path in the query. If asked is the only
// changed path, changedPaths returns only the kind of its change. At a terminal, it shortens a long result.
func changedPaths(s *session.Session, changes []jjbridge.PathChange, asked string) string {
	if len(changes) == 1 && changes[0].Path == asked {
		return changes[0].Op
	}
	words := make([]string, len(changes))
	for i, change := range changes {
		words[i] = change.Op + " " + change.Path
	}
	list := strings.Join(words, ", ")
	if s.IsTerminalOut() {
		return plain.Shorten(list, display.ValueShown)
	}
	return list
}
