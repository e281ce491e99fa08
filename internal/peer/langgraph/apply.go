package langgraph

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Step is a call that a client has noted in a log, and whose answer it does not need: a put, or writes.
type Step struct {
	Put *Put // nil for writes. The put has a parent, all its values are whole, and its id is greater than the parent's

	Key    Key // of the checkpoint of the writes
	Writes []Write
	AtMs   int64 // when the writes were made, in milliseconds since 1970
}

// Size returns the number of bytes of the values.
func (s Step) Size() (size int64) {
	if s.Put != nil {
		for _, v := range s.Put.Sent {
			size += int64(len(v.Data))
		}
	}
	for _, w := range s.Writes {
		size += int64(len(w.Value.Data))
	}
	return size
}

// Apply does the calls about a thread, in their order. Readers see all of them or none. A call that was applied before changes
// nothing. late means that the client does not know the thread any more, because the thread was deleted, or a parent was dropped: then
// puts can be dropped that need what is gone, and the client must ask from now on. Codes: those of Put.
func (t *Threads) Apply(ctx context.Context, id string, steps []Step) (late bool, err error) {
	err = t.use(ctx, id, func(th *thread) error {
		builds := make([]draftFunc, len(steps))
		for i, step := range steps {
			builds[i] = func() (*snapshot.Draft, error) { return th.step(ctx, step, &late) }
		}
		_, err := th.updateAll(ctx, builds)
		return err
	})
	return late, err
}

// step returns the draft of a call, or nil if the thread has what it stores, or the call comes too late.
func (th *thread) step(ctx context.Context, step Step, late *bool) (*snapshot.Draft, error) {
	switch {
	case step.Put == nil && step.Key.ID == "":
		return nil, errNoCheckpoint()
	case step.Put == nil:
		return th.draftWrites(ctx, step.Key, step.Writes, step.AtMs)
	}
	put := *step.Put
	if err := put.check(); err != nil {
		return nil, err
	}
	if put.Parent == nil {
		return nil, fault.New(fault.InvalidInput, "a log cannot have a put without a parent")
	}
	if _, stored := th.book.records[put.Key]; stored {
		return nil, nil //nolint:nilnil // see Apply
	}
	put.Orphan = true
	p := &putter{thread: th, put: put}
	draft, err := p.draft(ctx)
	if err == nil && (draft == nil || th.book.records[Key{put.NS, *put.Parent}] == nil) {
		*late = true
	}
	return draft, err
}
