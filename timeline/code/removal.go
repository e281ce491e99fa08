package code

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/timeline"
)

// Removal is the untracked files that a restore is about to remove from one working copy.
type Removal struct {
	Root  string   // the top of the working copy
	Paths []string // sorted
}

// ConfirmRemoval is called before a restore removes untracked files. A frame keeps these files. If ConfirmRemoval
// returns an error, the operation ends with that error and changes nothing. A nil ConfirmRemoval agrees.
type ConfirmRemoval func(ctx context.Context, removals []Removal) error

// Confirmed calls prepare, and then confirm if untracked files are to be removed. It closes the jobs while confirm
// waits for an answer, and calls prepare again afterwards. If other untracked files are to be removed by then, it
// calls confirm again.
func (r *RestoreJobs) Confirmed(ctx context.Context, confirm ConfirmRemoval, prepare func() error) error {
	var agreed []Removal
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

// removals lists the untracked files that are to be removed, by working copy.
func (r *RestoreJobs) removals(ctx context.Context) ([]Removal, error) {
	var out []Removal
	for _, one := range r.All {
		paths, err := one.Copy.workspace.Untracked(ctx, one.plan)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			out = append(out, Removal{one.Copy.Root(), paths})
		}
	}
	return out, nil
}

func sameRemoval(a, b Removal) bool { return a.Root == b.Root && slices.Equal(a.Paths, b.Paths) }
