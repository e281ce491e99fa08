package writeahead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	mostObjects = 256 << 10            // bytes of objects from which entries are not logged
	mostLog     = 4 << 20              // bytes of a log from which it is begun anew
	mostWaiting = 4 << 20              // bytes of waiting entries from which nothing more is logged
	yield       = 4 * time.Millisecond // how long another process goes first that holds the lock of the tip
)

// errNotLogged means that entries must be published at once, and not logged. Nothing was written.
var errNotLogged = errors.New("the entries are not logged")

// Append logs the entries in a batch, which move the tip of a run. It returns false if they must be published at once instead: the
// batch is unchanged then. If Append returns true without an error, the entries are acknowledged as Options.Durable says. If it
// returns true with an error, the run can have the entries or not. The batch must not be used after Append has returned true.
//
// The entries must refer only to objects of the batch, and to those that move.Old reaches: whoever has the tip has the rest.
func (l *Logs) Append(ctx context.Context, run string, batch *objstore.Batch, move refs.Update) (bool, error) {
	if !l.opts.Write || move.Old.IsZero() || move.New.IsZero() || batch.Bytes() > mostObjects || !batch.Whole() || !l.opts.Refs.MovesFiles() {
		return false, nil
	}
	records, err := recordsOf(run, batch, move)
	if err != nil {
		return false, nil //nolint:nilerr // such a batch is published at once
	}
	own, err := l.log(ctx, batch, move, records)
	if errors.Is(err, errNotLogged) {
		return false, nil
	}
	if err == nil {
		err = l.opts.Failpoint(FailWritten)
	}
	if err == nil && l.opts.Durable {
		if syncErr := own.sync(); syncErr != nil {
			err = l.abandon(ctx, own, syncErr)
		}
	}
	return true, errors.Join(err, l.opts.Failpoint(FailSynced))
}

// recordsOf returns the records of the entries of a run in a batch: each ends with its commit, and follows the one before.
func recordsOf(run string, batch *objstore.Batch, move refs.Update) (records []wal.Record, err error) {
	next := wal.Record{Run: run, Old: move.Old}
	batch.Each(func(id objstore.ID, kind objstore.Kind, data []byte) bool {
		next.Objects = append(next.Objects, wal.Object{Kind: kind, Data: data})
		if kind == objstore.Commit {
			next.New = id
			err = errors.Join(err, next.CheckObjects())
			records = append(records, next)
			next = wal.Record{Run: run, Old: id}
		}
		return true
	})
	if err == nil && (len(next.Objects) > 0 || next.Old != move.New) {
		err = fmt.Errorf("the batch does not end with %v", move.New)
	}
	return records, err
}

// log appends records to the log of this process. The error is errNotLogged if nothing was appended.
func (l *Logs) log(ctx context.Context, batch *objstore.Batch, move refs.Update, records []wal.Record) (*ownLog, error) {
	yielded := false
	for longer, waited := gatePause, time.Duration(0); ; longer = min(2*longer, mostPause) {
		own, wait, err := l.tryLog(ctx, batch, move, records)
		if wait == 0 {
			return own, err
		}
		if wait == gatePause {
			wait = longer
		}
		// Without the log, the lock's owner is waited for when the tip moves.
		if wait == yield && yielded || waited > patience || pause(ctx, wait) != nil {
			return nil, errNotLogged
		}
		yielded = yielded || wait == yield
		waited += wait
	}
}

// tryLog tries once to append records. If it must be tried again, wait is the pause before. The other results are those of log.
func (l *Logs) tryLog(ctx context.Context, batch *objstore.Batch, move refs.Update, records []wal.Record) (_ *ownLog, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.runs[move.Name]
	if known == nil || known.last() != move.Old || l.bytes > mostWaiting || l.lost || l.own != nil && l.own.full {
		return nil, 0, errNotLogged
	}
	if l.own == nil {
		if !fsx.IsLocal(l.opts.Refs.Folder()) {
			return nil, 0, errNotLogged
		}
		if l.own, err = l.openOwn(ctx); err != nil {
			return nil, 0, errNotLogged // the write at once says what is wrong, if anything is
		}
	}
	own := l.own
	held, err := fsx.TryLock(own.file, true)
	if err != nil {
		return nil, 0, errNotLogged
	}
	if !held {
		return nil, gatePause, nil
	}
	wait, err = l.tryBehindGate(known, batch, move, records) //nolint:contextcheck // the loop outlives the call
	if unlockErr := fsx.Unlock(own.file); err == nil {
		err = unlockErr
	}
	return own, wait, err
}

// tryBehindGate does the work of tryLog while the gate is held: it looks at the lock and then at the value of the tip, and writes.
func (l *Logs) tryBehindGate(known *run, batch *objstore.Batch, move refs.Update, records []wal.Record) (wait time.Duration, err error) {
	if err := l.opts.Failpoint(FailGate); err != nil {
		return 0, err
	}
	content, locked, id, err := l.opts.Refs.Look(move.Name)
	if locked && !slices.ContainsFunc(known.values, func(v objstore.ID) bool { return v.String() == content }) {
		return yield, nil // the tip is about to move, and not along the log
	}
	at := slices.Index(known.values, id)
	if err != nil || at < 0 {
		delete(l.runs, move.Name) // another process has moved the tip
		return 0, errNotLogged
	}
	known.values = known.values[at:]
	if !l.own.alone() {
		l.fill()
		return 0, errNotLogged
	}
	var bytes []byte
	end := l.own.end
	ends := make([]int64, len(records))
	for i, r := range records {
		if bytes, end, err = end.Append(bytes, r); err != nil {
			return 0, errNotLogged
		}
		ends[i] = end.Offset()
	}
	if err := l.own.write(bytes, end); err != nil {
		return 0, errNotLogged
	}
	release, size := batch.Hold(), batch.Bytes()
	for i, r := range records {
		e := logged{tip: move.Name, old: r.Old, end: ends[i], release: func() {}}
		if i == len(records)-1 {
			e.release, e.bytes = release, size
		}
		known.values = append(known.values, r.New)
		l.note(e)
	}
	if end.Offset() > mostLog {
		l.fill()
	}
	return 0, nil
}

// note remembers an entry that was appended to the log.
func (l *Logs) note(e logged) {
	l.newest = l.clock()
	if len(l.waiting) == 0 {
		l.since = l.newest
	}
	l.waiting = append(l.waiting, e)
	l.bytes += e.bytes
	if !l.armed || l.many() {
		l.wake()
	}
}

// fill ends the use of the log of this process: when all of it is published, the next entry begins a new log.
func (l *Logs) fill() {
	l.own.full = true
	l.wake()
}

// abandon publishes the entries of a log that could not be put on stable storage, and never syncs the log again: whether a second
// try says the truth is not known. It returns nil if the entries are published, and therefore safe.
func (l *Logs) abandon(ctx context.Context, own *ownLog, cause error) error {
	l.mu.Lock()
	if l.own == own {
		l.fill() //nolint:contextcheck // the loop outlives the call
	}
	l.mu.Unlock()
	if err := l.PublishOwn(context.WithoutCancel(ctx)); err != nil || l.waits("") {
		return errors.Join(cause, err)
	}
	l.opts.Warn(fmt.Errorf("the write-ahead log was not used: %w", cause))
	return nil
}
