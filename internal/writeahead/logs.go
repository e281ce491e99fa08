// Package writeahead is the write-ahead logs of a repository. A process that lives long appends entries of runs to a log of its own,
// and acknowledges them before it makes a pack and moves refs. Soon after, the entries are published: many in one pack. The package
// has the writer, the publication by whoever comes first, and the recovery of what a dead process left behind.
//
// Decision 52 has the rules. In short: only the process that moved a run's tip last may log entries of the run. It looks at the tip's
// lock and then at its value while it holds the flock of its log, the gate. Whoever moves a tip in another way holds the tip's lock
// while it reads every log behind its gate. So each sees what the other does.
package writeahead

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Names of the points at which Options.Failpoint is called.
const (
	FailGate      = "journal-gate"      // the gate is held; nothing was looked at
	FailWritten   = "journal-written"   // the entry is in the log, and the gate is free
	FailSynced    = "journal-synced"    // the entry is on stable storage, if it must be; it was not acknowledged
	FailPacked    = "publish-packed"    // the pack of a publication is in the repository; no ref has moved
	FailMoved     = "publish-moved"     // the refs of a publication have moved; the log does not say so
	FailMarked    = "publish-hint"      // the log says what is published
	FailRecovered = "recover-published" // all of a dead process's log is published; the log is still there
	FailRotated   = "rotate-unlinked"   // a log of which all is published was removed; there is no new one
)

// holdUp is how long a writer appends nothing after another process has published its entries to move a tip. The other process reads
// the new tip meanwhile, and makes its entry anew.
const holdUp = 30 * time.Millisecond

// Options configures [Logs]. Only Frames and Published may be nil.
type Options struct {
	Refs    *refs.DB
	Objects *objstore.Store
	Folder  string // the folder of the logs
	// Write means that this process lives long and may log entries. Without it, Logs publishes what others have logged.
	Write bool
	// Durable means that a logged entry is on stable storage before it is acknowledged. Otherwise the entry outlives the process, and
	// after a power cut the newest ones can be missing.
	Durable   bool
	FS        fsx.FS           // makes all writes
	Now       func() time.Time // dates new logs
	Warn      func(error)      // is not called twice with the same words
	Failpoint func(name string) error
	// Published is called after this process has published so many entries of its own log.
	Published func(ctx context.Context, entries int)
	// Frames is called with frames of a run, oldest first, that have no frame ref yet: their refs can be made later.
	Frames func(run string, frames []refs.FrameRef)
}

// Logs are the write-ahead logs of one repository, for one process. It is safe for concurrent use.
type Logs struct {
	opts  Options
	clock func() time.Time // says how long entries wait, whatever Options.Now dates logs with

	publishing sync.Mutex // held by a publication of this process; locked before mu

	mu      sync.Mutex
	own     *ownLog                       // nil until the first entry is logged, and after a rotation
	runs    map[refs.Name]*run            // the runs whose tips this process moved last
	waiting []logged                      // the entries of own that are not published, oldest first
	bytes   int64                         // of their objects
	since   time.Time                     // when the oldest of waiting was logged
	newest  time.Time                     // when the newest was
	lost    bool                          // own has entries that follow nothing: it stays, and nothing more is logged
	armed   bool                          // the loop looks at waiting by itself
	kick    chan struct{}                 // makes the loop look at waiting now
	end     func(then func() error) error // ends the loop and then calls then; nil until the loop runs
}

var _ refs.Logs = (*Logs)(nil)

// run is a run whose tip this process moved last.
type run struct {
	// values are the value that the tip had when it was looked at last, and the entries that were logged after it, oldest first. The
	// tip has one of them as long as nobody else moves it.
	values []objstore.ID
}

// last returns the newest entry of the run.
func (r *run) last() objstore.ID { return r.values[len(r.values)-1] }

// logged is an entry in the log of this process.
type logged struct {
	tip     refs.Name
	old     objstore.ID // the entry before
	end     int64       // the offset in the log after it
	bytes   int64       // of its objects
	release func()      // lets go of its objects in memory
}

// Open returns the logs of a repository. It reads nothing, and makes no file.
func Open(opts Options) *Logs {
	if opts.Failpoint == nil {
		opts.Failpoint = func(string) error { return nil }
	}
	clock := time.Now //nolint:forbidigo // how long entries wait is real time
	return &Logs{opts: opts, clock: clock, runs: make(map[refs.Name]*run), kick: make(chan struct{}, 1)}
}

// Tip returns the newest entry of a run: the value of its tip or, if this process has logged entries after it, the newest of these.
// Unlike [refs.DB.Resolve], it publishes nothing. If the run does not exist, the error wraps refs.ErrNotFound.
func (l *Logs) Tip(ctx context.Context, tip refs.Name) (objstore.ID, error) {
	l.mu.Lock()
	var values []objstore.ID
	if known := l.runs[tip]; known != nil {
		values = slices.Clone(known.values)
	}
	l.mu.Unlock()
	if len(values) > 1 {
		_, _, id, err := l.opts.Refs.Look(tip)
		if err == nil && slices.Contains(values, id) {
			return values[len(values)-1], nil
		}
	}
	return l.opts.Refs.Resolve(ctx, tip)
}

