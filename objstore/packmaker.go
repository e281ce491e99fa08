package objstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// stagedPack is a complete pack with its index, both in the temporary directory.
type stagedPack struct {
	fs    fsx.FS
	name  string // the final name of the pack, which no pack has had before
	pack  string // path of the temporary file; "" after the rename
	index string // path of the index's temporary file; "" after the rename
	idx   *index
	bytes int64     // size of the pack
	made  time.Time // modification time of the pack file
}

// discard removes the temporary files that publish has not renamed. It ignores errors, because a later process
// removes a remaining file.
func (p *stagedPack) discard() {
	for _, path := range []string{p.pack, p.index} {
		if path != "" {
			_ = p.fs.Remove(path) // a later process removes the file
		}
	}
}

// packMaker writes packs: first to the temporary directory, and then, by rename, into the
// repository.
type packMaker struct {
	temp    *tempDir
	files   packFiles
	main    *objectDir // publish adds each new pack to it
	fsync   FsyncPolicy
	writers sync.Pool // of *packWriter, for their buffers
}

// stage writes a pack and its index to the temporary directory. fill must add exactly count entries to the
// writer. If sync is true, both files are on stable storage when stage returns. newest is the time of the
// newest pack that the new pack replaces, or zero if the new pack replaces none. stage dates the new pack as
// datedAfter says. After an error, stage leaves no file.
func (m *packMaker) stage(ctx context.Context, count int, sync bool, newest time.Time, fill func(context.Context, *packWriter) error) (_ *stagedPack, err error) {
	pack, err := m.temp.create()
	if err != nil {
		return nil, err
	}
	index, err := m.temp.create()
	if err != nil {
		m.temp.remove(pack)
		return nil, err
	}
	staged := &stagedPack{fs: m.temp.fs, pack: pack.Name(), index: index.Name()}
	err = m.fill(ctx, staged, pack, index, count, fill)
	if err == nil {
		// Some file systems refuse to set a time. The pack then keeps the present time and counts as young, so
		// merges leave it alone until it is older.
		if made := datedAfter(staged.made, newest); m.temp.fs.Date(staged.pack, made) == nil {
			staged.made = made
		}
	}
	if err == nil && sync {
		err = syncBoth(pack, index)
	}
	if err = errors.Join(err, pack.Close(), index.Close()); err != nil {
		staged.discard()
		return nil, err
	}
	return staged, nil
}

// fill writes a pack to the file pack, and then its index to the file index. Both files are open. The function
// addEntries must add exactly count entries to the writer. fill sets all fields of staged except the paths.
func (m *packMaker) fill(ctx context.Context, staged *stagedPack, pack, index fsx.File, count int, addEntries func(context.Context, *packWriter) error) error {
	w, ok := m.writers.Get().(*packWriter)
	if !ok {
		w = &packWriter{hash: m.main.hash, deflate: deflater{idSize: m.main.hash.Size()}}
	}
	defer m.writers.Put(w)
	if err := w.start(pack, count); err != nil {
		return err
	}
	if err := addEntries(ctx, w); err != nil {
		return err
	}
	sum, err := w.finish()
	if err != nil {
		return err
	}
	info, err := pack.Stat()
	if err != nil {
		return err
	}
	data := encodeIndex(w.entries, sum)
	if staged.idx, err = parseIndex(m.main.hash, data); err != nil {
		return err
	}
	staged.name = newPackName(m.main.hash)
	staged.bytes, staged.made = info.Size(), info.ModTime()
	_, err = index.Write(data)
	return err
}

// newPackName returns a name that no pack has had before. git repack -d lists packs, looks for what refs reach, and then removes the listed
// packs by their names. A pack that was made meanwhile, under a name that was listed, would go with them (decision 58). git and other programs
// take any name of this form: as many digits as an id has. git never removes a pack whose name has another number of digits.
func newPackName(hash Algorithm) string {
	random := make([]byte, 0, SHA256.Size())
	for len(random) < hash.Size() {
		random = binary.BigEndian.AppendUint64(random, rand.Uint64()) //nolint:gosec // it may be guessed, and must only be new
	}
	return "pack-" + hex.EncodeToString(random[:hash.Size()])
}

// syncBoth puts two files on stable storage at the same time. On a journaling file system, syncing two files at
// once takes hardly longer than syncing one.
func syncBoth(a, b fsx.File) error {
	var wait sync.WaitGroup
	var first error
	wait.Go(func() { first = a.Sync() })
	second := b.Sync()
	wait.Wait()
	return errors.Join(first, second)
}

