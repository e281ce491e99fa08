package objstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Damage describes the flaw of a pack, of a pack's index or of a loose object's file.
type Damage struct {
	File   string // path relative to the object directory, with slashes
	Pack   string // the pack's name, "pack-<checksum>"; "" for a loose object
	Reason string // for example "truncated"
	// Unindexed reports whether the flaw is only that a pack has no index: git does not look at such a pack.
	Unindexed bool
	Objects   []ID // the unreadable objects, as far as the index lists them; sorted by id
}

// wholePackMax is the size in bytes of the largest pack of which a fileChecker reads every object. Larger packs have the user's history: of
// these, it reads the objects that are needed.
const wholePackMax = 1 << 20

// fileChecker checks the files of one object directory for damage.
type fileChecker struct {
	dir    *objectDir
	files  packFiles
	needed map[ID]bool
}

// check returns the damage of all packs, indexes and loose objects. A file that is removed during the check is not
// damaged. If progress is not nil, check calls progress after each pack and each loose object. done is the number of
// packs and loose objects checked so far, and total is the number of all.
func (c fileChecker) check(ctx context.Context, progress func(done, total int)) ([]Damage, error) {
	packs, err := allPackNames(c.files.dir)
	if err != nil {
		return nil, err
	}
	loose, err := looseIDs(c.dir.path)
	if err != nil {
		return nil, err
	}
	var found []Damage
	for i, name := range packs {
		damage, err := c.checkPack(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, damage...)
		if progress != nil {
			progress(i+1, len(packs)+len(loose))
		}
	}
	for i, id := range loose {
		if err := stopped(ctx, "check objects"); err != nil {
			return nil, err
		}
		if _, err := readLoose(c.dir.path, id, c.dir.maxObject); err != nil && !errors.Is(err, ErrNotFound) {
			file := path.Join(id.String()[:2], id.String()[2:])
			found = append(found, Damage{File: file, Reason: reasonOf(err), Objects: []ID{id}})
		}
		if progress != nil {
			progress(len(packs)+i+1, len(packs)+len(loose))
		}
	}
	return found, nil
}

// reasonOf returns the text of err for a Damage. If err is a CorruptError, this is only the Reason, because the Damage
// already has the object and the file.
func reasonOf(err error) string {
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		return corrupt.Reason
	}
	return err.Error()
}

