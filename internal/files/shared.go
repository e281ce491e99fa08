package files

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Shared is what a run changed while others were at work in its working copy: the changes may be theirs.
type Shared struct {
	With  []string // the runs and sessions, sorted
	Paths []string // the changed files, sorted
}

// SharedSince returns what is shared of the changes from the entry with the id from to the later entry with the id to, in
// the working copy that tasks share. It returns nil if nothing is. Frames that were dropped between do not count.
func SharedSince(ctx context.Context, s *timeline.Store, from, to objstore.ID) (*Shared, error) {
	newest, err := snapshot.ReadEntry(s.Objects(), to)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if row, err := newest.RunRow(); err == nil && row.Parent == nil {
		alone, err := neverShared(ctx, s, newest.Run)
		if err != nil || alone {
			return nil, err
		}
	}
	with, paths := make(map[string]bool), make(map[string]bool)
	var after objstore.ID // the files of a shared frame, whose changes since the frame before are to be found
	run, above := "", int64(0)
	for entry, err := range snapshot.Ancestry(s.Objects(), newest) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if entry.Run == run && entry.Frame > above && entry.ID != from {
			continue // a later frame has dropped it
		}
		if run = ""; entry.Based != nil {
			run, above = entry.Run, *entry.Based
		}
		vcs, err := entry.VCSRevision()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if vcs == nil {
			continue
		}
		if !after.IsZero() && vcs.Tree != after {
			changes, err := ChangedFiles(ctx, s.Objects(), vcs.Tree, after, "")
			if err != nil {
				return nil, timeline.Explain(err)
			}
			for _, change := range changes {
				paths[change.Path] = true
			}
			after = objstore.ID{}
		}
		if entry.ID == from {
			break
		}
		others, err := entry.SharedWith()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		for _, id := range others {
			with[id], after = true, vcs.Tree
		}
	}
	if len(with) == 0 || len(paths) == 0 {
		return nil, nil //nolint:nilnil // nothing is shared
	}
	return &Shared{slices.Sorted(maps.Keys(with)), slices.Sorted(maps.Keys(paths))}, nil
}

// neverShared reports whether the index knows that no frame of a run has files that others may have changed.
func neverShared(ctx context.Context, s *timeline.Store, run string) (bool, error) {
	index, err := s.Details(ctx, run)
	if err != nil {
		return false, err
	}
	events, err := index.Events(ctx, sqliteindex.EventQuery{RunID: run, Types: []string{"FilesShared"}, Limit: 1})
	return len(events) == 0, timeline.Explain(err)
}

// SharedWith returns the runs and sessions that were at work in the working copy when the files of a frame were made, or
// nil. The parameter entry is the frame.
func SharedWith(ctx context.Context, s *timeline.Store, entry *snapshot.Entry) ([]string, error) {
	vcs, err := entry.VCSRevision()
	if err != nil || vcs == nil {
		return nil, timeline.Explain(err)
	}
	if entry.Frame != vcs.Frame {
		made, err := s.At(ctx, timeline.Address{Run: entry.Run, Frame: vcs.Frame})
		if code := fault.CodeOf(err); code == fault.FrameNotFound || code == fault.RunNotFound || code == fault.RunPruned {
			return nil, nil // the number is one of a run that this one was forked from
		}
		if err != nil {
			return nil, err
		}
		if then, err := made.Entry.VCSRevision(); err != nil || then == nil || then.Tree != vcs.Tree {
			return nil, timeline.Explain(err)
		}
		entry = made.Entry
	}
	with, err := entry.SharedWith()
	return with, timeline.Explain(err)
}

// AttemptSharedWith returns the runs and sessions that were at work in the working copy when the files of an attempt of run
// were captured, or nil.
func AttemptSharedWith(ctx context.Context, s *timeline.Store, run string, a snapshot.Attempt) ([]string, error) {
	if a.Frame == nil || a.Worktree != "" {
		return nil, nil
	}
	at, err := s.At(ctx, timeline.Address{Run: run, Frame: *a.Frame})
	if fault.CodeOf(err) == fault.FrameNotFound {
		return nil, nil // the number is one of a run that this one was forked from
	}
	if err != nil {
		return nil, err
	}
	if vcs, err := at.Entry.VCSRevision(); err != nil || vcs == nil || vcs.Tree != a.Tree {
		return nil, timeline.Explain(err)
	}
	return SharedWith(ctx, s, at.Entry)
}

// String says whose work the changes may be.
func (sh *Shared) String() string {
	who, files := sh.Names()
	return fmt.Sprintf("%s %s at work in the same folder, so these changes may be theirs: %s", who, was(len(sh.With)), files)
}

// Names returns the names of the others and of the files, each in a list for people.
func (sh *Shared) Names() (who, files string) { return strings.Join(sh.With, ", "), someOf(sh.Paths) }

// Refusal returns an error with the code about shared changes, and how to get them all the same. doing says what is
// refused, in the past tense.
func (sh *Shared) Refusal(code fault.Code, doing string) *fault.Error {
	out := fault.New(code, "%s: %s", doing, sh).Detail("sharedWith", sh.With).Detail("files", sh.Paths)
	return out.Hint("--shared takes all of them; in a session, --own takes the files that its own calls of tools name")
}

// was returns the past form of to be.
func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// refuseBeside returns restore_refused if the restore removes or replaces files in a folder where another run executes
// commands now. run is the run whose files are restored, or "".
func (r *RestoreJob) refuseBeside(run string) error {
	var paths []string
	for _, change := range r.plan.Changes {
		if change.Op != jjbridge.OpAdd {
			paths = append(paths, change.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	others := claim.PresenceAt(r.Store, r.Copy.Root()).Executing(run)
	if len(others) == 0 {
		return nil
	}
	return fault.New(fault.RestoreRefused, "run %s executes commands in %s, and this would remove or replace files there: %s",
		strings.Join(others, ", "), r.Copy.Root(), someOf(paths)).Detail("executing", others).Detail("files", paths).
		Hint("nothing was changed; `git smithers cancel %s` ends the run", fault.Word(others[0])).
		Hint("or restore into another folder with `git smithers restore --to`")
}

// leaveOthers adds to r.stays the files that r.Want changes and r.Only does not name.
func (r *RestoreJob) leaveOthers(ctx context.Context) error {
	if r.Only == nil {
		return nil
	}
	objects := r.Store.Objects().Begin() // reads the quarantine, and is never committed
	if err := r.have.Objects(objects); err != nil {
		return err
	}
	changes, err := ChangedFiles(ctx, objects, r.have.VCS.Tree, r.Want.Tree, "")
	for _, change := range changes {
		if !r.Only(change.Path) {
			r.stays = append(r.stays, filepath.Join(r.Copy.Root(), filepath.FromSlash(change.Path)))
		}
	}
	if err != nil {
		return fmt.Errorf("the files of the frame were not compared: %w", err)
	}
	return nil
}
