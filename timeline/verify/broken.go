package verify

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// brokenChain is where a chain cannot be followed any further.
type brokenChain struct {
	at  objstore.ID // the entry that cannot be read
	err error
}

// brokenTip checks a run whose tip is no ref: what its frame refs reach.
func (v *verifier) brokenTip(ctx context.Context, id string, err error) error {
	v.report.Runs++
	return v.withoutTip(ctx, id, objstore.ID{}, err)
}

// withoutTip checks a run whose tip cannot be read: what its frame refs reach.
func (v *verifier) withoutTip(ctx context.Context, id string, tip objstore.ID, err error) error {
	frames := make(map[int64]objstore.ID)
	if err := v.remains(ctx, id, nil, frames, &brokenChain{tip, err}); err != nil {
		return err
	}
	v.frameRefs(ctx, snapshot.Run{ID: id}, frames)
	return timeline.Explain(ctx.Err())
}

// remains checks, of a run whose chain is broken, what its frame refs reach beyond
// that, and adds the commits of these frames. Each entry that cannot be read is noted
// once, with the number of its frame where a ref knows it.
func (v *verifier) remains(ctx context.Context, id string, tip *snapshot.Entry, frames map[int64]objstore.ID, broken *brokenChain) error {
	list, _ := v.store.Refs().Frames(ctx, id) // what is wrong with refs is noted where they are compared
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
		if seen, err := asFrameOf(v.store.Objects(), tip, entry, ref.Frame); err == nil {
			entry = seen
		}
		if entry.Run != id || entry.Frame != ref.Frame {
			continue // noted where refs are compared
		}
		if broken := v.stretch(ctx, id, entry, frames, newOpsVerifier()); broken != nil {
			note(broken)
		}
	}
	return timeline.Explain(ctx.Err())
}

// asFrameOf is the entry of a frame ref as the run of a tip, where that could be read, has it.
func asFrameOf(r objstore.Reader, tip, entry *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if tip == nil {
		return entry, nil
	}
	return snapshot.AsFrame(r, tip, entry, frame)
}

// frameOf is the number of the frame that a commit is by the refs, snapshot.NoFrame
// where none names it.
func frameOf(list []refs.FrameRef, id objstore.ID) int64 {
	i := slices.IndexFunc(list, func(ref refs.FrameRef) bool { return ref.ID == id })
	if i < 0 {
		return snapshot.NoFrame
	}
	return list[i].Frame
}