// checkPack returns the damage of the pack with the given name: at most one Damage for its index, and one for its pack
// file. If the pack vanishes during the check, it is not damaged.
func (c fileChecker) checkPack(ctx context.Context, name string) ([]Damage, error) {
	if c.isSoundLarge(ctx, name) {
		return nil, nil
	}
	p, err := c.dir.openAnyway(ctx, name)
	if vanished(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.close() //nolint:errcheck // The pack was opened for reading only.
	bad, err := p.unreadable(ctx)
	if err != nil {
		return nil, err
	}
	// git or a merge may have removed the pack, or a writer may have added the index, during the check.
	if c.files.isGone(name) || p.indexReason == missingFile && isThere(p.idxPath) {
		return nil, nil
	}
	var found []Damage
	if p.indexReason != "" {
		found = append(found, Damage{File: "pack/" + name + ".idx", Pack: name, Reason: p.indexReason, Unindexed: p.indexReason == missingFile})
	}
	reason := p.packReason
	if reason == "" && len(bad) > 0 {
		reason = "has damaged objects"
	}
	if reason != "" {
		found = append(found, Damage{File: "pack/" + name + ".pack", Pack: name, Reason: reason, Objects: bad})
	}
	return found, nil
}

// isSoundLarge reports whether the pack with the given name has more than wholePackMax bytes and seems to be sound. Its index must have the
// right checksum, its head and its end must match the index, and each needed object must be readable.
func (c fileChecker) isSoundLarge(ctx context.Context, name string) bool {
	p := newAnyPack(c.dir, name)
	defer p.close() //nolint:errcheck // The pack was opened for reading only.
	info, err := os.Stat(p.packPath)
	if err != nil || info.Size() <= wholePackMax || p.readIndex() != nil || p.indexReason != "" {
		return false
	}
	if _, _, err := p.open(); err != nil {
		return false
	}
	for id := range c.needed {
		offset, found, err := p.idx.find(id)
		if err != nil {
			return false
		}
		if found {
			p.entries = append(p.entries, indexEntry{id: id, offset: offset})
		}
	}
	bad, err := p.unreadable(ctx)
	return err == nil && len(bad) == 0
}

// allPackNames returns the sorted names of all packs in dir, even of packs without a pack file or an index. It skips a
// pack that is being written, which has a .keep file and no index yet. If dir does not exist, allPackNames returns nil.
func allPackNames(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parts := make(map[string]map[string]bool)
	for _, file := range files {
		name, suffix := file.Name(), filepath.Ext(file.Name())
		if name = name[:len(name)-len(suffix)]; len(name) <= len("pack-") || name[:len("pack-")] != "pack-" {
			continue
		}
		if parts[name] == nil {
			parts[name] = make(map[string]bool)
		}
		parts[name][suffix] = true
	}
	var names []string
	for name, has := range parts {
		if has[".idx"] || has[".pack"] && !has[".keep"] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// looseIDs returns the sorted ids of the loose objects in the object directory dir. It skips files whose names
// are not ids.
func looseIDs(dir string) ([]ID, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []ID
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !folder.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, folder.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, file := range files {
			if id, err := ParseID(folder.Name() + file.Name()); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// checkedAtOnce is the number of neighbors in a pack that one goroutine checks: most bases of deltas are among them.
const checkedAtOnce = 4096

// unreadable reads every object of the pack, and returns the sorted ids of objects that are damaged or do not match
// their ids. If the pack file is missing, these are all objects that the index lists. If the system fails to read the
// pack file, or the file vanishes, unreadable returns the error.
func (p *anyPack) unreadable(ctx context.Context) ([]ID, error) {
	var mu sync.Mutex
	var bad []ID
	var readers errgroup.Group
	readers.SetLimit(runtime.GOMAXPROCS(0))
	for near := range slices.Chunk(p.byOffset(), checkedAtOnce) {
		readers.Go(func() error {
			for _, e := range near {
				if err := stopped(ctx, "check objects"); err != nil {
					return err
				}
				err := p.check(e)
				if vanished(err) || isFileError(err) {
					return err
				}
				if err != nil {
					mu.Lock()
					bad = append(bad, e.id)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := readers.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(bad, ID.Compare)
	return bad, nil
}

// check reads the object of the entry e, and returns an error if the object is damaged or does not match its id. It
// reads a large object in pieces, unless the object is stored as a delta. If the pack file is missing, the error is
// ErrNotFound.
func (p *anyPack) check(e indexEntry) error {
	if p.file == nil {
		return ErrNotFound
	}
	o, err := p.object(e)
	if err != nil || o.file == nil {
		return err
	}
	r, err := o.file.reader()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

// object returns the object of the entry e, for a check or for another pack. If the object has fewer than streamedFrom
// bytes or is stored as a delta, object reads and verifies its bytes. Otherwise the bytes stay in the pack file, and
// the caller's read verifies them.
func (p *anyPack) object(e indexEntry) (batchObject, error) {
	c := p.cursors.get(p.file, p.end)
	defer p.cursors.put(c)
	head, err := c.entryHead(e.offset)
	if err != nil {
		return batchObject{}, p.explain(e.id, c, err)
	}
	if head.isDelta() || head.size < streamedFrom {
		o, err := p.read(e.id, e.offset, p.maxObject)
		return batchObject{object: o, id: e.id}, err
	}
	open := func() (*objectReader, error) {
		r, err := p.openEntry(e.offset)
		if err == nil {
			// The reader must not close the file, because the pack closes it.
			r.close = func() error { return nil }
		}
		return r, err
	}
	kind := Kind(head.kind)
	return batchObject{
		object: object{kind: kind}, id: e.id,
		// The limit is high enough for any object: a check or a salvage must not fail for a large object.
		file: &deferredObject{id: e.id, open: open, maxObject: 1 << 62, kind: kind, size: head.size},
	}, nil
}

// byOffset returns the pack's entries sorted by their offset in the pack.
func (p *anyPack) byOffset() []indexEntry {
	return slices.SortedFunc(slices.Values(p.entries), func(a, b indexEntry) int { return cmp.Compare(a.offset, b.offset) })
}

// checksumAt returns the checksum of the first size bytes of f. ok is true if the same checksum
// follows these bytes in f.
func checksumAt(a Algorithm, f *os.File, size int64) (sum ID, ok bool, err error) {
	h := a.begin()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return sum, false, err
	}
	tail := make([]byte, a)
	if _, err := f.ReadAt(tail, size); err != nil {
		return sum, false, err
	}
	sum = a.end(h)
	return sum, bytes.Equal(sum.Bytes(), tail), nil
}
