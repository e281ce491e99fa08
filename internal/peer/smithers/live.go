package smithers

import (
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// captureFirst captures the working copies of the runs in im.filesOf, which probably have new frames. It sets
// im.copies. It runs before the pass reads the database, so that the read transaction is short. If im.filesOf is
// empty, captureFirst does nothing.
func (im *importJob) captureFirst(ctx context.Context) (err error) {
	if len(im.filesOf) == 0 {
		return nil
	}
	if im.copies, err = workcopy.NewFinder(ctx, im.store); err != nil {
		return timeline.Explain(err)
	}
	im.copies.Database = im.path
	for _, row := range im.filesOf {
		root, _ := workcopy.RootsOf(row)
		if _, err := im.copies.Capture(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// letGo closes the working copies of a pass and sets im.copies to nil. If im.copies is nil, letGo does nothing.
func (im *importJob) letGo() error {
	if im.copies == nil {
		return nil
	}
	err := im.copies.Close()
	im.copies = nil
	return err
}

// appendFrames appends the frames up to upTo, the newest frame that a watch found, in a pass that has read the rows for
// frames. It leaves the run's other rows to a later pass, and must be fast, because the captured files must still belong
// to this frame. done is true if the repository then has the frames, even if another process has imported them. In these
// cases, done is false, nothing is appended, and the run needs a pass over all rows:
//
//   - The rows lack the frame upTo.
//   - The run was never imported.
//   - Smithers' frames do not continue from the run's newest frame.
func (r *runPass) appendFrames(ctx context.Context, upTo source.Head) (done bool, err error) {
	at := slices.Index(r.Heads, upTo)
	if at < 0 {
		return false, nil
	}
	r.Heads, r.live = r.Heads[:at+1], true
	if _, err := r.open(ctx); err != nil || r.head == nil || !r.imported || r.was.Pass.IsOlder() {
		return false, err
	}
	row := r.head.Row()
	met := stored.Meet(r.frames, r.now, row.Parent != nil, r.Heads)
	switch {
	case met.End != row.Frame || met.End < r.was.Pass.Frame:
		return false, nil // Smithers' frames do not continue from the run's newest frame
	case met.Count == len(r.Heads):
		if err := r.Tx.Check(); err != nil {
			return false, err
		}
		return true, r.im.memory.keep(r, r.head.Entry().ID) // another watch has imported the frames
	}
	first, err := r.begin(ctx)
	if err != nil {
		return false, err
	}
	defer r.series.Close()
	before := r.entry
	for i := first; i < len(r.Heads); i++ {
		if err := r.appendFrame(ctx, i); err != nil {
			return false, fmt.Errorf("frame %d: %w", r.Heads[i].Frame, err)
		}
	}
	_, err = r.commit(ctx, before)
	return err == nil, err
}

// addPass adds the progress of the import to draft, the last frame of a live pass, with the ext/smithers rows of the new
// frames. It returns the progress, which has no digest of the rows, because a live pass does not read most rows. one has the
// facts of the frame, note what is kept of it, and upTo is the number of stored events of the database.
func (r *runPass) addPass(draft *snapshot.Draft, one tables.FrameFacts, note frameNote, upTo int) (stored.Pass, error) {
	described := append(slices.Clone(r.described), one.Frame)
	now := r.now.OfFrames(described)
	now.Pass = stored.Pass{Number: r.ext.Pass.Number + 1, Frame: one.Frame, Events: int64(upTo), Form: stored.Form}
	now.Marks = slices.Concat(now.Marks, note.marks)
	now.Frames[one.Frame] = note.row
	changes := make(map[string][]page.Change)
	stored.AddSnapshots(changes, r.snapshots)
	stored.AddSnapshots(changes, map[int64][]byte{one.Frame: note.snapshot})
	var err error
	draft.Ext, err = stored.Changes(r.ext.OfFrames(described), now, changes)
	return now.Pass, err
}
