package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// restoring is one restore of a run's code in a working copy.
type restoring struct {
	store *Store
	copy  *WorkingCopy
	name  string        // of the task's own worktree that copy is; "" for the run's working copy
	asked *snapshot.VCS // what the frame has; nil until prepare
	want  *snapshot.VCS // of that, with what stays as it is in have; from prepare on, it may need have's objects
	stays []string      // absolute paths that are left as they are
	paths []string      // those of stays that are in this working copy, from its top

	have *jjbridge.Captured // what was there
	plan *jjbridge.Plan
	now  *jjbridge.Captured // what has become of it; nil until it is looked at
	out  *Restored
}

// prepare finds out what there is to do. It touches nothing, and may be called again after close.
func (r *restoring) prepare(ctx context.Context) error {
	if r.asked == nil {
		r.asked = r.want
	}
	r.want, r.paths, r.out.Stayed = r.asked, nil, nil
	var err error
	if r.have, err = r.copy.read(ctx, scopeLike(r.want)); err != nil {
		return err
	}
	if err := r.leaveStaying(); err != nil {
		return err
	}
	if r.plan, err = r.copy.workspace.Plan(ctx, r.have, r.want.Tree, r.want.LeftOut...); err != nil {
		return err
	}
	r.plan.Stay = r.paths
	r.out.Changes = append([]jjbridge.PathChange{}, r.plan.Changes...)
	r.out.Root, r.out.Name = r.copy.Root(), r.name
	return nil
}

// close drops what was captured and is in no frame.
func (r *restoring) close() {
	for _, captured := range []*jjbridge.Captured{r.have, r.now} {
		if captured != nil {
			_ = captured.Close() // a quarantine that stays is removed by a later capture
		}
	}
	r.have, r.now = nil, nil
}

// restore does what was prepared.
func (r *restoring) restore(ctx context.Context) error {
	if len(r.plan.Changes) > 0 {
		if err := r.copy.workspace.Restore(ctx, r.plan); err != nil {
			return err
		}
	}
	if now := r.have.VCS; now.Conflicted && now.CommitID == r.want.CommitID {
		return nil
	}
	r.copy.restoreConflict(context.WithoutCancel(ctx), r.want)
	return nil
}

// takeBack makes the files again what they were, as far as nobody has changed them since.
func (r *restoring) takeBack(ctx context.Context) error {
	if len(r.plan.Changes) == 0 && !r.have.VCS.Conflicted {
		return nil
	}
	before := &restoring{store: r.store, copy: r.copy, name: r.name, want: &r.have.VCS, out: new(Restored)}
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
func (r *restoring) look(ctx context.Context) {
	r.now = r.after(ctx)
	if !r.copy.compare(ctx, r.now, r.want) {
		return
	}
	// What is there besides may be a secret that was ignored a moment ago.
	as := r.now.VCS
	as.Tree, as.Scope = r.want.Tree, r.want.Scope
	as.LeftOut, as.LeftOutMore = r.want.LeftOut, r.want.LeftOutMore
	_ = r.now.Close() // see close
	r.now = &jjbridge.Captured{VCS: as}
}

// after is the working copy when its files are restored.
func (r *restoring) after(ctx context.Context) *jjbridge.Captured {
	wanted := &jjbridge.Captured{VCS: r.have.VCS}
	wanted.VCS.Tree, wanted.VCS.Altered, wanted.VCS.AlteredMore = r.want.Tree, r.want.Altered, r.want.AlteredMore
	if r.have.VCS.Type == snapshot.VCSGit && len(r.have.VCS.Altered)+len(r.want.Altered) == 0 && r.plan.Settled() {
		return wanted
	}
	now, err := r.copy.read(ctx, scopeLike(r.want))
	if err != nil {
		r.store.warn(fmt.Errorf("the restored files are not looked at again: %w", err))
		wanted.VCS.LeftOut, wanted.VCS.LeftOutMore = r.want.LeftOut, r.want.LeftOutMore
		return wanted
	}
	return now
}

// worktreeOf is what v says of a task's own worktree or, without a name, of the run's
// working copy; nil where it says nothing.
func worktreeOf(v *snapshot.VCS, name string) *snapshot.VCS {
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

// withWorktree is all with what was captured in the working copy of a name.
func withWorktree(all *snapshot.VCS, name string, captured snapshot.VCS) *snapshot.VCS {
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
