package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// RestoreJob is the restore of a frame's files in one working copy.
type RestoreJob struct {
	Store *timeline.Store
	Copy  *WorkingCopy
	Name  string        // the task whose own worktree Copy is; "" for the run's working copy
	asked *snapshot.VCS // the files of the frame; nil until prepare
	Want  *snapshot.VCS // the files to restore; after prepare, paths that stay have the files of have
	Stays []string      // absolute paths that the restore leaves as they are
	// Only, if not nil, reports whether the restore may change a file. It leaves all others as they are.
	Only func(path string) bool
	// Merge, if not nil, returns the files to restore, computed from the captured files. Want then has only the scope of
	// the capture.
	Merge func(context.Context, *jjbridge.CapturedFiles) (*snapshot.VCS, error)
	// Switch, if not nil, can restore the files in place of the job. It reports whether it has.
	Switch func(context.Context) (bool, error)
	stays  []string // Stays, and the files that Only leaves
	paths  []string // the paths of stays in this working copy, relative to its top

	left     []snapshot.LeftOut // new files that stay, as Out.New
	inTheWay []string           // new files whose place a restored file takes

	have *jjbridge.CapturedFiles // the files before the restore
	plan *jjbridge.Plan          // the changes that the restore makes; nil until prepare
	now  *jjbridge.CapturedFiles // the files after the restore; nil until look
	Out  *RestoreResult          // the result, which the job completes
}

// prepare captures the files of the working copy, plans the changes of the restore, and sets the changes in r.Out. The
// plan leaves the paths in r.Stays as they are, and untracked files with secrets. prepare changes no file. After close, the caller may call prepare
// again.
func (r *RestoreJob) prepare(ctx context.Context) error {
	if r.asked == nil {
		r.asked = r.Want
	}
	// An earlier call of prepare may have changed these fields.
	r.Want, r.stays, r.paths, r.Out.Stayed, r.Out.Secrets = r.asked, slices.Clone(r.Stays), nil, nil, nil
	var err error
	if r.have, err = r.Copy.read(ctx, scopeLike(r.Want)); err != nil {
		return err
	}
	if r.Merge != nil {
		if r.Want, err = r.Merge(ctx, r.have); err != nil {
			return err
		}
	}
	if err := r.leaveOthers(ctx); err != nil {
		return err
	}
	if err := r.leaveStaying(); err != nil {
		return err
	}
	r.left = nil
	r.Out.Root, r.Out.Name = r.Copy.Root(), r.Name
	return r.makePlan(ctx)
}

// makePlan sets r.plan from r.have to r.Want, without the files in r.left, and the changes in r.Out.
func (r *RestoreJob) makePlan(ctx context.Context) (err error) {
	if r.plan, err = r.Copy.workspace.Plan(ctx, r.have, r.Want.Tree, slices.Concat(r.Want.LeftOut, r.left)...); err != nil {
		return err
	}
	r.plan.Stay = r.paths
	r.Out.Changes = append([]jjbridge.PathChange{}, r.plan.Changes...)
	return nil
}

// Have returns the files before the restore. It returns nil before RestoreJobs.Prepare.
func (r *RestoreJob) Have() *jjbridge.CapturedFiles { return r.have }

// Recapture captures the working copy anew, as the files after the operation. It replaces RestoreJobs.Restore where another
// program has changed the files.
func (r *RestoreJob) Recapture(ctx context.Context) (err error) {
	r.now, err = r.Copy.read(ctx, scopeLike(r.Want))
	return timeline.Explain(err)
}

// close closes the captures of the job, so that captured files that are in no frame are removed.
func (r *RestoreJob) close() {
	for _, captured := range []*jjbridge.CapturedFiles{r.have, r.now} {
		if captured != nil {
			_ = captured.Close() // a later capture removes a quarantine that stays
		}
	}
	r.have, r.now = nil, nil
}

