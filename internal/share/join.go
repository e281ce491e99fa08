package share

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Diverged is a run that was continued both in this repository and at a remote.
type Diverged struct {
	Run    string
	Local  *snapshot.Entry // the local tip
	Remote *snapshot.Entry // the remote's tip, whose entries have passed the checks
	Common objstore.ID     // the newest common entry
}

// Since returns the newest common entry and the entries that follow it up to tip, oldest first. It returns nil if the run of tip begins after the common entry.
func (d Diverged) Since(s *timeline.Store, tip *snapshot.Entry) (entries []*snapshot.Entry, err error) {
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		if entries = append(entries, entry); entry.ID == d.Common {
			slices.Reverse(entries)
			return entries, nil
		}
	}
	return nil, nil
}

// join lets Options.Join put the local entries onto the remote's. It returns false if the run must be split instead. If
// the local tip has moved meanwhile, the error wraps refs.ErrConflict.
func (f *fetch) join(ctx context.Context, run *incomingRun, what Diverged) (joined bool, err error) {
	if f.opts.Join == nil {
		return false, nil
	}
	tip, err := f.opts.Join(ctx, what)
	if err != nil || tip == nil {
		return false, err
	}
	fresh, err := f.store.Frames(ctx, what.Remote, what.Common)
	if err != nil {
		return true, timeline.Explain(err)
	}
	run.end(StateJoined, "")
	run.Tip, run.Frames = tip.ID, len(fresh.Frames)
	return true, nil
}
