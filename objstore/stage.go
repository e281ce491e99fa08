package objstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// stagedPack is a finished pack and its index in the temporary directory.
type stagedPack struct {
	fs    fsx.FS
	name  string // what the pack is to be called, "pack-<checksum>"
	pack  string // path of the temporary file; empty once it was renamed
	index string // the same, of the index
	idx   *index
	bytes int64     // size of the pack
	made  time.Time // of the pack's file
}

// discard removes what has not been renamed. A file that cannot be removed is
// litter that a later process clears away.
func (p *stagedPack) discard() {
	for _, path := range []string{p.pack, p.index} {
		if path != "" {
			_ = p.fs.Remove(path) // see above
		}
	}
}

// stage writes a pack of count entries, by means of fill, and its index into the
// temporary directory; with sync they are on stable storage when it returns. The pack is
// dated after newest, the time of the newest pack that it replaces. On an error nothing
// is left.
func (s *Store) stage(ctx context.Context, count int, sync bool, newest time.Time, fill func(context.Context, *packWriter) error) (_ *stagedPack, err error) {
	pack, err := s.temp.create()
	if err != nil {
		return nil, err
	}
	index, err := s.temp.create()
	if err != nil {
		s.temp.remove(pack)
		return nil, err
	}
	staged := &stagedPack{fs: s.temp.fs, pack: pack.Name(), index: index.Name()}
	err = s.fillStaged(ctx, staged, pack, index, count, fill)
	if err == nil {
		// Some file systems take no other time. Such a pack is young for a while, and what it
		// replaces stays until it is older than what replaces that.
		if made := datedAfter(staged.made, newest); s.temp.fs.Date(staged.pack, made) == nil {
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

func (s *Store) fillStaged(ctx context.Context, staged *stagedPack, pack, index fsx.File, count int, fill func(context.Context, *packWriter) error) error {
	w, ok := s.packWriters.Get().(*packWriter)
	if !ok {
		w = &packWriter{}
	}
	defer s.packWriters.Put(w)
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

// syncBoth puts two files on stable storage at once, which takes a journaling file
// system hardly longer than one.
func syncBoth(a, b fsx.File) error {
	var wait sync.WaitGroup
	var first error
	wait.Go(func() { first = a.Sync() })
	second := b.Sync()
	wait.Wait()
	return errors.Join(first, second)
}

// publish renames a staged pack into the repository: the index last, since it is
// by their indexes that git finds packs. With sync the names are on stable storage
// when it returns. What has been renamed is never removed again on an error: a
// pack of the same name, hence of the same bytes, may have been there before and be
// in use. failpoint may be nil.
func (s *Store) publish(staged *stagedPack, sync bool, failpoint func(string) error) error {
	defer staged.discard()
	if failpoint == nil {
		failpoint = func(string) error { return nil }
	}
	if err := s.temp.rename(staged.pack, s.packPath(staged.name, ".pack")); err != nil {
		return err
	}
	staged.pack = ""
	if err := failpoint("after-pack-rename"); err != nil {
		return err
	}
	if err := s.temp.rename(staged.index, s.packPath(staged.name, ".idx")); err != nil {
		return err
	}
	staged.index = ""
	if err := failpoint("after-idx-rename"); err != nil {
		return err
	}
	if sync {
		return s.temp.fs.SyncDir(s.main.packDir())
	}
	return nil
}

// packPath is where a file of the named pack belongs.
func (s *Store) packPath(name, suffix string) string {
	return filepath.Join(s.main.packDir(), name+suffix)
}
