package verify

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// brokenChain is the place at which a chain becomes unreadable.
type brokenChain struct {
	at  objstore.ID // the unreadable entry; zero if the tip ref is broken
	err error       // the reason
}

// brokenTip checks a run with a broken tip ref, as far as its frame refs reach. id is the run's id. brokenTip reports
// err, the error of the tip ref, as a problem.
func (v *verifier) brokenTip(ctx context.Context, id string, err error) error {
	v.report.Runs++
	return v.withoutTip(ctx, id, objstore.ID{}, err)
}

// withoutTip checks a run with an unreadable newest entry, as far as its frame refs reach. id is the run's id. tip is
// the id of the newest entry, or zero if the tip ref is broken. withoutTip reports err, the reason, as a problem.
func (v *verifier) withoutTip(ctx context.Context, id string, tip objstore.ID, err error) error {
	frames := make(map[int64]objstore.ID)
	if err := v.remains(ctx, id, nil, frames, &brokenChain{tip, err}); err != nil {
		return err
	}
	v.frameRefs(ctx, snapshot.Run{ID: id}, tip, frames)
	return timeline.Explain(ctx.Err())
}

// remains checks the entries of a run that the walk from the tip cannot reach, because the chain is broken. It starts
// from each frame ref whose frame is not in frames, and adds the commits of the frames that it finds to frames. It
// reports each unreadable entry once, with its frame number if a ref names the entry. tip is the entry at the tip, or
// nil if the tip is unreadable. broken is the place at which the chain from the tip becomes unreadable.
func (v *verifier) remains(ctx context.Context, id string, tip *snapshot.Entry, frames map[int64]objstore.ID, broken *brokenChain) error {
	list, _ := v.store.Refs().Frames(ctx, id) // frameRefs reports errors of refs
	noted := make(map[objstore.ID]bool)
	note := func(broken *brokenChain) {
		if noted[broken.at] {
			return
		}
		noted[broken.at] = true
		v.noteAt(id, broken.at, frameOf(list, broken.at), broken.err)
	}
	note(broken)
	for _, ref := range slices.Backward(list) {
		if err := ctx.Err(); err != nil {
			return timeline.Explain(err)
		}
		if _, met := frames[ref.Frame]; met {
			continue
		}
		entry, err := snapshot.ReadEntry(v.store.Objects(), ref.ID)
		if err != nil {
			frames[ref.Frame] = ref.ID
			note(&brokenChain{ref.ID, err})
			continue
		}
		// If asFrameOf fails, the next check compares the stored run id and frame number.
		if seen, err := asFrameOf(v.store.Objects(), tip, entry, ref.Frame); err == nil {
			entry = seen
		}
		if entry.Run != id || entry.Frame != ref.Frame {
			continue // frameRefs reports the wrong ref
		}
		if broken := v.stretch(ctx, id, entry, frames, newOpsVerifier()); broken != nil {
			note(broken)
		}
	}
	return timeline.Explain(ctx.Err())
}

// asFrameOf returns entry, the entry of a ref of the given frame, as the run of tip shows this entry: with the run id
// and the frame number of this run. The stored entry has other values if the run is a fork that continues another run's
// entries. If tip is nil, because the tip is unreadable, asFrameOf returns entry unchanged.
func asFrameOf(r objstore.Reader, tip, entry *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if tip == nil {
		return entry, nil
	}
	return snapshot.AsFrame(r, tip, entry, frame)
}

// frameOf returns the frame number of the ref in list with the value id, or snapshot.NoFrame if list has no
// such ref.
func frameOf(list []refs.FrameRef, id objstore.ID) int64 {
	i := slices.IndexFunc(list, func(ref refs.FrameRef) bool { return ref.ID == id })
	if i < 0 {
		return snapshot.NoFrame
	}
	return list[i].Frame
}
