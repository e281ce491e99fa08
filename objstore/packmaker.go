package objstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// stagedPack is a finished pack and its index in the temporary directory.
type stagedPack struct {
	fs    fsx.FS
	name  string // the final name of the pack, "pack-<checksum>"
	pack  string // path of the temporary file; "" after the rename
	index string // the same for the index
	idx   *index
	bytes int64     // size of the pack
	made  time.Time // of the pack's file
}

// discard removes files that were not renamed. A later process clears away a file that cannot be
// removed.
func (p *stagedPack) discard() {
	for _, path := range []string{p.pack, p.index} {
		if path != "" {
			_ = p.fs.Remove(path) // see above
		}
	}
}

// packMaker writes packs: first to the temporary directory, then, by rename, into the repository.
type packMaker struct {
	temp    *tempDir
	files   packFiles
	main    *objectDir // learns of new packs
	fsync   FsyncPolicy
	writers sync.Pool // of *packWriter, for their buffers
}

// stage writes a pack of count entries, which fill adds, and its index to the temporary directory.
// With sync, both are on stable storage when stage returns. The pack is dated after newest, the
// time of the newest pack that it replaces. After an error no file is left.
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
		// Some file systems do not take the time. Then the pack is young for a while, and is not
		// replaced until it is older.
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

func (m *packMaker) fill(ctx context.Context, staged *stagedPack, pack, index fsx.File, count int, fill func(context.Context, *packWriter) error) error {
	w, ok := m.writers.Get().(*packWriter)
	if !ok {
		w = &packWriter{}
	}
	defer m.writers.Put(w)
	if err := w.start(pack, count); err != nil {
		return err
	}
	if err := fill(ctx, w); err != nil {
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
	if staged.idx, err = parseIndex(data); err != nil {
		return err
	}
	staged.name = "pack-" + hex.EncodeToString(sum[:sha1.Size])
	staged.bytes, staged.made = info.Size(), info.ModTime()
	_, err = index.Write(data)
	return err
}

// syncBoth puts two files on stable storage at once. On a journaling file system this hardly takes
// longer than for one file.
func syncBoth(a, b fsx.File) error {
	var wait sync.WaitGroup
	var first error
	wait.Go(func() { first = a.Sync() })
	second := b.Sync()
	wait.Wait()
	return errors.Join(first, second)
}

// publish renames a staged pack into the repository, and makes it readable. The index is renamed
// last, because git finds packs by their indexes. With sync the names are on stable storage when
// publish returns. After an error the renamed files stay: a pack of the same name, and so of the
// same bytes, may have been there before and be in use.
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

// verify reads the index and every object of a staged pack back.
func (m *packMaker) verify(ctx context.Context, staged *stagedPack) (err error) {
	p := newPack(newReading(newCache(mergeCache), m.main.maxObject), "", staged.name, time.Time{})
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
		if _, err := p.read(e.id, e.offset, p.maxObject); err != nil {
			return fmt.Errorf("verify pack: %w", err)
		}
	}
	return nil
}

// rewriteIndex writes the index of a pack that was just published once more, if git gc has removed
// it: while the pack and its index were made, gc may have read the folder, seen only the index, and
// removed it. If that fails, the next sweep writes the index.
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
		_ = m.temp.fs.Remove(f.Name()) // a later process clears it away
		return
	}
	if m.fsync == Durable {
		_ = m.files.sync()
	}
}

// reindex writes a new index for a pack. A damaged index is moved to the folder aside.
func (m *packMaker) reindex(p *anyPack, aside string) error {
	f, err := m.temp.create()
	if err != nil {
		return err
	}
	_, err = f.Write(encodeIndex(withoutDoubles(p.entries), p.sum))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = m.temp.fs.Remove(f.Name()) // a later process clears it away
		return err
	}
	// The old index is linked first, so that the pack has an index at any time.
	if isThere(p.idxPath) {
		if err := m.temp.fs.MkdirAll(aside, 0o777); err != nil {
			return err
		}
		if err := m.temp.fs.Link(p.idxPath, freeName(filepath.Join(aside, filepath.Base(p.idxPath)))); err != nil {
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
