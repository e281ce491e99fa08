package objstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Damage is the flaw of one file with objects, or of a pack's index.
type Damage struct {
	File    string // relative to the object directory, with slashes
	Pack    string // the pack's name, "pack-<checksum>"; "" for a loose object
	Reason  string
	Objects []ID // the unreadable objects, as far as the index lists them; sorted by id
}

// fileChecker checks the files of an object directory.
type fileChecker struct {
	dir   *objectDir
	files packFiles
}

// check checks every file. progress may be nil.
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

// reasonOf returns an error's reason without the names that a Damage has already.
func reasonOf(err error) string {
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		return corrupt.Reason
	}
	return err.Error()
}

// checkPack checks one pack and its index.
func (c fileChecker) checkPack(ctx context.Context, name string) ([]Damage, error) {
	p, err := c.dir.openAnyway(ctx, name)
	if vanished(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.close() //nolint:errcheck // it was opened for reading only
	bad, err := p.unreadable(ctx)
	if err != nil {
		return nil, err
	}
	if c.files.isGone(name) || p.indexReason == missingFile && isThere(p.idxPath) {
		return nil, nil
	}
	var found []Damage
	if p.indexReason != "" {
		found = append(found, Damage{File: "pack/" + name + ".idx", Pack: name, Reason: p.indexReason})
	}
	reason := p.packReason
	if reason == "" && len(bad) > 0 {
		reason = "has objects that do not match their ids"
	}
	if reason != "" {
		found = append(found, Damage{File: "pack/" + name + ".pack", Pack: name, Reason: reason, Objects: bad})
	}
	return found, nil
}

// allPackNames returns the sorted names of all packs, also of those that lack the pack file or the
// index. It skips packs that are being written: they have a .keep file before they have an index.
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

// looseIDs returns the ids of the loose objects in an object directory, sorted.
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

// unreadable reads every object of the pack and returns the ids that do not match their objects,
// sorted.
func (p *anyPack) unreadable(ctx context.Context) ([]ID, error) {
	var bad []ID
	for _, e := range p.byOffset() {
		if err := stopped(ctx, "check objects"); err != nil {
			return nil, err
		}
		if err := p.check(e); err != nil {
			if vanished(err) || isFileError(err) {
				return nil, err
			}
			bad = append(bad, e.id)
		}
	}
	slices.SortFunc(bad, ID.Compare)
	return bad, nil
}

// check reads one object and compares it with its id. A large object is hashed as it is read. A
// large delta is trusted if the pack's checksum is right.
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

// object returns an object to be written to another pack. It is verified, unless it is large: a
// large object is streamed.
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
			r.close = func() error { return nil }
		}
		return r, err
	}
	kind := Kind(head.kind)
	return batchObject{
		object: object{kind: kind}, id: e.id,
		file: &deferred{id: e.id, open: open, maxObject: 1 << 62, kind: kind, size: head.size},
	}, nil
}

// byOffset returns the entries in the order of the pack.
func (p *anyPack) byOffset() []indexEntry {
	return slices.SortedFunc(slices.Values(p.entries), func(a, b indexEntry) int { return cmp.Compare(a.offset, b.offset) })
}

// checksumAt computes the checksum of the first size bytes of a file, and reports whether the same
// checksum follows them.
func checksumAt(f *os.File, size int64) (sum [sha1.Size]byte, ok bool, err error) {
	h := sha1.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return sum, false, err
	}
	var tail [sha1.Size]byte
	if _, err := f.ReadAt(tail[:], size); err != nil {
		return sum, false, err
	}
	sum = [sha1.Size]byte(h.Sum(nil))
	return sum, bytes.Equal(sum[:], tail[:]), nil
}
