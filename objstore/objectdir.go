package objstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// objectDir reads the packs and the loose objects of one object directory. It is safe for
// concurrent use.
type objectDir struct {
	reading

	path   string
	latest atomic.Pointer[pack] // the pack of the last object that was read; the next object is likely in it, too

	mu      sync.Mutex
	packs   []*pack // the newest first; changes replace the slice, because readers use it without mu
	scanned bool
	added   int // packs added since the last scan
}

const (
	// maxAdded is the number of packs that this process may add before the next scan. The scan forgets packs
	// that were merged or collected since the last scan.
	maxAdded = 128
	// maxScans is the number of times that a read looks again because packs are being replaced.
	maxScans = 8
)

// newObjectDir returns the object directory at path. It reads nothing. r is the state that object directories
// of one store share.
func newObjectDir(path string, r reading) *objectDir {
	return &objectDir{reading: r, path: path}
}

// packDir returns the path of the folder with the packs.
func (d *objectDir) packDir() string { return filepath.Join(d.path, "pack") }

// read returns an object of at most limit bytes, verified against id. It looks in the known packs and then
// among the loose objects. If neither has a readable copy, read scans the directory and looks again, until two
// scans in a row find the same packs or maxScans is reached. git packs and unpacks objects at any time, and a
// scan while packs are replaced may find neither the old packs nor the new packs.
//
// If there is no copy, the error wraps ErrNotFound. If every copy is damaged or too large, the error is a
// [*CorruptError].
func (d *objectDir) read(id ID, limit int64) (object, error) {
	packs, err := d.known()
	if err != nil {
		return object{}, err
	}
	var failed error
	agreed := 0
	for range maxScans {
		var o object
		if o, failed = d.readPacked(packs, id, limit); failed == nil {
			return o, nil
		}
		if o, err = readLoose(d.path, id, limit); err == nil {
			return o, nil
		}
		if errors.Is(failed, ErrNotFound) {
			failed = err
		}
		before := packs
		if packs, err = d.scan(); err != nil {
			return object{}, err
		}
		// Two scans that find the same packs show that no pack is being replaced.
		if vanished(failed) || !slices.Equal(before, packs) {
			agreed = 0
		} else if agreed++; agreed == 2 {
			break
		}
	}
	if vanished(failed) {
		return object{}, fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	return object{}, failed
}

// readPacked returns an object of at most limit bytes from the first of packs with a readable copy. It first
// tries d.latest, the pack of the previous object. If packs have only damaged copies, the error is about the
// first damaged copy. If the packs with a copy no longer exist, vanished returns true for the error. If no pack
// lists the object, the error wraps ErrNotFound.
func (d *objectDir) readPacked(packs []*pack, id ID, limit int64) (object, error) {
	var failed error
	try := func(p *pack) (object, bool) {
		offset, found, err := p.find(id)
		if err == nil && !found {
			return object{}, false
		}
		var o object
		if err == nil {
			if o, err = p.read(id, offset, limit); err == nil {
				d.latest.Store(p)
				return o, true
			}
		}
		// Keep the error about a damaged copy, and replace an error about a missing file.
		if failed == nil || vanished(failed) {
			failed = err
		}
		return object{}, false
	}
	latest := d.latest.Load()
	if latest != nil && slices.Contains(packs, latest) {
		if o, ok := try(latest); ok {
			return o, nil
		}
	}
	for _, p := range packs {
		if p == latest {
			continue
		}
		if o, ok := try(p); ok {
			return o, nil
		}
	}
	if failed == nil {
		failed = fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	return object{}, failed
}

// known returns the packs of the last scan and the packs added since then. The first call scans the
// directory.
func (d *objectDir) known() ([]*pack, error) {
	d.mu.Lock()
	packs, scanned := d.packs, d.scanned
	d.mu.Unlock()
	if scanned {
		return packs, nil
	}
	return d.scan()
}

// scan reads the directory, remembers its packs and returns them, the newest first. Known packs
// stay open; scan closes packs that no longer exist. If no pack has changed, the result is the same
// slice as before.
func (d *objectDir) scan() ([]*pack, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, err := packNames(d.packDir())
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*pack, len(d.packs))
	for _, p := range d.packs {
		byName[p.name] = p
	}
	packs := make([]*pack, 0, len(names))
	for _, name := range names {
		if p, ok := byName[name]; ok {
			packs = append(packs, p)
			delete(byName, name)
			continue
		}
		info, err := os.Lstat(filepath.Join(d.packDir(), name+".pack"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		packs = append(packs, d.newPack(name, info.ModTime()))
	}
	d.scanned, d.added = true, 0
	slices.SortFunc(packs, func(a, b *pack) int {
		if c := b.made.Compare(a.made); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	if !slices.Equal(packs, d.packs) {
		d.packs = packs
	}
	for _, p := range byName {
		// A reader of the pack gets an error for which vanished returns true, and looks again.
		_ = p.close() // the pack was opened for reading only
	}
	return d.packs, nil
}

// packNames returns the names, without ".idx", of the packs in dir that have an index, in no particular order.
// It returns nil if dir does not exist.
func packNames(dir string) (_ []string, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	files, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file, ".idx"); ok && strings.HasPrefix(name, "pack-") {
			names = append(names, name)
		}
	}
	return names, nil
}

// newPack returns the pack with the given name in the directory, without opening its files. made is the
// modification time of the pack file.
func (d *objectDir) newPack(name string, made time.Time) *pack {
	return newPack(d.reading, d.packDir(), name, made)
}

// openAside returns a separate reader of the pack with the given name. Closing this reader does not disturb
// other readers of the pack. The caller closes the reader.
func (d *objectDir) openAside(name string) *pack {
	p := d.newPack(name, time.Time{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.packs, func(known *pack) bool { return known.name == name }); i >= 0 {
		p.idx = d.packs[i].smallIndex()
	}
	return p
}

// eachIn calls f for each id of ids that the pack with the given name has. If the index of the pack is
// unreadable, eachIn returns an error and does not call f.
func (d *objectDir) eachIn(name string, ids map[ID]struct{}, f func(ID)) error {
	p := d.openAside(name)
	entries, err := p.entries()
	if err := errors.Join(err, p.close()); err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := ids[e.id]; ok {
			f(e.id)
		}
	}
	return nil
}

// add adds a pack that was just published to the known packs, so that readers find it without a scan. If more
// than maxAdded packs were added since the last scan, add also scans the directory.
func (d *objectDir) add(staged *stagedPack) {
	d.mu.Lock()
	known := slices.ContainsFunc(d.packs, func(p *pack) bool { return p.name == staged.name })
	if !known {
		p := d.newPack(staged.name, staged.made)
		// The index is in memory. The pack keeps a small index, and opens the file of a large index at the
		// first read.
		if staged.idx.size <= indexWholeMax {
			p.idx = staged.idx
		}
		d.packs = slices.Concat([]*pack{p}, d.packs)
		d.added++
	}
	crowded := d.added > maxAdded
	d.mu.Unlock()
	if crowded {
		_, _ = d.scan() // after an error the packs stay known, and a later read scans again
	}
}

// drop closes and forgets the packs with the given names, because their files have changed or no longer exist.
func (d *objectDir) drop(names map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var kept []*pack
	for _, p := range d.packs {
		if !names[p.name] {
			kept = append(kept, p)
			continue
		}
		_ = p.close() // the pack was opened for reading only
	}
	d.packs = kept
}

// close closes and forgets every pack.
func (d *objectDir) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, p := range d.packs {
		errs = append(errs, p.close())
	}
	d.packs = nil
	return errors.Join(errs...)
}