// publish renames a staged pack into the repository, so that git and this store find it. It renames the index
// last, because git finds packs by their indexes. If sync is true, the names are on stable storage when publish
// returns. failpoints are the points at which tests stop a write. After an error the renamed files stay,
// and a later sweep looks at them.
func (m *packMaker) publish(staged *stagedPack, sync bool, failpoints failpoints) error {
	defer staged.discard()
	if err := m.temp.rename(staged.pack, m.files.path(staged.name, ".pack")); err != nil {
		return err
	}
	staged.pack = ""
	if err := failpoints.at("after-pack-rename"); err != nil {
		return err
	}
	if err := m.temp.rename(staged.index, m.files.path(staged.name, ".idx")); err != nil {
		return err
	}
	staged.index = ""
	if err := failpoints.at("after-idx-rename"); err != nil {
		return err
	}
	if sync {
		if err := m.files.sync(); err != nil {
			return err
		}
	}
	m.main.add(staged)
	return nil
}

// verify reads the index and every object of a staged pack back. It returns an error if the index differs from
// the bytes written, or if an object is unreadable or does not match its id.
func (m *packMaker) verify(ctx context.Context, staged *stagedPack) (err error) {
	p := newPack(newReading(m.main.hash, newCache(mergeCache), m.main.maxObject), "", staged.name, time.Time{})
	p.idx, p.packPath = staged.idx, staged.pack
	defer func() { err = errors.Join(err, p.close()) }()
	index, err := os.ReadFile(staged.index)
	if err == nil && !bytes.Equal(index, staged.idx.whole) {
		err = p.corrupt(ID{}, staged.index, "is not what was written")
	}
	if err != nil {
		return fmt.Errorf("verify index: %w", err)
	}
	entries, err := staged.idx.all()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return cmp.Compare(a.offset, b.offset) })
	for _, e := range entries {
		if err := stopped(ctx, "verify pack"); err != nil {
			return err
		}
		o, err := p.read(e.id, e.offset, p.maxObject)
		if err != nil {
			return fmt.Errorf("verify pack: %w", err)
		}
		p.cache.put(p.key(e.offset), o) // the next entry may be a delta of o
	}
	return nil
}

// rewriteIndex restores the index of a pack that was just published, if git gc has removed the index. git gc
// may have read the folder before the pack file appeared, and then removed the index as an orphan. rewriteIndex
// ignores errors, because the next sweep writes a missing index.
func (m *packMaker) rewriteIndex(staged *stagedPack) {
	path := m.files.path(staged.name, ".idx")
	if isThere(path) || !isThere(m.files.path(staged.name, ".pack")) {
		return
	}
	f, err := m.temp.create()
	if err != nil {
		return
	}
	_, err = f.Write(staged.idx.whole)
	if err == nil && m.fsync == Durable {
		err = f.Sync()
	}
	if errors.Join(err, f.Close()) != nil || m.temp.rename(f.Name(), path) != nil {
		_ = m.temp.fs.Remove(f.Name()) // a later process removes the file
		return
	}
	if m.fsync == Durable {
		_ = m.files.sync()
	}
}

// reindex replaces the index of the pack p by a new index of p's entries, and reopens the pack for readers.
// Before that, it saves an existing index in the folder asideDir.
func (m *packMaker) reindex(p *anyPack, asideDir string) error {
	f, err := m.temp.create()
	if err != nil {
		return err
	}
	_, err = f.Write(encodeIndex(withoutDoubles(p.entries), p.sum))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = m.temp.fs.Remove(f.Name()) // a later process removes the file
		return err
	}
	// A link, unlike a rename, keeps the old index in place until the new index replaces it.
	if isThere(p.idxPath) {
		if err := m.temp.fs.MkdirAll(asideDir, 0o777); err != nil {
			return err
		}
		if err := m.temp.fs.Link(p.idxPath, freeName(filepath.Join(asideDir, filepath.Base(p.idxPath)))); err != nil {
			return err
		}
	}
	if err := m.temp.fs.Rename(f.Name(), p.idxPath); err != nil {
		return err
	}
	m.main.drop(map[string]bool{p.name: true})
	if _, err := m.main.scan(); err != nil {
		return err
	}
	return m.files.sync()
}
