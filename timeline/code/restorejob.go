package code

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// RestoreJob is one restore of a run's code in one working copy.
type RestoreJob struct {
	Store *timeline.Store
	Copy  *WorkingCopy
	Name  string        // of the task's own worktree that copy is; "" for the run's working copy
	asked *snapshot.VCS // what the frame has; nil until prepare
	Want  *snapshot.VCS // of that, with what stays as it is in have; from prepare on, it may need have's objects
	Stays []string      // absolute paths that are left as they are
	paths []string      // those of stays that are in this working copy, from its top

	have *jjbridge.Captured // what was there
	plan *jjbridge.Plan
	now  *jjbridge.Captured // what has become of it; nil until it is looked at
	Out  *Restored
}

// prepare finds out what there is to do. It touches nothing, and may be called again after close.
func (r *RestoreJob) prepare(ctx context.Context) error {
	if r.asked == nil {
		r.asked = r.Want
	}
	r.Want, r.paths, r.Out.Stayed = r.asked, nil, nil
	var err error
	if r.have, err = r.Copy.read(ctx, scopeLike(r.Want)); err != nil {
		return err
	}
	if err := r.leaveStaying(); err != nil {
		return err
	}
	if r.plan, err = r.Copy.workspace.Plan(ctx, r.have, r.Want.Tree, r.Want.LeftOut...); err != nil {
		return err
	}
	r.plan.Stay = r.paths
	r.Out.Changes = append([]jjbridge.PathChange{}, r.plan.Changes...)
	r.Out.Root, r.Out.Name = r.Copy.Root(), r.Name
	return nil
}

// close drops what was captured and is in no frame.
func (r *RestoreJob) close() {
	for _, captured := range []*jjbridge.Captured{r.have, r.now} {
		if captured != nil {
			_ = captured.Close() // a quarantine that stays is removed by a later capture
		}
	}
	r.have, r.now = nil, nil
}

// restore does what was prepared.
func (r *RestoreJob) restore(ctx context.Context) error {
	if len(r.plan.Changes) > 0 {
		if err := r.Copy.workspace.Restore(ctx, r.plan); err != nil {
			return err
		}
	}
	if now := r.have.VCS; now.Conflicted && now.CommitID == r.Want.CommitID {
		return nil
	}
	r.Copy.restoreConflict(context.WithoutCancel(ctx), r.Want)
	return nil
}

// takeBack makes the files again what they were, as far as nobody has changed them since.
func (r *RestoreJob) takeBack(ctx context.Context) error {
	if len(r.plan.Changes) == 0 && !r.have.VCS.Conflicted {
		return nil
	}
	before := &RestoreJob{Store: r.Store, Copy: r.Copy, Name: r.Name, Want: &r.have.VCS, Out: new(Restored)}
	defer before.close()
	err := before.prepare(ctx)
	if err == nil {
		err = before.restore(ctx)
	}
	return err
}

// scopeLike is the scope in which the files that stand in the working copy are what
// those of v can be compared with. What v never looked at is not in it, and so is
// left alone.
func scopeLike(v *snapshot.VCS) string {
	left := slices.ContainsFunc(v.LeftOut, func(l snapshot.LeftOut) bool { return l.Reason == snapshot.LeftUntracked && l.Path == "" })
	if v.Scope == snapshot.ScopeTracked || left {
		return snapshot.ScopeTracked
	}
	return snapshot.ScopeAll
}

// look finds out what the working copy has become.
func (r *RestoreJob) look(ctx context.Context) {
	r.now = r.after(ctx)
	if !r.Copy.compare(ctx, r.now, r.Want) {
		return
	}
	// What is there besides may be a secret that was ignored a moment ago.
	as := r.now.VCS
	as.Tree, as.Scope = r.Want.Tree, r.Want.Scope
	as.LeftOut, as.LeftOutMore = r.Want.LeftOut, r.Want.LeftOutMore
	_ = r.now.Close() // see close
	r.now = &jjbridge.Captured{VCS: as}
}

// after is the working copy when its files are restored.
func (r *RestoreJob) after(ctx context.Context) *jjbridge.Captured {
	wanted := &jjbridge.Captured{VCS: r.have.VCS}
	wanted.VCS.Tree, wanted.VCS.Altered, wanted.VCS.AlteredMore = r.Want.Tree, r.Want.Altered, r.Want.AlteredMore
	if r.have.VCS.Type == snapshot.VCSGit && len(r.have.VCS.Altered)+len(r.Want.Altered) == 0 && r.plan.Settled() {
		return wanted
	}
	now, err := r.Copy.read(ctx, scopeLike(r.Want))
	if err != nil {
		r.Store.Warn(fmt.Errorf("the restored files are not looked at again: %w", err))
		wanted.VCS.LeftOut, wanted.VCS.LeftOutMore = r.Want.LeftOut, r.Want.LeftOutMore
		return wanted
	}
	return now
}

// WorktreeOf is what v says of a task's own worktree or, without a name, of the run's
// working copy; nil where it says nothing.
func WorktreeOf(v *snapshot.VCS, name string) *snapshot.VCS {
	if v == nil || name == "" {
		return v
	}
	for i := range v.Worktrees {
		if v.Worktrees[i].Name == name {
			return &v.Worktrees[i].VCS
		}
	}
	return nil
}

// WithWorktree is all with what was captured in the working copy of a name.
func WithWorktree(all *snapshot.VCS, name string, captured snapshot.VCS) *snapshot.VCS {
	var others []snapshot.Worktree
	if all != nil {
		others = all.Worktrees
	}
	if name == "" {
		captured.Worktrees = slices.Clone(others)
		return &captured
	}
	out := snapshot.VCS{Type: captured.Type}
	if all != nil {
		out = *all
	}
	out.Worktrees = slices.DeleteFunc(slices.Clone(others), func(w snapshot.Worktree) bool { return w.Name == name })
	out.Worktrees = append(out.Worktrees, snapshot.Worktree{Name: name, VCS: captured})
	slices.SortFunc(out.Worktrees, func(a, b snapshot.Worktree) int { return strings.Compare(a.Name, b.Name) })
	return &out
}
