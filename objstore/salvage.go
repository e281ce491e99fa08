package objstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// SalvageResult is the result of [Store.Salvage].
type SalvageResult struct {
	Objects int  // number of readable objects
	Lost    []ID // the unreadable objects, as far as the index listed them; sorted by id
	Indexed bool // the pack was sound and has a new index; false if a new pack was written or nothing changed
}

// salvager saves the readable objects of damaged packs, and moves damaged files out of the object directory.
type salvager struct {
	dir        *objectDir
	files      packFiles
	packs      *packMaker
	failpoints failpoints
}

// salvage saves the readable objects of the pack with the given name, if the pack or its index is damaged. If
// only the index is damaged, and every object is readable, the pack gets a new index. Otherwise salvage writes
// the readable objects to a new pack, and moves the old files to the folder asideDir. It does not change an
// undamaged pack; the result then has only the number of objects.
func (s salvager) salvage(ctx context.Context, name, asideDir string) (SalvageResult, error) {
	p, err := s.dir.openAnyway(ctx, name)
	if err != nil {
		return SalvageResult{}, err
	}
	defer p.close() //nolint:errcheck // The pack was opened for reading only.
	bad, err := p.unreadable(ctx)
	if err != nil {
		return SalvageResult{}, err
	}
	if p.packReason == "" && p.indexReason == "" && len(bad) == 0 {
		return SalvageResult{Objects: len(p.entries)}, nil // nothing is damaged
	}
	// If only the index is damaged and all objects were found, the pack itself can stay.
	if p.packReason == "" && p.indexReason != "" && len(bad) == 0 {
		if n, err := p.count(); err == nil && n == len(p.entries) {
			return SalvageResult{Objects: n, Indexed: true}, s.packs.reindex(p, asideDir)
		}
	}
	good := p.without(bad)
	if len(good) > 0 {
		if err := s.writeAgain(ctx, p, good); err != nil {
			return SalvageResult{}, err
		}
	}
	return SalvageResult{Objects: len(good), Lost: bad}, s.setAside(name, asideDir)
}

// without returns the pack's entries, except the entries whose ids are in bad, sorted by offset. If several
// entries have the same id, without returns the first of them.
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

// writeAgain writes the objects of the pack p that have the entries good to a new pack, and publishes the new
// pack. If p has a .promisor file, the new pack gets a .promisor file, too.
func (s salvager) writeAgain(ctx context.Context, p *anyPack, good []indexEntry) error {
	staged, err := s.packs.stage(ctx, len(good), true, time.Time{}, func(ctx context.Context, w *packWriter) error {
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
	if isThere(s.files.path(p.name, ".promisor")) {
		// In a partial clone, git never fetches some objects. Without the .promisor file, git would report
		// these objects as lost.
		f, err := s.files.temp.fs.OpenFile(s.files.path(staged.name, ".promisor"), os.O_WRONLY|os.O_CREATE, 0o444)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			staged.discard()
			return err
		}
	}
	return s.packs.publish(staged, true, s.failpoints)
}

// setAside moves the files of the pack with the given name to the folder asideDir, and forgets the pack.
func (s salvager) setAside(name, asideDir string) error {
	if err := s.files.setAside(name, asideDir); err != nil {
		return err
	}
	s.dir.drop(map[string]bool{name: true})
	return s.files.sync()
}

// setLooseAside moves the file of a damaged loose object to the folder asideDir. It does nothing if the object
// is sound or missing.
func (s salvager) setLooseAside(id ID, asideDir string) error {
	if _, err := readLoose(s.dir.path, id, s.dir.maxObject); err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	hex := id.String()
	return moveAside(s.files.temp.fs, filepath.Join(s.dir.path, hex[:2], hex[2:]), asideDir)
}
