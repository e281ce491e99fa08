package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// RemoveBroken removes the file of a ref if the file is empty or holds no object id. git itself cannot remove such a
// ref. If the ref is also packed, its packed value becomes visible again. RemoveBroken does not change a sound or
// missing ref. For a symbolic ref, which only a person can have made, it changes nothing and returns a *BrokenError.
//
// The error wraps ErrMalformed if name is invalid, and ErrLocked if another process holds the ref's lock for longer
// than Options.Patience.
func (db *DB) RemoveBroken(ctx context.Context, name Name) error {
	if err := name.check(); err != nil {
		return err
	}
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	if err := db.files.own(); err != nil {
		return err
	}
	return db.patiently(ctx, nil, func() error { return db.files.removeBroken(name) })
}

// removal is the content of a lock that only excludes other processes and is never renamed to its ref.
const removal = "git-smithers:removes-broken-ref"

// removeBroken removes the broken file of a ref while it holds the ref's lock. It does not change a sound or missing
// ref. For a symbolic ref, it returns the *BrokenError. It tries once: if another process holds the lock, the error
// is a *heldError.
func (w *fileWriter) removeBroken(name Name) (err error) {
	// If this process dies, the note tells other processes that the lock is dead.
	if err := w.owner.note([]Update{{Name: name}}, []string{removal}); err != nil {
		return err
	}
	held := w.db.newLocks()
	defer func() { err = errors.Join(err, held.release(), w.owner.clear()) }()
	if err := held.take(name, removal); err != nil {
		return err
	}
	_, looseErr := w.db.reader.loose(name)
	var broken *BrokenError
	if !errors.As(looseErr, &broken) {
		return looseErr
	}
	if broken.Symbolic {
		return looseErr
	}
	if w.db.reader.tables != nil {
		return looseErr // nobody can remove a part of a table
	}
	if err := w.db.opts.FS.Remove(broken.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove broken %s: %w", name, err)
	}
	return nil
}
