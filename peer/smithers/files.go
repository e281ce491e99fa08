package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// addFiles gives a frame its working copy. It first appends entries for the working copies that were there before it.
func (r *runPass) addFiles(ctx context.Context, draft *snapshot.Draft, newest bool, pointer string) error {
	current, err := filesOf(r.series.Entry())
	if err != nil {
		return err
	}
	passing := r.Copies.Between(current, r.before, workcopy.Moment{AtMs: draft.AtMs, Pointer: pointer})
	for i, vcs := range passing {
		current = &vcs
		if i < len(passing)-1 && !r.first() {
			if err := r.append(ctx, filesOnly(&vcs, draft.AtMs, r.im.limits), r.behind); err != nil {
				return err
			}
			continue
		}
		draft.VCS = current
	}
	if !newest && !r.IsTogether(draft.AtMs) || !r.im.req.Files {
		return nil
	}
	captured, objects, err := r.Copies.Capture(ctx, current, draft.AtMs)
	if err != nil || captured == nil {
		return err
	}
	draft.VCS, draft.Objects, r.files = captured, objects, captured
	return nil
}

func filesOf(entry *snapshot.Entry) (*snapshot.VCS, error) {
	if entry == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	return entry.VCSRevision()
}
