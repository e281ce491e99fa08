package sqliteindex

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/patience"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Index is the database smithers/index.db of a repository. It opens the database of details beside it when a
// method needs details. An Index is safe for concurrent use, also by several processes.
type Index struct {
	opts  Options
	conn  connection
	base  *connection // for an index with details, during a rebuild: the empty database that gets the base rows, too
	asked []string    // the runs that the database is for; nil means all runs. Only the holder of the syncing token uses it

	detailMu sync.Mutex
	detail   *Index // the index with the details; nil until requested

	syncing chan struct{} // capacity 1; holds an element while a Sync, SyncRun, SyncDetails or Rebuild runs

	problemsMu sync.Mutex
	problems   []error // see Problems
}

// Options configures an [Index].
type Options struct {
	Path    string // path of the database file, ending in .db; its folder is created if necessary
	Refs    *refs.DB
	Objects objstore.Reader

	// Shared lets other users read and write the file, as far as the umask does. Otherwise it is the user's alone.
	Shared bool
	// BusyTimeout is how long SQLite waits for another process before a
	// write fails and is retried; 0 means 500 ms.
	BusyTimeout time.Duration
	// Sleep waits between retries and returns an error if the context is done; nil means a timer.
	Sleep func(context.Context, time.Duration) error
	// Random returns a number in [0, 1), which varies the waiting times; nil means math/rand/v2.
	Random func() float64
}

// Open opens the index, and creates an empty index if the file is missing, damaged or of another version. It
// reads the database's header and no ref; [Index.Sync] reads the refs.
//
// If the file can be neither read nor created, the index is in memory and [Index.Degraded] returns the
// reason.
func Open(ctx context.Context, opts Options) (*Index, error) {
	x := newIndex(withDefaults(opts), baseSchema())
	if err := x.conn.open(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// defaultBusyTimeout is the default value of Options.BusyTimeout.
const defaultBusyTimeout = 500 * time.Millisecond

// withDefaults returns opts with default values in place of zero values.
func withDefaults(opts Options) Options {
	if opts.BusyTimeout == 0 {
		opts.BusyTimeout = defaultBusyTimeout
	}
	if opts.Sleep == nil {
		opts.Sleep = patience.Sleep
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	return opts
}

// newIndex returns an index whose database has the tables of s. The database is not open yet.
func newIndex(opts Options, s schema) *Index {
	return &Index{
		opts: opts,
		conn: connection{
			shared: opts.Shared,
			path:   opts.Path, busyTimeout: opts.BusyTimeout, schema: s,
			retry: patience.Retrier{Sleep: opts.Sleep, Random: opts.Random, Temporary: isTransient},
		},
		syncing: make(chan struct{}, 1),
	}
}

// Close closes the databases after all queries in progress have ended.
func (x *Index) Close() error {
	x.detailMu.Lock()
	defer x.detailMu.Unlock()
	if x.detail == nil {
		return x.conn.close()
	}
	return errors.Join(x.detail.conn.close(), x.conn.close())
}

// Problems returns the problems of the last [Index.Sync], [Index.SyncDetails] or [Index.Rebuild], sorted by
// message. Each unreadable run has a [*RunError]. Broken tip refs have one error that wraps refs.ErrBroken.
// The caller owns the slice.
func (x *Index) Problems() []error {
	x.problemsMu.Lock()
	defer x.problemsMu.Unlock()
	return slices.Clone(x.problems)
}

// Degraded returns the reason why the index or its details are in memory, or nil if both are on disk.
func (x *Index) Degraded() error {
	if err := x.conn.inMemory(); err != nil {
		return err
	}
	x.detailMu.Lock()
	defer x.detailMu.Unlock()
	if x.detail == nil {
		return nil
	}
	return x.detail.conn.inMemory()
}

// Retries returns how often an operation of the base database was repeated because the database was busy. It
// does not count the database of details.
func (x *Index) Retries() int64 { return x.conn.retry.Count() }

// answer calls query with the database. If query fails because the database is damaged or its file fails, answer
// replaces the database, fills it from the refs, and calls query again.
func (x *Index) answer(ctx context.Context, query func(*database) error) error {
	err := x.conn.use(ctx, query)
	if err == nil || remedyFor(err) == noRemedy {
		return err
	}
	release, err := x.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Another goroutine may have repaired the database while this query waited.
	if err = x.conn.use(ctx, query); err == nil {
		return nil
	}
	if healed, healErr := x.conn.heal(ctx, err); !healed || healErr != nil {
		return errors.Join(healErr, err)
	}
	if _, err := x.sync(ctx, nil); err != nil {
		return err
	}
	return x.conn.use(ctx, query)
}

// setProblems sorts problems by message and stores them for Problems: of several problems with the same message, only one.
func (x *Index) setProblems(problems []error) {
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	problems = slices.CompactFunc(problems, func(a, b error) bool { return a.Error() == b.Error() })
	x.problemsMu.Lock()
	defer x.problemsMu.Unlock()
	x.problems = problems
}
