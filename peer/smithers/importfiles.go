package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// addFiles gives a frame its working copy, and appends before it those that passed.
func (r *runPass) addFiles(ctx context.Context, draft *snapshot.Draft, newest bool, pointer string) error {
	current, err := filesOf(r.series.Entry())
	if err != nil {
		return err
	}
	passing := r.copies.Between(current, r.before, workcopy.Moment{AtMs: draft.AtMs, Pointer: pointer})
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
	if !newest && !r.isTogether(draft.AtMs) || !r.im.req.Files {
		return nil
	}
	captured, objects, err := r.copies.Capture(ctx, current, draft.AtMs)
	if err != nil || captured == nil {
		return err
	}
	draft.VCS, draft.Objects, r.files = captured, objects, captured
	return nil
}

// togetherMs is how much older than the newest frame one may be to have its files: they are nearer to those that were
// there at that frame than what was captured before it, which lacks what its tasks have written.
const togetherMs = 250

// isTogether reports whether a frame came so shortly before the newest one that it was found with it.
func (p *peerRun) isTogether(atMs int64) bool {
	return p.heads[len(p.heads)-1].AtMs-atMs <= togetherMs
}

func filesOf(entry *snapshot.Entry) (*snapshot.VCS, error) {
	if entry == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	return entry.VCSRevision()
}
