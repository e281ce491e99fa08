package langgraph

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mostRefs is the number of frames after which the refs of a thread's older frames are removed. Everybody's git log --all and
// fetches cost more with each ref, and the frames are found without.
const mostRefs = 64

// draftFunc drafts an entry on the newest entry of a thread, or returns nil if nothing must be stored.
type draftFunc func() (*snapshot.Draft, error)

// update appends the entry that build drafts at the newest entry of the thread. If another process appends first, build
// drafts again. If build returns nil, update appends nothing, puts the thread's tip on stable storage and returns nil.
func (th *thread) update(ctx context.Context, build draftFunc) (*snapshot.Entry, error) {
	return th.updateAll(ctx, []draftFunc{build})
}

// updateAll does the work of update for several entries, of which each follows the one before. Readers see all of them or none.
// It returns the newest entry.
func (th *thread) updateAll(ctx context.Context, builds []draftFunc) (*snapshot.Entry, error) {
	for try := 1; ; try++ {
		entry, err := th.appendAll(ctx, builds)
		switch code := fault.CodeOf(err); {
		case err == nil && entry == nil && th.head != nil:
			return nil, th.head.Settle(ctx)
		case err == nil || code != fault.Conflict && code != fault.RunExists:
			return entry, err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return nil, timeline.Explain(err)
		}
		if err := th.refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// appendAll appends the entries that the functions draft, or none of them. It returns the newest entry, or nil if they draft none.
func (th *thread) appendAll(ctx context.Context, builds []draftFunc) (newest *snapshot.Entry, err error) {
	b := batch{thread: th, head: th.head}
	defer func() { b.close(err) }()
	for _, build := range builds {
		if b.newest != nil {
			if err := b.advance(ctx); err != nil {
				return nil, timeline.Explain(err)
			}
		}
		draft, err := build()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if draft == nil {
			continue
		}
		if err := b.append(ctx, draft); err != nil {
			return nil, err
		}
	}
	if b.series == nil {
		return nil, nil
	}
	return b.newest, b.commit(ctx)
}

// batch is a number of entries that a thread gets together.
type batch struct {
	thread *thread
	head   *timeline.Head   // of the thread before the batch; nil if the run does not exist
	series *timeline.Series // nil before the first entry
	newest *snapshot.Entry  // nil before the first entry
}

// append appends an entry. The first entry begins the thread's run if the run does not exist.
func (b *batch) append(ctx context.Context, draft *snapshot.Draft) (err error) {
	th := b.thread
	draft.Limits = formatLimits
	switch {
	case b.series != nil:
	case b.head != nil:
		b.series = timeline.SeriesOf(b.head)
	default:
		row := snapshot.Run{ID: th.id, Workflow: EngineName, Status: snapshot.RunRunning, CreatedAtMs: draft.AtMs, StartedAtMs: &draft.AtMs}
		if b.series, err = timeline.SeriesAgain(ctx, th.threads.store, row); err != nil {
			return err
		}
	}
	b.series.StayOpen()
	b.series.RefsLater(mostRefs)
	b.newest, err = b.series.Append(ctx, *draft)
	return err
}

// advance makes the thread's head and book those of the newest entry of the batch, on which the next draft builds.
func (b *batch) advance(ctx context.Context) error {
	th, entry := b.thread, b.newest
	if th.fresh == nil {
		th.fresh = make(map[objstore.ID]*snapshot.Entry)
	}
	if th.fresh[entry.ID] != nil {
		return nil
	}
	th.fresh[entry.ID] = entry
	head, err := th.threads.store.HeadOf(&timeline.LoadedEntry{Address: timeline.Address{Run: th.id}, Entry: entry})
	if err != nil {
		return err
	}
	th.head = head
	return th.book.advance(ctx, entry.ID)
}

// commit moves the thread's run to the newest entry of the batch.
func (b *batch) commit(ctx context.Context) error {
	th, s := b.thread, b.thread.threads.store
	var before snapshot.RunStatus
	var from int64
	if b.head != nil {
		before, from = b.head.Row().Status, b.head.Row().Frame+1
	}
	head, err := b.series.Commit(ctx)
	if err != nil {
		return err
	}
	if b.head == nil {
		list.NoteHere(s, th.id)
	}
	th.head, th.fresh = head, nil
	if row := head.Row(); from/mostRefs != (row.Frame+1)/mostRefs {
		if err := s.DropOlderRefs(ctx, head.Entry()); err != nil {
			s.Warn(fmt.Errorf("the refs of older frames were not removed: %w", err))
		}
	}
	if told := th.threads.Told; told != nil && head.Row().Status != before {
		told(ctx, head)
	}
	// The book reads the entry again: that of the series holds all objects that it has written.
	if th.book.advance(ctx, b.newest.ID) != nil {
		th.forget() // read anew at the next use: the entry is stored
	}
	return nil
}

// close ends the batch. If the thread has looked at entries that were not committed, it is read anew.
func (b *batch) close(err error) {
	if b.series != nil {
		b.series.Close()
	}
	if err != nil && b.thread.fresh != nil {
		b.thread.forget()
	}
}
