package langgraph

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Step is a call that a client has noted in a log, and whose answer it does not need: a put, or writes.
type Step struct {
	Put *Put // nil for writes. The put has a parent, all its values are whole, and its id is greater than the parent's

	Key    Key // of the checkpoint of the writes
	Writes []Write
	AtMs   int64 // when the writes were made, in milliseconds since 1970
}

// Apply does the calls about a thread, in their order. Readers see all of them or none. A call that was applied before changes
// nothing. If the thread was deleted, or the parent of a put was dropped, the call comes too late and is dropped. Codes: those of Put.
func (t *Threads) Apply(ctx context.Context, id string, steps []Step) error {
	return t.use(ctx, id, func(th *thread) error {
		builds := make([]draftFunc, len(steps))
		for i, step := range steps {
			builds[i] = func() (*snapshot.Draft, error) { return th.step(ctx, step) }
		}
		_, err := th.updateAll(ctx, builds)
		return err
	})
}

// step returns the draft of a call, or nil if the thread has what it stores, or the call comes too late.
func (th *thread) step(ctx context.Context, step Step) (*snapshot.Draft, error) {
	if step.Put == nil {
		return th.draftWrites(ctx, step.Key, step.Writes, step.AtMs)
	}
	put := *step.Put
	_, stored := th.book.records[put.Key]
	if stored || th.book.records[Key{put.NS, *put.Parent}] == nil {
		return nil, nil //nolint:nilnil // see Apply
	}
	p := &putter{thread: th, put: put}
	draft, err := p.draft(ctx)
	if err == nil && len(p.result.Need) > 0 {
		th.threads.store.WarnOnce(fmt.Errorf("checkpoint %q of thread %q was not stored: another program has replaced its parent", put.ID, th.id))
	}
	return draft, err
}
