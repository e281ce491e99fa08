package langgraph

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/git-smithers/git-smithers/internal/lru"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxOpen is the number of threads whose checkpoints are kept in memory.
const maxOpen = 256

// maxEntries is the number of entries that are kept open.
const maxEntries = 256

// Threads are the threads of a repository. Threads is safe for concurrent use.
type Threads struct {
	store   *timeline.Store
	entries *lru.Cache[objstore.ID, *snapshot.Entry]
	grown   *lru.Cache[valueKey, Value] // values that clients continue

	// Told, if not nil, is called after an entry that changes the status of a thread's run, one call at a time for a thread. Set it
	// before the first call.
	Told func(context.Context, *timeline.Head)

	mu   sync.Mutex
	open map[string]*thread
	uses int64
}

// valueKey names the value of a channel in a frame.
type valueKey struct {
	commit  objstore.ID
	channel string
}

// maxGrown is the number of bytes of the values that are kept because clients continue them.
const maxGrown = 8 << 20

// Open returns the threads of a store.
func Open(s *timeline.Store) *Threads {
	one := func(*snapshot.Entry) int64 { return 1 }
	size := func(v Value) int64 { return int64(len(v.Data)) + 1 }
	return &Threads{
		store: s, entries: lru.New[objstore.ID](maxEntries, one), grown: lru.New[valueKey](maxGrown, size), open: make(map[string]*thread),
	}
}

// Store returns the store of the threads.
func (t *Threads) Store() *timeline.Store { return t.store }

// thread is a thread that is kept in memory. Its lock is held while it is used.
type thread struct {
	threads *Threads
	id      string
	tip     refs.Name

	mu    sync.Mutex
	book  *book
	head  *timeline.Head                  // nil if the run does not exist
	fresh map[objstore.ID]*snapshot.Entry // the entries of a batch that is not committed yet
	used  int64                           // when the thread was used last, by the count of Threads.uses
	users int                             // calls that use the thread or wait for it; guarded by Threads.mu
}

// use calls do with a thread, as it is at its newest entry. Calls for one thread wait for each other.
func (t *Threads) use(ctx context.Context, id string, do func(*thread) error) error {
	th, err := t.take(id)
	if err != nil {
		return err
	}
	defer t.giveBack(th)
	th.mu.Lock()
	defer th.mu.Unlock()
	if err := th.refresh(ctx); err != nil {
		return err
	}
	return do(th)
}

// take returns a thread that stays in memory until giveBack is called.
func (t *Threads) take(id string) (*thread, error) {
	tip, err := refs.Tip(id)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	th := t.open[id]
	if th == nil {
		t.makeRoom()
		th = &thread{threads: t, id: id, tip: tip}
		th.forget()
		t.open[id] = th
	}
	t.uses++
	th.used = t.uses
	th.users++
	return th, nil
}

// giveBack ends a use of a thread.
func (t *Threads) giveBack(th *thread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	th.users--
}

// makeRoom drops the thread that was not used for the longest time, if there are too many.
func (t *Threads) makeRoom() {
	if len(t.open) < maxOpen {
		return
	}
	var oldest *thread
	for _, th := range t.open {
		if th.users == 0 && (oldest == nil || th.used < oldest.used) {
			oldest = th
		}
	}
	if oldest != nil {
		delete(t.open, oldest.id)
	}
}

// read returns an entry, which is kept open for a while.
func (t *Threads) read(id objstore.ID) (*snapshot.Entry, error) {
	if entry, found := t.entries.Get(id); found {
		return entry, nil
	}
	entry, err := snapshot.ReadEntry(t.store.Objects(), id)
	if err == nil {
		t.entries.Put(id, entry)
	}
	return entry, err
}

// read returns an entry of the thread.
func (th *thread) read(id objstore.ID) (*snapshot.Entry, error) {
	if entry := th.fresh[id]; entry != nil {
		return entry, nil
	}
	return th.threads.read(id)
}

// forget makes the next use read the thread anew.
func (th *thread) forget() { th.head, th.book, th.fresh = nil, newBook(th.id, th.read), nil }

// refresh reads what other processes have added to the thread.
func (th *thread) refresh(ctx context.Context) error {
	s := th.threads.store
	id, err := s.Refs().Resolve(ctx, th.tip)
	switch {
	case errors.Is(err, refs.ErrNotFound):
		th.forget()
		return th.threads.refuseVanished()
	case err != nil:
		return timeline.Explain(err)
	case th.head != nil && th.head.Entry().ID == id && th.book.tip == id:
		return nil
	}
	if th.head == nil {
		th.head, err = s.Head(ctx, th.id)
	} else if err = th.head.Refresh(ctx); errors.Is(err, timeline.ErrOtherHistory) {
		th.head, err = s.Head(ctx, th.id)
	}
	if fault.CodeOf(err) == fault.RunNotFound {
		th.forget()
		return nil
	}
	if err != nil {
		return err
	}
	if err := th.book.advance(ctx, th.head.Entry().ID); err != nil {
		th.book = newBook(th.id, th.read)
		return timeline.Explain(err)
	}
	return nil
}

// refuseVanished returns no_repository if the repository is gone: a write would make a part of it again.
func (t *Threads) refuseVanished() error {
	dir := t.store.Repo().CommonDir
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return fault.New(fault.NoRepository, "the repository was removed: %w", err)
	}
	return nil
}

// state returns the state of a checkpoint's frame.
func (th *thread) state(r *record) (*snapshot.State, error) {
	entry, err := th.read(r.commit)
	if err != nil {
		return nil, err
	}
	return entry.State()
}
