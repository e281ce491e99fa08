package desk

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoredDocument is the part that restore and revert have in common with --json.
type RestoredDocument struct {
	From    string                `json:"from"`
	Path    string                `json:"path"`
	DryRun  bool                  `json:"dryRun"`
	Changes []jjbridge.PathChange `json:"changes"`
	Saved   *string               `json:"saved"`
	Frame   *string               `json:"frame"`
	Running []string              `json:"running"`
	Beside  []string              `json:"beside"`
	RestoredCode
}

// RestoredCode is the revision of restored files, and the files that the capture left out or altered.
type RestoredCode struct {
	VCS     *jjbridge.Tag      `json:"vcs"`
	LeftOut []snapshot.LeftOut `json:"leftOut"`
	Altered []snapshot.Altered `json:"altered"`
}

// CodeOf describes captured files for scripts. v may be nil.
func CodeOf(v *snapshot.VCS) RestoredCode {
	code := RestoredCode{VCS: jjbridge.TagOf(v), LeftOut: []snapshot.LeftOut{}, Altered: []snapshot.Altered{}}
	if v != nil {
		code.LeftOut = append(code.LeftOut, v.LeftOut...)
		code.Altered = append(code.Altered, v.Altered...)
	}
	return code
}

// DescribeRestored describes a restore.
func DescribeRestored(done *code.Restored, dryRun bool) RestoredDocument {
	return RestoredDocument{
		From: done.From.String(), Path: done.Root, DryRun: dryRun, Changes: done.Changes,
		Saved: addressText(done.Saved), Frame: addressText(done.Frame),
		Running: append([]string{}, done.Running...), Beside: append([]string{}, done.Beside...), RestoredCode: CodeOf(done.VCS),
	}
}

// DescribeAll describes several restores.
func DescribeAll(list []*code.Restored) []RestoredDocument {
	docs := make([]RestoredDocument, len(list))
	for i, one := range list {
		docs[i] = DescribeRestored(one, false)
	}
	return docs
}

func addressText(at *timeline.Address) *string {
	if at == nil {
		return nil
	}
	return new(at.String())
}

// TellRestored prints the changed paths of a restore, and notes for people.
func TellRestored(ctx context.Context, s *session.Session, store *timeline.Store, done *code.Restored, dryRun bool) error {
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"CHANGE", "PATH"}}
	for _, change := range done.Changes {
		t.Add(term.Cell{Text: change.Op, Paint: p.Change}, term.Cell{Text: change.Path})
	}
	if err := t.Write(s.Terminal); err != nil {
		return err
	}
	s.Note("%s", restoredSummary(done, dryRun))
	if done.Root != store.Workspace().Root {
		s.Note("the restored files are in the run's own worktree: %s", plain.Text(done.Root))
	}
	if len(done.Running) > 0 {
		s.Note("not ended yet, in the same files: %s; a task that is still running continues with the restored files", display.BesideNames(done.Running))
	}
	noteShared(s, done.Beside)
	NoteIncomplete(s, done.VCS)
	if err := noteElsewhere(ctx, s, store, done); err != nil {
		return err
	}
	if before := app.FrameBefore(done); before != nil {
		s.Note("the previous files are saved as %s: `%s` restores them", plain.Text(before.String()), bringBackCommand(*before, done.Name))
	}
	return nil
}

// bringBackCommand returns the command that restores the files of a frame: the worktree of a task or, if worktree is "", the
// files that tasks share.
func bringBackCommand(at timeline.Address, worktree string) string {
	if worktree == "" {
		return fault.CommandLine(arg.Program, "restore", at.String())
	}
	return fault.CommandLine(arg.Program, "restore", at.String(), "--worktree", worktree)
}

// restoredSummary returns a line that counts the changes of a restore.
func restoredSummary(done *code.Restored, dryRun bool) string {
	from := plain.Text(done.From.String())
	if len(done.Changes) == 0 {
		return "the working copy has the files of " + from + ": nothing to change"
	}
	counts := make(map[string]int)
	for _, change := range done.Changes {
		counts[change.Op]++
	}
	var parts []string
	for _, op := range []struct{ op, done string }{
		{jjbridge.OpAdd, "added"}, {jjbridge.OpModify, "modified"}, {jjbridge.OpRemove, "removed"},
	} {
		if n := counts[op.op]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, op.done))
		}
	}
	if dryRun {
		return fmt.Sprintf("%s would restore the files of %s; nothing was changed", strings.Join(parts, ", "), from)
	}
	return fmt.Sprintf("%s: the working copy has the files of %s", strings.Join(parts, ", "), from)
}

// noteShared names the tasks that were running in the restored files.
func noteShared(s *session.Session, beside []string) {
	if len(beside) > 0 {
		s.Note("other tasks were running in the same files: %s; the restored files include their work up to that time",
			display.BesideNames(beside))
	}
}

// NoteIncomplete names the files that a capture left out, and warns of conflict markers. v may be nil.
func NoteIncomplete(s *session.Session, v *snapshot.VCS) {
	if v == nil {
		return
	}
	if len(v.LeftOut) > 0 {
		s.Note("left alone, because they were not captured: %s", display.List(display.LeftOutNames(v.LeftOut)))
	}
	if v.Conflicted {
		s.Note("the jj change had conflicts, so its files contain conflict markers")
	}
}

// noteElsewhere notes that HEAD, or jj's change, differs from the one of the restored frame.
func noteElsewhere(ctx context.Context, s *session.Session, store *timeline.Store, done *code.Restored) error {
	if done.Frame == nil || done.VCS == nil {
		return nil
	}
	at, err := store.Load(ctx, done.Frame.String())
	if err != nil {
		return err
	}
	now, err := at.Entry.VCSRevision()
	if err != nil || now == nil {
		return err
	}
	then, here := display.ShortRevision(done.VCS.Type, done.VCS.CommitID, done.VCS.ChangeID), display.ShortRevision(now.Type, now.CommitID, now.ChangeID)
	if then == here {
		return nil
	}
	what := "HEAD"
	if now.Type == snapshot.VCSJJ {
		what = "the change"
	}
	s.Note("%s stays at %s; in the frame it is at %s", what, orNone(here), orNone(then))
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return plain.Text(text)
}
