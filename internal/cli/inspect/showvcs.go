package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// itemsShown is how many files of each list people see.
const itemsShown = 10

// workingCopy writes the revisions of the working copy and of the tasks' worktrees. If the entry has no revision, it
// writes nothing.
func (v *stateView) workingCopy(entry *snapshot.Entry) error {
	vcs, err := entry.VCSRevision()
	if err != nil || vcs == nil {
		return err
	}
	v.title("Working copy")
	v.vcs(vcs, "")
	if len(v.shared) > 0 {
		v.field("shared", "with "+display.List(v.shared)+": changed files may be theirs")
	}
	for _, own := range vcs.Worktrees {
		v.title("Worktree of " + plain.Text(own.Name))
		v.vcs(&own.VCS, own.Name)
	}
	return nil
}

// filesBehind returns descriptions of the working copies of the loaded entry at whose files are older than the entry's
// state. The key in the map is the name of the task that has its own worktree, or "" for the working copy that tasks
// share. The map is nil if no files are older.
func filesBehind(ctx context.Context, store *timeline.Store, at *timeline.LoadedEntry) (map[string]*files.Behind, error) {
	vcs, err := at.Entry.VCSRevision()
	if err != nil || vcs == nil {
		return nil, timeline.Explain(err)
	}
	names := []string{""}
	for _, own := range vcs.Worktrees {
		names = append(names, own.Name)
	}
	var all map[string]*files.Behind
	for _, name := range names {
		behind, err := files.BehindState(ctx, store, at, name)
		if err != nil {
			return nil, err
		}
		if behind != nil {
			if all == nil {
				all = make(map[string]*files.Behind)
			}
			all[name] = behind
		}
	}
	return all, nil
}

// forkedCopy has the working copy of a frame from which a run was forked.
type forkedCopy struct {
	run string // the run that has the frame
	vcs *snapshot.VCS
}

// forkedCopies returns the working copies with which a fork began, one for each ancestor. The first is the working copy
// at the frame from which the run was forked. The second is the working copy at the frame from which the run's parent
// was forked, and so on. row is the row of the fork. For a run that is not a fork, the list is nil.
//
// The list ends before an ancestor whose frame has no working copy. It also ends before a run of another repository,
// and at a run that continues the frames of its parent (see snapshot.Parent).
func forkedCopies(ctx context.Context, store *timeline.Store, row snapshot.Run) ([]forkedCopy, error) {
	var found []forkedCopy
	for row.Parent != nil && row.Parent.Extension.IsZero() {
		origin := list.OriginOf(ctx, store, row)
		if origin.Elsewhere {
			break
		}
		entry, err := snapshot.ReadEntry(store.Objects(), row.Parent.Commit)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		vcs, err := entry.VCSRevision()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if vcs == nil {
			break
		}
		from, err := entry.RunRow()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		// from.ID is an older ancestor if the parent had no frame of its own when the run was forked from it. Otherwise
		// from.ID is the parent, but a split may have moved the frame to the run in origin.
		run := from.ID
		if run == row.Parent.RunID {
			run = origin.At.Run
		}
		found, row = append(found, forkedCopy{run, vcs}), from
	}
	return found, nil
}

// capturedAt returns the frame at which the files of vcs were captured, in words. This is a frame of the run, or a
// frame of an ancestor if the run was forked with these files. worktree is the name of the task whose own worktree has
// the files, or "" for the files that tasks share.
func (v *stateView) capturedAt(vcs *snapshot.VCS, worktree string) string {
	at := fmt.Sprintf("frame %d", vcs.Frame)
	// If an ancestor has the same capture, the run did not make the capture, and vcs.Frame is the number of a frame of
	// the ancestor. The last such ancestor made the capture.
	for _, before := range v.before {
		had := before.vcs
		if worktree != "" {
			i := slices.IndexFunc(had.Worktrees, func(w snapshot.Worktree) bool { return w.Name == worktree })
			if i < 0 {
				return at
			}
			had = &had.Worktrees[i].VCS
		}
		if had.Frame != vcs.Frame || had.Tree != vcs.Tree || had.CommitID != vcs.CommitID || had.Operation != vcs.Operation {
			return at
		}
		at = timeline.Address{Run: before.run, Frame: vcs.Frame}.String()
	}
	return at
}

// vcs writes one revision, the frame at which its files were captured, the attempts that were running then, and the
// files that were left out or altered. worktree is the name of the task whose own worktree has the files, or "" for the
// files that tasks share.
func (v *stateView) vcs(vcs *snapshot.VCS, worktree string) {
	v.field("type", vcs.Type)
	v.id("change", vcs.ChangeID)
	v.id("commit", vcs.CommitID)
	v.id("operation", vcs.Operation)
	v.field("branch", vcs.Branch)
	v.field("root", vcs.Root)
	if vcs.Tree.IsZero() {
		v.field("files", "not captured")
	} else {
		files := "captured at " + v.capturedAt(vcs, worktree)
		if vcs.Scope == snapshot.ScopeTracked {
			files += ", only tracked files"
		}
		if vcs.Conflicted {
			files += ", with conflict markers"
		}
		v.field("files", files)
		if behind := v.behind[worktree]; behind != nil {
			v.field("older", "than the state: later changes by these attempts were not captured: "+display.BesideNames(behind.Attempts))
		}
	}
	for _, key := range vcs.Attempts {
		v.field("running", display.AttemptKey(key))
	}
	altered := make([]string, len(vcs.Altered))
	for i, file := range vcs.Altered {
		altered[i] = file.Path + " (" + file.By + ")"
	}
	v.list("left out", display.LeftOutNames(vcs.LeftOut))
	v.list("altered", altered)
}

// list writes a line for each of the first itemsShown items, and then a line with the number of the other items. Each
// line begins with name.
func (v *stateView) list(name string, items []string) {
	for _, item := range items[:min(itemsShown, len(items))] {
		v.field(name, item)
	}
	if rest := len(items) - itemsShown; rest > 0 {
		v.field(name, fmt.Sprintf("%d more; --json lists them all", rest))
	}
}

// id writes a line with the name of an id, the beginning of the id, and the whole id. It writes nothing if the id is
// "".
func (v *stateView) id(name, id string) {
	if id != "" {
		v.printf("  %-11s  %s  %s\n", name, v.p.Revision(plain.Text(display.ShortID(id))), v.p.Paint(term.Dim, plain.Text(id)))
	}
}

// pointer writes the frame that has the files as they were after the attempt a. If they are known, it also writes the
// commit and the worktree of the files, the other attempts that changed the files, and the runs and sessions that were at
// work in the same folder. It writes nothing if no frame
// has the files.
func (v *stateView) pointer(a snapshot.Attempt) error {
	if a.Frame == nil || a.Tree.IsZero() {
		return nil
	}
	v.printf("    files: frame %d", *a.Frame)
	if a.CommitID != "" {
		v.printf(", on commit %s", v.p.Revision(plain.Text(display.ShortID(a.CommitID))))
	}
	if a.Worktree != "" {
		v.printf(", in the worktree of %s", plain.Text(a.Worktree))
	}
	if len(a.Beside) > 0 {
		v.printf(", shared with %s", display.BesideNames(a.Beside))
	}
	others, err := v.sharedWith(a)
	if len(others) > 0 {
		v.printf(", shared with run %s", display.List(others))
	}
	v.WriteByte('\n')
	return err
}
