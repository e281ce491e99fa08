package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// TablesFolder is the folder, in the common directory, with the refs of a repository that stores its refs in reftables.
const TablesFolder = "reftable"

const (
	// tablesPatience is how long one attempt to append to the tables waits. Other processes of this program append one after
	// the other within this time; any other lock may be dead, which patiently finds out.
	tablesPatience = 100 * time.Millisecond
	// turnsFile is the file, in locksFolder, by which the processes of this program take turns. Without "-", the name is not
	// that of an owner file.
	turnsFile = "turns"
)

// view returns the tables of a repository as they are now.
func (r reader) view() (*reftable.View, error) {
	view, err := r.tables.Look()
	return view, explainTables(err)
}

// explainTables turns an error of reftable into an error of this package.
func explainTables(err error) error {
	var damaged *reftable.DamagedError
	var mismatch *reftable.MismatchError
	var obstructed *reftable.ObstructedError
	var locked *reftable.LockedError
	switch {
	case errors.As(err, &damaged):
		return fmt.Errorf("%w: %s: %s", ErrDamaged, damaged.Path, damaged.Reason)
	case errors.Is(err, reftable.ErrAbsent):
		return fmt.Errorf("%w: git has moved the refs out of the reftable", ErrUnsupported)
	case errors.As(err, &mismatch) && mismatch.Found.Target != "":
		return &BrokenError{Name: Name(mismatch.Found.Name), Reason: symbolicTable, Symbolic: true}
	case errors.As(err, &mismatch):
		return &ConflictError{Name: Name(mismatch.Name), Expected: mismatch.Expected, Actual: mismatch.Found.ID}
	case errors.As(err, &obstructed):
		return fmt.Errorf("%w of %s: %s", ErrObstructed, obstructed.Name, obstructed.Other)
	case errors.As(err, &locked):
		return &heldError{locked.Path}
	case errors.Is(err, reftable.ErrNoLinks):
		return errStepBack
	}
	return err
}

const symbolicTable = "it is a symbolic ref"

// tabled returns the value of a ref in the tables, or the zero id if the ref does not exist. If the ref is symbolic, the error is a *BrokenError; if the
// tables are damaged, it wraps ErrDamaged.
func (r reader) tabled(name Name) (objstore.ID, error) {
	view, err := r.view()
	if err != nil {
		return objstore.ID{}, err
	}
	rec, _, err := view.Get(string(name))
	if err == nil && rec.Target != "" {
		return objstore.ID{}, &BrokenError{Name: name, Path: r.tables.List(), Reason: symbolicTable, Symbolic: true}
	}
	return rec.ID, explainTables(err)
}

// each calls f with each ref in the tables whose name begins with folder, in the order of the names. broken is nil, or a *BrokenError for a
// symbolic ref, whose id is zero.
func (r reader) each(ctx context.Context, folder string, f func(ref Ref, broken error)) error {
	view, err := r.view()
	if err != nil {
		return err
	}
	for rec, err := range view.Each(folder, "") {
		if err := errors.Join(ctx.Err(), explainTables(err)); err != nil {
			return err
		}
		var broken error
		if rec.Target != "" {
			broken = &BrokenError{Name: Name(rec.Name), Path: r.tables.List(), Reason: symbolicTable, Symbolic: true}
		}
		f(Ref{Name: Name(rec.Name), ID: rec.ID}, broken)
	}
	return nil
}

// tabledLeaves is list for refs in tables.
func (r reader) tabledLeaves(ctx context.Context, folder string, wanted func(string) bool) ([]leaf, error) {
	var leaves []leaf
	var broken []error
	err := r.each(ctx, folder, func(ref Ref, flaw error) {
		switch name := string(ref.Name[len(folder):]); {
		case !wanted(name):
		case flaw != nil:
			broken = append(broken, flaw)
		default:
			leaves = append(leaves, leaf{name, ref.ID})
		}
	})
	if err != nil {
		return nil, err
	}
	return leaves, errors.Join(broken...)
}

// tableWriter moves refs by appending to the tables. It uses the owner file and the rules of a fileWriter. The lock of the tables is a
// hard link to a file beside the owner file, so a lock whose owner is dead is known.
type tableWriter struct{ *fileWriter }

var _ writer = tableWriter{}

