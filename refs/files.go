package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// errStepBack means that the file writer leaves a transaction to native git. No ref has moved.
var errStepBack = errors.New("left to native git")

// fileWriter moves refs by the protocol of git's files backend. The process that creates <ref>.lock owns the ref. The
// owner may then check the ref's value, and replace the value by renaming the lock to the ref. The lock of a frame ref
// is a hard link to the lock of the tip that moves to the same value (decision 42).
type fileWriter struct {
	db    *DB
	rules stepBackRules
	owner *owner // nil until the first write
}

var _ writer = (*fileWriter)(nil)

// newFileWriter returns the fileWriter of db. It makes no owner file yet.
func newFileWriter(db *DB) *fileWriter {
	return &fileWriter{db: db, rules: newStepBackRules(db.opts.Repo, db.opts.Env)}
}

// close removes the owner file, if the DB has one. The next write makes a new owner file.
func (w *fileWriter) close() error {
	if w.owner == nil {
		return nil
	}
	err := w.owner.close()
	w.owner = nil
	return err
}

// apply makes updates in one transaction, and waits for locks of other processes (see patiently). It returns
// errStepBack if native git must make the transaction.
func (w *fileWriter) apply(ctx context.Context, updates []Update) error {
	if w.rules.stepBack(updates) {
		return errStepBack
	}
	if err := w.own(); err != nil {
		return err
	}
	contents := make([]string, len(updates))
	for i, u := range updates {
		contents[i] = u.New.String()
	}
	return w.db.patiently(ctx, updates, func() error { return w.once(updates, contents) })
}

// once tries once to make the updates. contents[i] is the text that the file of updates[i] gets. If
// another process holds a lock, the error is a *heldError. If a ref does not permit its update, the error is that of
// verify. If git moves the refs to another format, the error wraps ErrUnsupported. After these errors, no ref has moved. After an error of a rename, the first refs may have moved.
func (w *fileWriter) once(updates []Update, contents []string) (err error) {
	held := w.db.newLocks()
	// If this process dies, the note tells other processes that the locks are dead.
	if err := w.owner.note(updates, contents); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.release(), w.owner.clear()) }()
	if err := w.db.format.check(); err != nil { // a folder may be in git's way from now on
		return err
	}
	for i, u := range updates {
		if err := held.take(u.Name, contents[i]); err != nil {
			return err
		}
	}
	if err := w.verify(updates); err != nil {
		return err
	}
	if err := held.finish(w.db.opts.Fsync, !w.db.opts.LateNames); err != nil {
		return err
	}
	if err := w.db.opts.Failpoint(FailRefsLocked); err != nil {
		return err
	}
	if err := w.db.format.check(); err != nil {
		return err
	}
	return held.commit(func() error { return w.db.opts.Failpoint(FailBetweenRenames) })
}

// verify compares the locked refs with the expected values of updates. It returns the error of the first ref
// that fails (see verifyOne).
func (w *fileWriter) verify(updates []Update) error {
	var packed *packedRefs // opened only if needed, because a tip is usually in a file
	var err error
	for _, u := range updates {
		if err = w.verifyOne(u, &packed); err != nil {
			break
		}
	}
	if packed != nil {
		err = errors.Join(err, packed.close())
	}
	return err
}

// verifyOne checks whether the locked ref of u permits the update. It sets *packed if it needs packed-refs, and the
// caller must close *packed. The errors are:
//   - a *BrokenError if the ref is broken
//   - a *ConflictError if the ref does not have its expected value
//   - errStepBack if the ref is new and a folder has its name
//   - an error that wraps ErrObstructed if the ref is new and a packed ref obstructs it
func (w *fileWriter) verifyOne(u Update, packed **packedRefs) error {
	actual, err := w.db.reader.loose(u.Name)
	if err != nil {
		return err
	}
	if actual.IsZero() {
		if *packed == nil {
			if *packed, err = w.db.reader.openPacked(); err != nil {
				return err
			}
		}
		if actual, err = (*packed).lookup(u.Name); err != nil {
			return err
		}
	}
	if actual != u.Old {
		return &ConflictError{Name: u.Name, Expected: u.Old, Actual: actual}
	}
	if !u.Old.IsZero() {
		return nil
	}
	// If the folder is empty, native git removes it and creates the ref.
	if info, err := os.Lstat(w.db.reader.path(u.Name)); err == nil && info.IsDir() {
		return errStepBack
	}
	return (*packed).obstructed(u.Name)
}

// obstructed returns an error that wraps ErrObstructed if a packed ref cannot exist together with name,
// because one name is a folder of the other. Otherwise it returns nil.
func (p *packedRefs) obstructed(name Name) error {
	// The refs below name/
	for ref, err := range p.scan(string(name) + "/") {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w of %s: %s", ErrObstructed, name, ref.Name)
	}
	// The refs whose names are folders of name
	for folder := string(name); ; {
		folder = folder[:strings.LastIndexByte(folder, '/')]
		if folder+"/" == prefix || folder+"/" == remotePrefix {
			return nil
		}
		id, err := p.lookup(Name(folder))
		if err != nil {
			return err
		}
		if !id.IsZero() {
			return fmt.Errorf("%w of %s: %s", ErrObstructed, name, folder)
		}
	}
}