// restore makes the planned changes, and makes jj treat the files as conflicted if r.Want is the capture of a
// conflict. If the files have the same conflict already, restore leaves the conflict as it is. If jj cannot
// restore the conflict, restore warns.
func (r *RestoreJob) restore(ctx context.Context) error {
	if r.Switch != nil && len(r.plan.Changes) > 0 {
		if done, err := r.Switch(ctx); done || err != nil {
			return err
		}
	}
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

// takeBack restores the files that the working copy had before the call of r.restore. If r.restore changed no file
// and the earlier files had no jj conflict, takeBack does nothing.
func (r *RestoreJob) takeBack(ctx context.Context) error {
	if len(r.plan.Changes) == 0 && !r.have.VCS.Conflicted {
		return nil
	}
	before := &RestoreJob{Store: r.Store, Copy: r.Copy, Name: r.Name, Want: &r.have.VCS, Out: new(RestoreResult)}
	defer before.close()
	err := before.prepare(ctx)
	if err == nil {
		err = before.restore(ctx)
	}
	return err
}

// scopeLike returns the scope in which to capture files for a comparison with v. If the capture of v looked at
// tracked files alone, the scope is ScopeTracked, so that a restore leaves other files as they are. Otherwise
// the scope is ScopeAll.
func scopeLike(v *snapshot.VCS) string {
	left := slices.ContainsFunc(v.LeftOut, func(l snapshot.LeftOut) bool { return l.Reason == snapshot.LeftUntracked && l.Path == "" })
	if v.Scope == snapshot.ScopeTracked || left {
		return snapshot.ScopeTracked
	}
	return snapshot.ScopeAll
}

// look captures the working copy after the restore and sets r.now. It warns about additional files and about files
// that differ. If all files of r.Want were restored, look takes additional files out of r.now, so that they get into
// no frame.
func (r *RestoreJob) look(ctx context.Context) {
	r.now = r.after(ctx)
	if !r.Copy.compare(ctx, r.now, r.Want, r.left) {
		return
	}
	// An additional file may be a secret that was ignored before the restore.
	as := r.now.VCS
	as.Tree, as.Scope = r.Want.Tree, r.Want.Scope
	as.LeftOut, as.LeftOutMore = r.Want.LeftOut, r.Want.LeftOutMore
	_ = r.now.Close() // a later capture removes a quarantine that stays
	r.now = &jjbridge.CapturedFiles{VCS: as}
}

// after returns a capture of the working copy after the restore. If the plan guarantees the files after the restore,
// after does not read them, and returns a capture with the files of r.Want. If the files are unreadable, after warns
// and also returns a capture with the files of r.Want.
func (r *RestoreJob) after(ctx context.Context) *jjbridge.CapturedFiles {
	wanted := &jjbridge.CapturedFiles{VCS: r.have.VCS}
	wanted.VCS.Tree, wanted.VCS.Altered, wanted.VCS.AlteredMore = r.Want.Tree, r.Want.Altered, r.Want.AlteredMore
	// In a git working copy without altered files, a restore like this leaves exactly the planned files.
	if r.have.VCS.Type == snapshot.VCSGit && len(r.have.VCS.Altered)+len(r.Want.Altered) == 0 && r.plan.Settled() {
		return wanted
	}
	now, err := r.Copy.read(ctx, scopeLike(r.Want))
	if err != nil {
		r.Store.Warn(fmt.Errorf("the restored files were not checked: %w", err))
		wanted.VCS.LeftOut, wanted.VCS.LeftOutMore = r.Want.LeftOut, r.Want.LeftOutMore
		return wanted
	}
	return now
}

// WorktreeOf returns the record of a task's own worktree from v. If name is "", it returns v itself. Otherwise
// name is the task's id; if v has no record of the task's worktree, WorktreeOf returns nil. v may be nil.
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

// WithWorktree returns a copy of the record vcs with a new record of one working copy. name is the task whose own
// worktree this is, or "" for the run's working copy. captured is the new record. The copy keeps the records of the
// other working copies. vcs may be nil; WithWorktree does not change it.
func WithWorktree(vcs *snapshot.VCS, name string, captured snapshot.VCS) *snapshot.VCS {
	var others []snapshot.Worktree
	if vcs != nil {
		others = vcs.Worktrees
	}
	if name == "" {
		captured.Worktrees = slices.Clone(others)
		return &captured
	}
	out := snapshot.VCS{Type: captured.Type}
	if vcs != nil {
		out = *vcs
	}
	out.Worktrees = slices.DeleteFunc(slices.Clone(others), func(w snapshot.Worktree) bool { return w.Name == name })
	out.Worktrees = append(out.Worktrees, snapshot.Worktree{Name: name, VCS: captured})
	slices.SortFunc(out.Worktrees, func(a, b snapshot.Worktree) int { return strings.Compare(a.Name, b.Name) })
	return &out
}
