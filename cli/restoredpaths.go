package cli

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/travel"
)

// pathsShown is how many paths people see of a list that is not what a command prints.
const pathsShown = 50

// notePaths lists what a restore did to which path, as restore prints it, under the line that counts them.
func (s *session) notePaths(changes []jjbridge.PathChange) {
	for _, change := range changes[:min(len(changes), pathsShown)] {
		s.Note("  %-6s  %s", change.Op, plain.Text(change.Path))
	}
	if more := len(changes) - pathsShown; more > 0 {
		s.Note("  and %d more", more)
	}
}

// noteEdited names the paths among those that a restore changed that were not as the run's newest frame has them, such as
// files that a person has edited since. how says what brings them back.
func (s *session) noteEdited(ctx context.Context, store *timeline.Store, done *code.Restored, in, how string) {
	if s.Quiet || s.JSON || done.Saved == nil {
		return
	}
	since, edited, err := s.editedPaths(ctx, store, done)
	if err != nil {
		s.Warn(err)
	}
	if len(edited) == 0 {
		return
	}
	s.Note("%schanged since %s: %s%s", in, plain.Text(since.String()), listNames(edited), how)
}

// editedPaths are the paths that noteEdited names, and the run's newest frame before the restore. There are none if that
// frame has no files.
func (s *session) editedPaths(ctx context.Context, store *timeline.Store, done *code.Restored) (since timeline.Address, paths []string, err error) {
	saved, err := store.Load(ctx, done.Saved.String())
	if err != nil {
		return since, nil, err
	}
	newest, err := code.Before(ctx, store, saved)
	if err != nil || newest == nil {
		return since, nil, err
	}
	trees, err := comparison{newest, saved}.trees(ctx, store, done.Name)
	if fault.CodeOf(err) == fault.NoCode {
		return since, nil, nil
	}
	if err != nil {
		return since, nil, err
	}
	where, err := s.whereForGit(ctx, store)
	if err != nil {
		return since, nil, err
	}
	changes, err := s.pathChanges(ctx, where, trees, nil)
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

// leavingFiles says, after a travel, what brings edited files back and what leaves them alone. An undo is not undone: its
// files come back by the frame that has them.
func (s *session) leavingFiles(done *travel.Result) string {
	if done.Op.Kind == snapshot.OpUndo {
		return ""
	}
	how := "; `" + fault.CommandLine(program, "undo", done.Run) + "` brings them back, "
	if command := s.typedWith("--no-vcs"); command != "" {
		return how + "`" + command + "` leaves files alone"
	}
	return how + "--no-vcs leaves files alone"
}
