package files

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
)

// Removal lists the untracked files that a restore is about to remove from one working copy.
type Removal struct {
	Root  string   // the top of the working copy
	Paths []string // relative to Root, sorted
	New   []string // new files whose place a restored file takes; relative to Root, sorted
}

// ConfirmRemoval is called before a restore removes untracked files. A frame keeps these files. If
// ConfirmRemoval returns an error, the operation ends with that error and changes nothing. A nil ConfirmRemoval
// agrees to every removal, also of new untracked files, which stay otherwise.
type ConfirmRemoval func(ctx context.Context, removals []Removal) error

// Confirmed prepares the jobs by calling prepare, and asks the user by calling confirm before untracked files are
// removed. If the jobs remove no untracked files, or confirm is nil, Confirmed does not ask. If Confirmed returns nil,
// the jobs are prepared.
//
// While confirm waits for an answer, the jobs are closed, so Confirmed calls prepare again afterwards. If the jobs now
// remove other untracked files than before, Confirmed asks again. Confirmed returns the first error of prepare, of
// confirm or of the list of files.
func (r *RestoreJobs) Confirmed(ctx context.Context, confirm ConfirmRemoval, prepare func() error) error {
	var agreed []Removal
	r.KeepNew = r.KeepNew || confirm != nil
	for {
		if err := prepare(); err != nil || confirm == nil {
			return err
		}
		removals, err := r.removals(ctx)
		if err != nil {
			return timeline.Explain(err)
		}
		if len(removals) == 0 || slices.EqualFunc(removals, agreed, sameRemoval) {
			return nil
		}
		r.Close()
		if err := confirm(ctx, removals); err != nil {
			return err
		}
		agreed = removals
	}
}

// removals returns the untracked files that the prepared jobs remove, with one element for each working copy that
// has such files.
func (r *RestoreJobs) removals(ctx context.Context) ([]Removal, error) {
	var out []Removal
	for _, one := range r.All {
		known := slices.DeleteFunc(slices.Clone(one.plan.Changes), func(c jjbridge.PathChange) bool {
			return c.Op != jjbridge.OpRemove || slices.Contains(one.inTheWay, c.Path)
		})
		known, err := one.Copy.workspace.Untracked(ctx, known)
		if err != nil {
			return nil, err
		}
		removal := Removal{Root: one.Copy.Root(), New: one.inTheWay}
		for _, change := range known {
			removal.Paths = append(removal.Paths, change.Path)
		}
		if len(removal.Paths)+len(removal.New) > 0 {
			out = append(out, removal)
		}
	}
	return out, nil
}

// sameRemoval reports whether two removals are equal.
func sameRemoval(a, b Removal) bool {
	return a.Root == b.Root && slices.Equal(a.Paths, b.Paths) && slices.Equal(a.New, b.New)
}
