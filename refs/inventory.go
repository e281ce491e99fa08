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

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/objstore"
)

// Item is one file or packed ref under refs/smithers/ or refs/smithers-remote/.
type Item struct {
	Name   Name
	File   string      // its file in the common directory; "" if packed
	ID     objstore.ID // zero if broken
	Broken error       // a *BrokenError, or nil
	Ours   bool        // the name is a valid name of ours
}

// LockFile is the lock of a ref, of any process.
type LockFile struct {
	File string // path in the common directory
	Made time.Time
	Dead bool // left by a dead process of this program
}

// Inventory is everything in the folders of our refs, including what Tips and other lists omit,
// and everything in any refs that stops git. Each list is sorted by name.
type Inventory struct {
	Items  []Item
	Locks  []LockFile
	Packed error          // a *BrokenError if packed-refs is broken; Items then has no packed refs
	Lines  []PackedLine   // invalid lines of packed-refs
	Others []*BrokenError // broken files of other programs' refs
	Files  int            // number of our loose refs
}

// Inventory reads everything in the folders of our refs, all of packed-refs, and the files
// of all other refs. It changes nothing.
func (db *DB) Inventory(ctx context.Context) (*Inventory, error) {
	found := &Inventory{}
	dead, err := db.deadLocks()
	if err != nil {
		return nil, err
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
	// The loose ref comes first and hides the packed one, even if it is broken.
	found.Items = slices.CompactFunc(found.Items, func(a, b Item) bool { return a.Name == b.Name })
	return found, nil
}

// walkFolder adds the refs and locks in a folder to the inventory. dead are the paths of dead processes' locks.
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

// addPacked adds the packed refs in our folders to the inventory. If packed-refs is broken, it adds only the flaw.
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

// deadLocks returns the paths of locks that killed processes of this program left behind.
func (db *DB) deadLocks() (map[string]bool, error) {
	folder := filepath.Join(db.reader.dir, filepath.FromSlash(locksFolder))
	names, err := readNames(folder)
	if err != nil {
		return nil, err
	}
	dead := make(map[string]bool)
	for _, name := range names {
		if !strings.Contains(name, "-") {
			continue
		}
		path := filepath.Join(folder, name)
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		if gone, err := lock.TryLock(); err != nil || !gone {
			_ = lock.Close() // its owner is alive, has just ended, or is another user
			continue
		}
		note, err := os.ReadFile(path)
		if err := errors.Join(err, lock.Close()); err != nil && !isNoFile(err) {
			return nil, err
		}
		for _, noted := range parseNote(string(note)) {
			path := db.reader.path(noted.name) + lockSuffix
			content, err := os.ReadFile(path)
			if err == nil && strings.HasPrefix(noted.content+"\n", string(content)) {
				dead[path] = true
			}
		}
	}
	return dead, nil
}

// IsOurs reports whether the name is a valid name of a ref of ours.
func (n Name) IsOurs() bool { return n.check() == nil }
