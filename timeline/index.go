package timeline

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// heldIndex is the index of a store. The index is opened at first use and stays open until the store is closed.
// A heldIndex is safe for concurrent use.
type heldIndex struct {
	mu    sync.Mutex
	index *sqliteindex.Index // nil if the index is not open
}

// opened opens the index with opts if the index is not open, calls bringUp to update the index, and returns the
// index. If bringUp fails, opened returns the error, and the index stays open.
func (h *heldIndex) opened(ctx context.Context, opts sqliteindex.Options, bringUp func(*sqliteindex.Index, context.Context) error) (*sqliteindex.Index, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index == nil {
		index, err := sqliteindex.Open(ctx, opts)
		if err != nil {
			return nil, Explain(err)
		}
		h.index = index
	}
	if err := bringUp(h.index, ctx); err != nil {
		return nil, Explain(err)
	}
	return h.index, nil
}

// close closes the index if the index is open.
func (h *heldIndex) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index == nil {
		return nil
	}
	err := h.index.Close()
	h.index = nil
	return err
}

// Index returns the index, after it has brought the index up to date with the refs. index.Problems lists the
// runs that are unreadable. [Store.Close] closes the index.
func (s *Store) Index(ctx context.Context) (*sqliteindex.Index, error) {
	return s.index.opened(ctx, s.IndexOptions(), (*sqliteindex.Index).Sync)
}

// IndexOptions returns the options with which this store opens its index.
func (s *Store) IndexOptions() sqliteindex.Options {
	return sqliteindex.Options{
		Shared:  refs.IsShared(s.Repo()),
		Path:    filepath.Join(s.Private(), "index.db"),
		Refs:    s.refs,
		Objects: s.objects,
	}
}

// RebuildIndex rebuilds the index from the refs, and returns the number of runs and other counts. It warns about
// each unreadable run. progress may be nil; otherwise it is called after each run, with the number of runs that
// were read so far and the number of all runs. Code: write_failed if the index's files cannot be replaced.
func (s *Store) RebuildIndex(ctx context.Context, progress func(done, total int)) (stats sqliteindex.Stats, err error) {
	_, err = s.index.opened(ctx, s.IndexOptions(), func(index *sqliteindex.Index, ctx context.Context) error {
		var err error
		stats, err = index.Rebuild(ctx, progress)
		s.WarnOf(index.Problems())
		err = Explain(err)
		// If the index is in memory because its files cannot be replaced, that cause explains the failure. CodeOf(nil)
		// is internal, so the condition also holds if the rebuild in memory succeeded.
		if code := fault.CodeOf(err); index.Degraded() != nil && (code == fault.Internal || code == fault.WriteFailed) {
			err = fault.New(fault.WriteFailed, "%w", index.Degraded()).
				Hint("remove the file at the path of the index: the index holds no history")
		}
		return err
	})
	return stats, err
}

// Details returns the index, after it has also brought the details of runs up to date: nodes, loops, events,
// mailboxes, ops and outputs. runs are whole ids. If one of these runs is unreadable, Details returns an error. If
// runs is empty, Details takes all runs, and leaves out unreadable runs with a warning for each.
func (s *Store) Details(ctx context.Context, runs ...string) (*sqliteindex.Index, error) {
	index, err := s.index.opened(ctx, s.IndexOptions(), func(index *sqliteindex.Index, ctx context.Context) error {
		return index.SyncDetails(ctx, runs...)
	})
	if err != nil {
		return nil, err
	}
	problems := index.Problems()
	if len(runs) == 0 {
		s.WarnOf(problems)
		return index, nil
	}
	for _, problem := range problems {
		broken, ok := errors.AsType[*sqliteindex.RunError](problem)
		if ok && slices.ContainsFunc(runs, func(run string) bool { return isRef(run, broken.Ref) }) {
			return nil, Explain(problem)
		}
	}
	return index, nil
}

// isRef reports whether component is the ref component of the run with the id run: the part of a ref name that names
// the run.
func isRef(run, component string) bool {
	own, err := refs.EscapeRun(run)
	return err == nil && own == component
}
