package refs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
)

// ErrPending means that a log has entries of a run whose tip would move past them. No ref has moved. Apply never returns it.
var ErrPending = errors.New("entries of the run wait in a write-ahead log")

// Logs are the write-ahead logs of a repository, as far as readers and writers of refs must know them (decision 52). A log has
// acknowledged entries of a run that continue from the value of the run's tip, and that no ref reaches yet.
type Logs interface {
	// Pending reports whether a tip may not move yet, because a log has entries of its run. The tip is locked, and has the value
	// from. again is false the first time: then Pending also counts entries that were published but are not marked so, because a tip
	// that goes back or away must not make them go on from it again. gone means that the tip is deleted.
	Pending(tip Name, from objstore.ID, gone, again bool) (bool, error)
	// Publish moves tips to the newest entries in all logs, and marks these as published on stable storage. It is called without
	// locks, and calls only [DB.Publish].
	Publish(ctx context.Context) error
	// Flush publishes the entries in this process's own log of the run to which a ref belongs, or of all runs if name is "", so that
	// the process reads its own writes. It is called before refs are read. A failure is not an error for readers.
	Flush(ctx context.Context, name Name)
}

// Watch makes the DB ask logs before it moves a tip, and before it reads refs. It must be called before all other methods.
func (db *DB) Watch(logs Logs) { db.logs = logs }

// guard returns ErrPending if a log has entries of a run whose tip is in updates. The refs of updates are locked.
func (db *DB) guard(updates []Update, again bool) error {
	for _, u := range updates {
		if err := db.guardOne(u, u.Old, again); err != nil {
			return err
		}
	}
	return nil
}

// guardOne returns ErrPending if u moves a tip, and a log has entries of the run that go on from the entry from.
func (db *DB) guardOne(u Update, from objstore.ID, again bool) error {
	if db.logs == nil || u.Old.IsZero() || !strings.HasPrefix(string(u.Name), tipPrefix) {
		return nil
	}
	if err := db.opts.Failpoint(FailGuardLocked); err != nil {
		return err
	}
	pending, err := db.logs.Pending(u.Name, from, u.New.IsZero(), again)
	if err != nil {
		return err
	}
	if pending {
		return ErrPending
	}
	return db.opts.Failpoint(FailGuardScanned)
}

// flush publishes what this process has logged, before refs are read: see [Logs].
func (db *DB) flush(ctx context.Context, name Name) {
	if db.logs != nil {
		db.logs.Flush(ctx, name)
	}
}

// Publish makes all updates or none, as Apply does, for the caller that moves a tip along entries of a log: it does not ask for
// these entries. If the caller adds an entry of its own, through is the last entry of the log before it; otherwise it is zero. If a
// log has another entry that goes on from through, the error wraps [ErrPending], and no ref has moved.
func (db *DB) Publish(ctx context.Context, through objstore.ID, updates ...Update) error {
	guard := func() error {
		if through.IsZero() {
			return nil
		}
		return db.guardOne(updates[0], through, true)
	}
	return db.transact(ctx, transaction{updates: updates, guard: guard, shared: through.IsZero()})
}

// Look returns the content of a tip's lock, without the final line feed, and then the value of the tip. The order matters: who
// moves the tip locks it first, and then asks the logs. Without a lock, locked is false. Without the ref, id is zero. The error wraps
// [ErrUnsupported] if git moves the refs to another format. Look does not call [Logs].
func (db *DB) Look(name Name) (content string, locked bool, id objstore.ID, err error) {
	if err := db.format.check(); err != nil {
		return "", false, id, err
	}
	lock, err := os.ReadFile(db.reader.path(name) + lockSuffix)
	if err == nil {
		locked = true
	} else if !isNoFile(err) {
		return "", false, id, err
	}
	id, err = db.reader.resolve(name)
	return strings.TrimSuffix(string(lock), "\n"), locked, id, err
}

// Folder returns the repository's common directory.
func (db *DB) Folder() string { return db.reader.dir }

// MovesFiles reports whether Apply would move tips by lock files, and not by native git. Only then a log can be used.
func (db *DB) MovesFiles() bool {
	return !db.opts.NativeOnly && !db.files.rules.stepBack(nil)
}

// OwnerName returns the name of the owner file of this DB, which it makes if necessary. The file is locked as long as the DB is
// open, so [DB.OwnerDead] recognizes what this process leaves behind.
func (db *DB) OwnerName(ctx context.Context) (string, error) {
	if err := db.lock(ctx); err != nil {
		return "", err
	}
	defer db.unlock()
	if err := db.files.own(); err != nil {
		return "", err
	}
	return filepath.Base(db.files.owner.path), nil
}

// OwnerDead reports whether the process with this owner file has ended. It returns false while another process looks.
func (db *DB) OwnerDead(name string) (bool, error) {
	path := filepath.Join(db.reader.dir, filepath.FromSlash(locksFolder), name)
	if _, err := os.Lstat(path); isNoFile(err) {
		return true, nil
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	dead, err := lock.TryLock()
	if isNoFile(err) {
		dead, err = true, nil
	} else if errors.Is(err, os.ErrPermission) {
		err = nil // another user's process
	}
	return dead, errors.Join(err, lock.Close())
}