// apply makes updates in one append, and waits for locks of other processes (see patiently). It returns errStepBack if native git must
// make the updates.
func (w tableWriter) apply(ctx context.Context, updates []Update) error {
	if w.rules.stepBack(updates) {
		return errStepBack
	}
	view, err := w.db.reader.view()
	if err != nil {
		return err
	}
	if logged, err := view.HasLog(prefix); logged || err != nil {
		return errors.Join(errStepBack, explainTables(err)) // git continues the reflog
	}
	if err := w.ownDurably(); err != nil {
		return err
	}
	changes := make([]reftable.Change, len(updates))
	for i, u := range updates {
		changes[i] = reftable.Change{Name: string(u.Name), Old: u.Old, New: u.New}
	}
	return w.db.patiently(ctx, updates, func() error { return w.once(ctx, changes) })
}

// ownDurably is own. If own makes the folder of owner files, ownDurably puts the name of this folder on stable storage, so that a power cut cannot leave a
// lock of the tables without its owner.
func (w tableWriter) ownDurably() error {
	folder := filepath.Join(w.db.reader.dir, filepath.FromSlash(locksFolder))
	_, missing := os.Lstat(folder)
	if err := w.own(); err != nil || missing == nil || !w.syncsNames() {
		return err
	}
	return syncFolders(w.db.opts.FS, []string{filepath.Dir(folder), w.db.reader.dir})
}

// syncsNames reports whether the names of files must be on stable storage before refs count as moved.
func (w tableWriter) syncsNames() bool { return w.db.opts.Fsync && !w.db.opts.LateNames }

// once tries once to append changes. After an error, no ref has moved, unless the disk failed after the refs moved.
func (w tableWriter) once(ctx context.Context, changes []reftable.Change) error {
	proof := proofOf(w.owner.path)
	_, err := w.db.reader.tables.Append(ctx, changes, reftable.Options{
		FS: w.db.opts.FS, Proof: proof, Turns: filepath.Join(filepath.Dir(proof), turnsFile), Patience: tablesPatience,
		// Where git syncs, an append does so whatever this program's own settings are: a list or a table without its bytes would be the loss of
		// all refs, also of those that are not ours.
		Sync: w.db.opts.Fsync || w.db.opts.Repo.Config.Fsyncs(), SyncNames: w.syncsNames(),
		Guard: func(*reftable.View) error { return w.db.format.check() },
		Ready: func() error { return errors.Join(w.db.opts.Failpoint(FailRefsLocked), w.db.format.check()) },
	})
	return explainTables(err)
}

// proofOf returns the path of the file to which the lock of the tables is a hard link, for an owner file.
func proofOf(owner string) string {
	folder, name := filepath.Split(owner)
	return folder + strings.ReplaceAll(name, "-", ".") + ".list"
}

// addTables adds the refs in this program's folders to found, and the lock of the tables. If the tables are damaged, it sets
// found.Tables and adds no refs.
func (db *DB) addTables(ctx context.Context, dead map[string]bool, found *Inventory) error {
	lock := TablesFolder + "/tables.list" + lockSuffix
	if info, err := os.Lstat(filepath.Join(db.reader.dir, filepath.FromSlash(lock))); err == nil {
		found.Locks = append(found.Locks, LockFile{File: lock, Made: info.ModTime(), Dead: dead[db.reader.tables.List()+lockSuffix]})
	}
	var err error
	if found.Tables, err = db.reader.tables.Check(); err != nil || len(found.Tables) > 0 {
		return explainTables(err)
	}
	for _, folder := range []string{prefix, remotePrefix} {
		err = errors.Join(err, db.reader.each(ctx, folder, func(ref Ref, broken error) {
			found.Items = append(found.Items, Item{Name: ref.Name, ID: ref.ID, Broken: broken, Ours: ref.Name.check() == nil})
		}))
	}
	return err
}

// FreeTables removes the lock of the tables if the process that made it is dead. A command that only reads calls it, too, because the lock stops
// every ref of the repository, and git's commands with it.
func (db *DB) FreeTables(ctx context.Context) error {
	if db.reader.tables == nil {
		return nil
	}
	if _, err := os.Lstat(db.reader.tables.List() + lockSuffix); err != nil {
		return nil // no lock, or the next writer says why it cannot be seen
	}
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	_, _, err := db.removeStaleLocks(nil)
	return err
}

// removeDeadTables removes the lock of the tables if the process with the owner file at path made it, which must be dead. It returns the number of
// removed locks.
func (db *DB) removeDeadTables(path string) (int, error) {
	if db.reader.tables == nil {
		return 0, nil
	}
	removed, err := db.reader.tables.RemoveDead(db.opts.FS, proofOf(path))
	if removed {
		return 1, err
	}
	return 0, err
}
