package requests

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoredDocument has the members that the documents of restore and revert share.
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
	VCS     *jjbridge.Tag          `json:"vcs"`
	LeftOut []snapshot.LeftOut     `json:"leftOut"`
	Altered []snapshot.AlteredFile `json:"altered"`
}

// CodeOf returns the part of a JSON document that describes captured files. v is the record of the capture. If v is
// nil, the field VCS of the result is nil. The lists in the result are never nil, so that they are [] in JSON.
func CodeOf(v *snapshot.VCS) RestoredCode {
	code := RestoredCode{VCS: jjbridge.TagOf(v), LeftOut: []snapshot.LeftOut{}, Altered: []snapshot.AlteredFile{}}
	if v != nil {
		code.LeftOut = append(code.LeftOut, v.LeftOut...)
		code.Altered = append(code.Altered, v.Altered...)
	}
	return code
}

// DescribeRestored returns the JSON document of a restore. dryRun is true if the restore was a dry run.
func DescribeRestored(done *files.RestoreResult, dryRun bool) RestoredDocument {
	files := CodeOf(done.VCS)
	for _, path := range done.Secrets {
		files.LeftOut = append(files.LeftOut, snapshot.LeftOut{Path: path, Reason: snapshot.LeftSecret})
	}
	for _, path := range done.New {
		files.LeftOut = append(files.LeftOut, snapshot.LeftOut{Path: path, Reason: snapshot.LeftUntracked})
	}
	return RestoredDocument{
		From: done.From.String(), Path: done.Root, DryRun: dryRun, Changes: done.Changes,
		Saved: addressText(done.Saved), Frame: addressText(done.Frame),
		Running: append([]string{}, done.Running...), Beside: append([]string{}, done.Beside...), RestoredCode: files,
	}
}

// DescribeAll returns the JSON documents of the restores in list, in the same order. The restores must not be dry runs.
func DescribeAll(list []*files.RestoreResult) []RestoredDocument {
	docs := make([]RestoredDocument, len(list))
	for i, one := range list {
		docs[i] = DescribeRestored(one, false)
	}
	return docs
}

// addressText returns at as text, or nil if at is nil.
func addressText(at *timeline.Address) *string {
	if at == nil {
		return nil
	}
	return new(at.String())
}

// TellRestored prints the changed paths of a restore, and notes what NoteRestored notes. dryRun is true if the restore was a dry run.
func TellRestored(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult, dryRun bool) error {
	if err := PrintChanges(ctx, s, done.Changes); err != nil {
		return err
	}
	return NoteRestored(ctx, s, store, done, dryRun)
}

// PrintChanges prints a line for each changed path.
func PrintChanges(ctx context.Context, s *session.Session, changes []jjbridge.PathChange) error {
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"CHANGE", "PATH"}}
	for _, change := range changes {
		t.Add(term.Cell{Text: change.Op, Paint: p.Change}, term.Cell{Text: change.Path})
	}
	return t.Write(s.Terminal)
}

// NoteRestored notes the changes of a restore in numbers, the tasks that use the same files, the files that were not
// restored, and the command that restores the previous files. dryRun is true if the restore was a dry run.
func NoteRestored(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult, dryRun bool) error {
	s.Note("%s", restoredSummary(done, dryRun))
	if done.Root != store.Workspace().Root {
		s.Note("the restored files are in the run's own worktree: %s", plain.Text(done.Root))
	}
	if len(done.Running) > 0 {
		s.Note("these attempts have not ended and use the same files: %s; a running task continues with the restored files",
			display.BesideNames(done.Running))
	}
	noteShared(s, done.Beside)
	NoteIncomplete(s, done.VCS)
	noteLeft(s, "", done)
	if err := noteElsewhere(ctx, s, store, done); err != nil {
		return err
	}
	if before := app.FrameBefore(done); before != nil {
		s.Note("the previous files are saved as %s: `%s` restores them", plain.Text(before.String()), bringBackCommand(*before, done.Name))
	}
	return nil
}

// bringBackCommand returns the command that restores the files of a frame. at is the address of the frame. worktree
// is the task whose own worktree has the files, or "" for the files that tasks share.
func bringBackCommand(at timeline.Address, worktree string) string {
	if worktree == "" {
		return fault.CommandLine(arg.Program, "restore", at.String())
	}
	return fault.CommandLine(arg.Program, "restore", at.String(), "--worktree", worktree)
}

// restoredSummary returns a line with the numbers of added, modified and removed files. If dryRun is true, these are
// the changes that the restore would make. If there are no changes, the line says so.
func restoredSummary(done *files.RestoreResult, dryRun bool) string {
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
		return fmt.Sprintf("restoring the files of %s would change %s (%s); nothing was changed",
			from, plain.Count(len(done.Changes), "file"), strings.Join(parts, ", "))
	}
	return fmt.Sprintf("%s: the working copy has the files of %s", strings.Join(parts, ", "), from)
}

// noteShared notes which other tasks were changing the restored files when the files were captured. beside has the keys
// of the tasks' attempts. If beside is empty, noteShared notes nothing.
func noteShared(s *session.Session, beside []string) {
	if len(beside) > 0 {
		s.Note("other tasks were running in the same files: %s; the restored files include what these tasks had changed by then",
			display.BesideNames(beside))
	}
}

// noteLeft notes the files that a restore left in place, although the restored frame has other files at their paths or
// lacks them: files with secrets, and new untracked files. in begins the note.
func noteLeft(s *session.Session, in string, done *files.RestoreResult) {
	if len(done.Secrets) > 0 {
		s.Note("%sleft in place, because no frame keeps files with secrets: %s", in, display.List(done.Secrets))
	}
	if len(done.New) > 0 {
		s.Note("%skept %s: %s", in, plain.Count(len(done.New), "new untracked file"), display.List(done.New))
	}
}

// NoteIncomplete notes the files that are missing from a restore, because the capture v left them out. If v describes a
// jj change with conflicts, it also notes that files contain conflict markers. If v is nil, it notes nothing.
func NoteIncomplete(s *session.Session, v *snapshot.VCS) {
	if v == nil {
		return
	}
	if len(v.LeftOut) > 0 {
		s.Note("not restored, because they were not captured: %s", display.List(display.LeftOutNames(v.LeftOut)))
	}
	if v.Conflicted {
		s.Note("the jj change had conflicts, so its files contain conflict markers")
	}
}

// noteElsewhere compares two revisions: the current one, and the one at which the restored files were captured. A
// revision is git's HEAD, or jj's change. If the revisions differ, noteElsewhere notes both, because a restore changes
// files and moves neither HEAD nor the change. It notes nothing if the restore recorded no frame.
func noteElsewhere(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult) error {
	if done.Frame == nil || done.VCS == nil {
		return nil
	}
	at, err := store.At(ctx, *done.Frame)
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
		what = "jj's change"
	}
	where := fmt.Sprintf("%s stays at %s", what, plain.Text(here))
	if here == "" {
		where = what + " still has no commit"
	}
	if then == "" {
		then = "no commit"
	}
	s.Note("%s; the restored files were captured at %s", where, plain.Text(then))
	return nil
}
