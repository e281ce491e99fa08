package files

import (
	"context"
	"path"
	"slices"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// leaveNew changes the plan of a job so that new untracked files stay, and sets job.left. If a restored file takes the
// place of a new file, leaveNew adds the path to job.inTheWay instead. It does nothing while attempts of the run have not
// ended or another run executes commands in the working copy, because these may have made any file.
func (r *RestoreJobs) leaveNew(ctx context.Context, job *RestoreJob) error {
	job.left, job.inTheWay, job.Out.New = nil, nil, nil
	if !r.KeepNew || r.Head == nil || job.Merge != nil || len(job.Out.Running) > 0 {
		return nil
	}
	unknown, err := r.unknown(ctx, job)
	if err != nil || len(unknown) == 0 || len(claim.PresenceAt(r.Store, job.Copy.Root()).Executing(r.Head.Row().ID)) > 0 {
		return err
	}
	taken := takenPlaces(job.plan.Changes)
	for _, change := range unknown {
		if change.Op != jjbridge.OpRemove || taken(change.Path) {
			job.inTheWay = append(job.inTheWay, change.Path)
			continue
		}
		job.left = append(job.left, snapshot.LeftOut{Path: change.Path, Reason: snapshot.LeftUntracked})
		job.Out.New = append(job.Out.New, change.Path)
	}
	if len(job.left) == 0 {
		return nil
	}
	return job.makePlan(ctx)
}

// leavesOnly reports whether the files of the job are those to restore, and new files that stay.
func (r *RestoreJob) leavesOnly() bool { return len(r.left) > 0 && len(r.plan.Changes) == 0 }

// unknown returns the changes of a job's plan that remove or replace a new file: an untracked file at a path that the
// run's tip lacks, and that no other run has at its tip. A run whose files are unreadable has no file.
func (r *RestoreJobs) unknown(ctx context.Context, job *RestoreJob) ([]jjbridge.PathChange, error) {
	objects := r.Store.Objects().Begin() // reads the quarantine, and is never committed
	if err := job.have.Objects(objects); err != nil {
		return nil, err
	}
	vcs, err := r.Head.Entry().VCSRevision()
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(job.plan.Changes), func(c jjbridge.PathChange) bool { return c.Op == jjbridge.OpAdd })
	if own := WorktreeOf(vcs, job.Name); own != nil && !own.Tree.IsZero() {
		if left, err = job.without(ctx, objects, own.Tree, left, true); err != nil {
			return nil, err
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	if left, err = job.Copy.workspace.Untracked(ctx, left); err != nil || len(left) == 0 {
		return nil, err
	}
	tips, err := r.Store.Refs().Tips(ctx)
	if _, err = timeline.BrokenRefs(err); err != nil {
		return nil, err
	}
	for _, tip := range tips {
		if err := ctx.Err(); err != nil || len(left) == 0 {
			return nil, err
		}
		entry, err := snapshot.ReadEntry(r.Store.Objects(), tip.ID)
		if err != nil || entry.Run == r.Head.Row().ID {
			continue
		}
		vcs, err := entry.VCSRevision()
		if err != nil || vcs == nil || vcs.Tree.IsZero() || vcs.Root != job.have.VCS.Root {
			continue
		}
		if others, err := job.without(ctx, objects, vcs.Tree, left, false); err == nil {
			left = others
		}
	}
	return left, nil
}

// without returns the elements of changes without the files that a tree has as the working copy has them. If edited is true,
// it also leaves out the files that the tree has with another content.
func (r *RestoreJob) without(ctx context.Context, objects objstore.Reader, tree objstore.ID, changes []jjbridge.PathChange, edited bool) ([]jjbridge.PathChange, error) {
	differ, err := ChangedFiles(ctx, objects, tree, r.have.VCS.Tree, "")
	lacks := make(map[string]bool)
	for _, d := range differ {
		lacks[d.Path] = d.Op == jjbridge.OpAdd || !edited
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c jjbridge.PathChange) bool { return !lacks[c.Path] }), err
}

// takenPlaces returns a function that reports whether a file cannot stay at a path, because changes add a file below
// the path, or at a folder above the path.
func takenPlaces(changes []jjbridge.PathChange) func(string) bool {
	files, folders := make(map[string]bool), make(map[string]bool)
	for _, change := range changes {
		if change.Op != jjbridge.OpAdd {
			continue
		}
		files[change.Path] = true
		for dir := path.Dir(change.Path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return func(name string) bool {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				return true
			}
		}
		return folders[name]
	}
}
