package requests

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/compare"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// pathsShown is the largest number of paths that a note lists.
const pathsShown = 50

// fileWords has the words about restored files that depend on the command.
type fileWords struct {
	stayed string            // precedes the names of files that were not restored: the reason
	edited string            // follows the names of edited files: the command that brings the edits back
	shared bool              // warn about tasks that ran in the same files
	before *timeline.Address // the frame with the previous files; nil for none
}

// tellFiles notes done, the result of a restore that was part of another command, such as a travel. It notes the
// changed files, the files that were not restored, the edits that the restore has overwritten, and the frame that has
// the previous files. words has the texts and the choices that differ between commands.
func tellFiles(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult, words fileWords) {
	in := ""
	if done.Name != "" {
		in = "worktree of " + plain.Text(done.Name) + ": "
	}
	s.Note("%s%s", in, restoredSummary(done, false))
	notePaths(s, done.Changes)
	if len(done.Stayed) > 0 {
		s.Note("%s%s: %s", in, words.stayed, display.List(done.Stayed))
	}
	noteLeft(s, in, done)
	if words.shared {
		noteShared(s, done.Beside)
	}
	NoteIncomplete(s, done.VCS)
	noteEdited(ctx, s, store, done, in, words.edited)
	if words.before != nil {
		s.Note("%sthe previous files are saved as %s: `%s` restores them",
			in, plain.Text(words.before.String()), bringBackCommand(*words.before, done.Name))
	}
}

// notePaths lists the changed paths of a restore. It lists at most pathsShown paths, and then the number of the other
// paths.
func notePaths(s *session.Session, changes []jjbridge.PathChange) {
	for _, change := range changes[:min(len(changes), pathsShown)] {
		s.Note("  %-6s  %s", change.Op, plain.Text(change.Path))
	}
	if more := len(changes) - pathsShown; more > 0 {
		s.Note("  and %d more", more)
	}
}

// noteEdited notes the restored paths that differed from the run's newest frame before the restore, for example because
// a person had edited them. It notes nothing if there are no such paths, or with --quiet or --json. in is the text at
// the beginning of the note. how is the text at its end, which says how to bring the edits back. If the paths cannot be
// found, noteEdited warns.
func noteEdited(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult, in, how string) {
	if s.Quiet || s.JSON || done.Saved == nil {
		return
	}
	since, edited, err := editedPaths(ctx, s, store, done)
	if err != nil {
		s.Warn(err)
	}
	if len(edited) == 0 {
		return
	}
	s.Note("%sthese restored files had changed since %s: %s%s", in, plain.Text(since.String()), display.List(edited), how)
}

// editedPaths returns the restored paths that differed from the run's newest frame before the restore, and the address
// of this newest frame. done.Saved must not be nil: it is the frame that the restore saved, with the previous files. If
// there is no frame before done.Saved, or if that frame has no files, editedPaths returns no paths and the zero
// address.
func editedPaths(ctx context.Context, s *session.Session, store *timeline.Store, done *files.RestoreResult) (since timeline.Address, paths []string, err error) {
	saved, err := store.At(ctx, *done.Saved)
	if err != nil {
		return since, nil, err
	}
	newest, err := files.Before(ctx, store, saved)
	if err != nil || newest == nil {
		return since, nil, err
	}
	trees, err := compare.Sides{From: newest, To: saved}.Trees(ctx, store, done.Name)
	if fault.CodeOf(err) == fault.NoCode {
		return since, nil, nil
	}
	if err != nil {
		return since, nil, err
	}
	where, err := compare.WhereForGit(ctx, s, store)
	if err != nil {
		return since, nil, err
	}
	changes, err := compare.PathChanges(ctx, s, where, trees, nil)
	// changes has all paths that differ between the two frames. Keep only the paths that the restore has changed.
	restored := make(map[string]bool, len(done.Changes))
	for _, change := range done.Changes {
		restored[change.Path] = true
	}
	for _, change := range changes {
		if restored[change.Path] {
			paths = append(paths, change.Path)
		}
	}
	return newest.Address, paths, err
}

// leavingFiles returns the end of a note about edited files, after the travel or reset in done. The text has two
// commands: one command brings the edits back, and the other is the typed command with the flag --no-vcs, which
// restores no files. If the typed command is unknown, the text names only the flag. After an undo, leavingFiles returns
// "", because a second undo does not take back the first.
func leavingFiles(s *session.Session, done *travel.Result) string {
	if done.Op.Kind == snapshot.OpUndo {
		return ""
	}
	how := "; `" + fault.CommandLine(arg.Program, "undo", done.Run) + "` brings the changes back, "
	if command := s.TypedWith("--no-vcs"); command != "" {
		return how + "`" + command + "` restores no files"
	}
	return how + "--no-vcs restores no files"
}

// tellEquipped notes what a new working copy got, or which ignored files it lacks.
func tellEquipped(s *session.Session, done files.Equipped) {
	root := plain.Text(done.Root)
	if done.Files > 0 {
		s.Note("brought %s (%s) into %s", plain.Count(done.Files, "ignored file"), display.Size(done.Bytes), root)
	}
	if len(done.Lacks) > 0 {
		s.Note("%s lacks ignored files: %s; name what it needs in %s at the top of this working copy, or set %s", root, display.List(done.Lacks), outfit.IncludeFile, outfit.Setting)
	}
	if done.Setup != "" {
		s.Note("the setup command has run in %s", root)
	}
}