// moved notes that this process has moved a tip by itself: it may log the next entries of the run.
func (l *Logs) moved(tip refs.Name, id objstore.ID) {
	if of, ok := tip.Tip(); !l.opts.Write || !ok || of != tip {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, tip)
	if !id.IsZero() {
		l.runs[tip] = &run{values: []objstore.ID{id}}
	}
}

// Flush publishes what this process has logged of the run to which the ref belongs, or of all runs if name is "". An error is a
// warning.
func (l *Logs) Flush(ctx context.Context, name refs.Name) {
	if !l.waits(name) {
		return
	}
	// The entries are published also if the reader's context ends meanwhile: others wait for them, too.
	if err := l.PublishOwn(context.WithoutCancel(ctx)); err != nil {
		l.opts.Warn(err)
	}
}

// waits reports whether this process has logged entries that are not published, of the run to which the ref belongs, or of any run
// if name is "".
func (l *Logs) waits(name refs.Name) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || name == "" {
		return len(l.waiting) > 0
	}
	tip, ok := name.Tip()
	return ok && slices.ContainsFunc(l.waiting, func(e logged) bool { return e.tip == tip })
}

// Pending reports whether a tip must not move yet. See [refs.Logs].
func (l *Logs) Pending(tip refs.Name, from objstore.ID, gone, again bool) (bool, error) {
	l.mu.Lock() // an append holds it, too: it is the gate of the own log
	own := slices.ContainsFunc(l.waiting, func(e logged) bool { return e.tip == tip && (!again || e.old == from) })
	l.mu.Unlock()
	if own {
		return true, nil
	}
	pending := false
	err := l.others(func(o *log) error {
		entries, err := o.readBehindGate(context.Background())
		pending = pending || slices.ContainsFunc(entries, func(e *entry) bool { return e.tip == tip && (!again || e.Old == from) })
		if err == nil && gone {
			err = o.sync(l.opts.FS) // what was published must never be published again
		}
		return err
	})
	if gone && err == nil { // also if its log was removed
		if err = l.opts.FS.SyncDir(l.opts.Folder); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return pending, err
}

// Publish publishes all entries in all logs, marks them on stable storage, and removes the logs of dead processes. What cannot be
// published stays, with a warning. The error is about logs of which nobody can tell whose entries they have.
//
// The writers of other logs append nothing until shortly after: else a process that appends all the time would always be ahead of the
// caller, who must look at the new tip and try again.
func (l *Logs) Publish(ctx context.Context) error {
	err := l.PublishOwn(ctx)
	return errors.Join(err, l.others(func(o *log) error {
		if err := l.keepGate(ctx, o.path); err != nil {
			return err
		}
		return l.publishOther(ctx, o)
	}))
}

// keepGate keeps the gate of a log for a while.
func (l *Logs) keepGate(ctx context.Context, path string) error {
	o, err := openLog(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := o.lock(ctx, false); err != nil {
		return errors.Join(err, o.close())
	}
	time.AfterFunc(holdUp, func() { _ = o.close() }) // the end of the process closes it, too
	return nil
}

// PublishOthers publishes what other processes have logged, as Publish does.
func (l *Logs) PublishOthers(ctx context.Context) error {
	return l.others(func(o *log) error { return l.publishOther(ctx, o) })
}

// others calls visit for each log of other processes, and returns the errors of all calls.
func (l *Logs) others(visit func(*log) error) error {
	folder, err := os.Open(l.opts.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	err = errors.Join(err, folder.Close())
	l.mu.Lock()
	own := ""
	if l.own != nil {
		own = filepath.Base(l.own.path)
	}
	l.mu.Unlock()
	for _, name := range names {
		if name == own {
			continue
		}
		o, openErr := openLog(filepath.Join(l.opts.Folder, name))
		if errors.Is(openErr, fs.ErrNotExist) {
			continue
		}
		if openErr == nil {
			openErr = errors.Join(visit(o), o.close())
		}
		err = errors.Join(err, openErr)
	}
	return err
}

// Close publishes what this process has logged and removes its log. If that fails, the log stays, and the next process publishes
// it. The refs and the objects must still be open.
func (l *Logs) Close() error {
	l.mu.Lock()
	end, own := l.end, l.own
	l.end = nil
	l.mu.Unlock()
	switch {
	case end == nil && own == nil:
		return nil
	case end == nil: // a log to which nothing was appended
		end = func(then func() error) error { return then() }
	}
	return end(func() error {
		err := l.PublishOwn(context.Background())
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.own == nil {
			return err
		}
		if len(l.waiting) == 0 && !l.lost {
			return errors.Join(err, l.rotate())
		}
		err = errors.Join(err, l.own.close())
		l.own, l.lost = nil, true
		return err
	})
}
