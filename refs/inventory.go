package refs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
)

// Item is one file or packed ref under refs/smithers/ or refs/smithers-remote/.
type Item struct {
	Name   Name
	File   string      // the path of the ref's file, relative to the common directory; "" if the ref is packed
	ID     objstore.ID // zero if the ref is broken
	Broken error       // a *BrokenError, or nil if the ref is sound
	Ours   bool        // the name is a name that this package gives
}

// LockFile is the lock of a ref or of packed-refs. Any process may have made it.
type LockFile struct {
	File string    // the path of the lock, relative to the common directory
	Made time.Time // the modification time
	Dead bool      // a process of this program made the lock and has died
}

// Inventory holds everything in the folders of this program's refs, including files that Tips and other lists
// omit. It also holds every flaw of any ref that stops git. Each list is sorted by name.
type Inventory struct {
	Items  []Item
	Locks  []LockFile
	Packed error          // a *BrokenError if packed-refs is broken; Items then has no packed refs
	Lines  []PackedLine   // invalid lines of packed-refs
	Others []*BrokenError // broken ref files outside the folders of this program
	Tables []string       // what is wrong with the reftables of the repository; Items then has no refs
	Files  int            // number of ref files in the folders of this program
}

// Inventory reads everything in the folders of this program's refs, all of packed-refs, and the files of all
// other refs. It changes nothing.
func (db *DB) Inventory(ctx context.Context) (*Inventory, error) {
	found := &Inventory{}
	dead, err := db.deadLocks()
	if err != nil {
		return nil, err
	}
	if db.reader.tables != nil {
		return found, db.addTables(ctx, dead, found)
	}
	for _, folder := range []string{prefix, remotePrefix} {
		if err := db.walkFolder(ctx, strings.TrimSuffix(folder, "/"), dead, found); err != nil {
			return nil, err
		}
	}
	found.Files = len(found.Items)
	if info, err := os.Lstat(filepath.Join(db.reader.dir, "packed-refs"+lockSuffix)); err == nil {
		found.Locks = append(found.Locks, LockFile{File: "packed-refs" + lockSuffix, Made: info.ModTime()})
	}
	if err := db.addPacked(found); err != nil {
		return nil, err
	}
	if found.Others, err = db.foreignBroken(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(found.Items, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	// The loose ref comes first and hides the packed ref, even if the loose ref is broken.
	found.Items = slices.CompactFunc(found.Items, func(a, b Item) bool { return a.Name == b.Name })
	return found, nil
}

// walkFolder adds the ref files and locks below folder to found. dead has the paths of the locks of dead processes. A
// file that disappears during the walk is not an error.
func (db *DB) walkFolder(ctx context.Context, folder string, dead map[string]bool, found *Inventory) error {
	top := filepath.Join(db.reader.dir, filepath.FromSlash(folder))
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || d.IsDir() {
			if isNoFile(err) {
				err = nil
			}
			return err
		}
		rel, err := filepath.Rel(db.reader.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(rel, lockSuffix) {
			if info, err := d.Info(); err == nil {
				found.Locks = append(found.Locks, LockFile{File: rel, Made: info.ModTime(), Dead: dead[path]})
			}
			return nil
		}
		item := Item{Name: Name(rel), File: rel, Ours: Name(rel).check() == nil}
		item.ID, err = db.reader.loose(item.Name)
		if errors.Is(err, ErrBroken) {
			item.Broken, err = err, nil
		}
		if err == nil && (item.Broken != nil || !item.ID.IsZero()) {
			found.Items = append(found.Items, item)
		}
		return err
	})
}

// addPacked adds the invalid lines of packed-refs to found, and the packed refs in this program's folders. If
// packed-refs is broken, it sets found.Packed to the error, adds no refs and returns nil.
func (db *DB) addPacked(found *Inventory) (err error) {
	if found.Lines, err = db.reader.checkPacked(); errors.Is(err, ErrBroken) {
		found.Packed = err
		return nil
	}
	if err != nil {
		return err
	}
	packed, err := db.reader.openPacked()
	if errors.Is(err, ErrBroken) {
		found.Packed = err
		return nil
	}
	if err != nil {
		return err
	}
	var items []Item
	for _, folder := range []string{prefix, remotePrefix} {
		for ref, scanErr := range packed.scan(folder) {
			if scanErr != nil {
				err = scanErr
				break
			}
			items = append(items, Item{Name: ref.Name, ID: ref.ID, Ours: ref.Name.check() == nil})
		}
	}
	if err = errors.Join(err, packed.close()); errors.Is(err, ErrBroken) {
		found.Packed = err
		return nil
	}
	found.Items = append(found.Items, items...)
	return err
}

// deadLocks returns the paths of the lock files that killed processes of this program left behind. Each process notes
// its locks in an owner file, which it keeps locked while it lives.
func (db *DB) deadLocks() (map[string]bool, error) {
	folder := filepath.Join(db.reader.dir, filepath.FromSlash(locksFolder))
	names, err := readNames(folder)
	if err != nil {
		return nil, err
	}
	dead := make(map[string]bool)
	for _, name := range names {
		if !strings.Contains(name, "-") {
			continue // not an owner file
		}
		path := filepath.Join(folder, name)
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		if locked, err := lock.TryLock(); err != nil || !locked {
			_ = lock.Close() // the owner is alive, has just ended, or is a process of another user
			continue
		}
		if db.reader.tables != nil && db.reader.tables.IsDead(proofOf(path)) {
			dead[db.reader.tables.List()+lockSuffix] = true
		}
		note, err := os.ReadFile(path)
		if err := errors.Join(err, lock.Close()); err != nil && !isNoFile(err) {
			return nil, err
		}
		for _, noted := range parseNote(string(note)) {
			path := db.reader.path(noted.name) + lockSuffix
			content, err := os.ReadFile(path)
			// The process wrote the noted content, or a part of it, into its lock file. Another content is the lock
			// of another process.
			if err == nil && strings.HasPrefix(noted.content+"\n", string(content)) {
				dead[path] = true
			}
		}
	}
	return dead, nil
}

// IsOurs reports whether n is a name that this package gives to a ref.
func (n Name) IsOurs() bool { return n.check() == nil }
