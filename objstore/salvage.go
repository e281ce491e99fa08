package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Salvaged is the result of Salvage.
type Salvaged struct {
	Objects int  // number of saved objects
	Lost    []ID // unreadable objects, as far as the index listed them, sorted by id
	Indexed bool // the pack is sound, and has a new index
}

// Salvage saves the readable objects of a damaged pack. A sound pack gets a new index; from
// another pack, the sound objects are written to a new pack. The old files
// are moved to the folder aside, on the same file system, and never deleted. An undamaged pack is
// unchanged.
//
// Everything is on stable storage before anything is moved, so every readable object stays readable at
// any time.
func (s *Store) Salvage(ctx context.Context, name, aside string) (Salvaged, error) {
	saved, err := s.salvage(ctx, name, aside)
	if err != nil {
		return Salvaged{}, fmt.Errorf("salvage %s: %w", name, err)
	}
	return saved, nil
}

func (s *Store) salvage(ctx context.Context, name, aside string) (Salvaged, error) {
	if err := s.enter(); err != nil {
		return Salvaged{}, err
	}
	defer s.life.RUnlock()
	p, err := s.openAnyway(ctx, name)
	if err != nil {
		return Salvaged{}, err
	}
	defer p.close() //nolint:errcheck // it was opened for reading only
	bad, err := p.unreadable(ctx)
	if err != nil {
		return Salvaged{}, err
	}
	if p.packReason == "" && p.indexReason == "" && len(bad) == 0 {
		return Salvaged{Objects: len(p.entries)}, nil
	}
	if p.packReason == "" && p.indexReason != "" && len(bad) == 0 {
		if n, err := p.count(); err == nil && n == len(p.entries) {
			return Salvaged{Objects: n, Indexed: true}, s.reindex(p, aside)
		}
	}
	good := p.without(bad)
	if len(good) > 0 {
		if err := s.writeAgain(ctx, p, good); err != nil {
			return Salvaged{}, err
		}
	}
	return Salvaged{Objects: len(good), Lost: bad}, s.setAside(name, aside)
}

// without is the pack's entries in their order, but for some objects.
func (p *anyPack) without(bad []ID) []indexEntry {
	lost := make(map[ID]bool, len(bad))
	for _, id := range bad {
		lost[id] = true
	}
	var good []indexEntry
	seen := make(map[ID]bool, len(p.entries))
	for _, e := range p.byOffset() {
		if !lost[e.id] && !seen[e.id] {
			seen[e.id] = true
			good = append(good, e)
		}
	}
	return good
}

// writeAgain writes objects of a pack to a new one.
func (s *Store) writeAgain(ctx context.Context, p *anyPack, good []indexEntry) error {
	staged, err := s.stage(ctx, len(good), true, time.Time{}, func(ctx context.Context, w *packWriter) error {
		for _, e := range good {
			if err := ctx.Err(); err != nil {
				return err
			}
			o, err := p.object(e)
			if err != nil {
				return err
			}
			if err := o.writeTo(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isThere(s.packPath(p.name, ".promisor")) {
		// Of a partial clone: without it git would take what was never fetched for lost.
		f, err := s.temp.fs.OpenFile(s.packPath(staged.name, ".promisor"), os.O_WRONLY|os.O_CREATE, 0o444)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			staged.discard()
			return err
		}
	}
	if err := s.publish(staged, true, s.failpoint); err != nil {
		return err
	}
	s.main.add(staged)
	return nil
}

// reindex puts a new index in the place of a damaged one, which goes aside, or of none.
func (s *Store) reindex(p *anyPack, aside string) error {
	f, err := s.temp.create()
	if err != nil {
		return err
	}
	_, err = f.Write(encodeIndex(withoutDoubles(p.entries), p.sum))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = s.temp.fs.Remove(f.Name()) // litter that a later process clears away
		return err
	}
	// A link first, so that there is an index at any time.
	if isThere(p.idxPath) {
		if err := s.temp.fs.MkdirAll(aside, 0o777); err != nil {
			return err
		}
		if err := s.temp.fs.Link(p.idxPath, freeName(filepath.Join(aside, filepath.Base(p.idxPath)))); err != nil {
			return err
		}
	}
	if err := s.temp.fs.Rename(f.Name(), p.idxPath); err != nil {
		return err
	}
	s.main.drop(map[string]bool{p.name: true})
	if _, err := s.main.scan(); err != nil {
		return err
	}
	return s.temp.fs.SyncDir(s.main.packDir())
}

// setAside moves the files of a pack to a folder, and a multi-pack-index that names it.
func (s *Store) setAside(name, aside string) error {
	held, err := midxPacks(s.main.packDir())
	if err != nil && !errors.Is(err, errMidx) {
		return err
	}
	files, err := os.ReadDir(s.main.packDir())
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		of := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
		if of == name || held[name] && strings.HasPrefix(file.Name(), "multi-pack-index") {
			names = append(names, file.Name())
		}
	}
	// The index first: git finds packs by it, and none without its pack.
	for _, index := range []bool{true, false} {
		for _, file := range names {
			if (filepath.Ext(file) != ".pack") == index {
				if err := s.moveAside(filepath.Join(s.main.packDir(), file), aside); err != nil {
					return err
				}
			}
		}
	}
	s.main.drop(map[string]bool{name: true})
	return s.temp.fs.SyncDir(s.main.packDir())
}

// SetAside moves a loose object that is damaged to a folder. One that is sound stays.
func (s *Store) SetAside(id ID, aside string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if _, err := readLoose(s.opts.ObjectsDir, id, s.opts.MaxObject); err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	hex := id.String()
	if err := s.moveAside(filepath.Join(s.opts.ObjectsDir, hex[:2], hex[2:]), aside); err != nil {
		return fmt.Errorf("set %v aside: %w", id, err)
	}
	return nil
}

// moveAside moves a file to a folder, under a name that is free there.
func (s *Store) moveAside(path, folder string) error {
	if err := s.temp.fs.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	err := s.temp.fs.Rename(path, freeName(filepath.Join(folder, filepath.Base(path))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// freeName is the path or, where something is there, one with a number behind it.
func freeName(path string) string {
	free := path
	for n := 2; isThere(free); n++ {
		free = path + "." + strconv.Itoa(n)
	}
	return free
}
