package objstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// anyPack is a pack that may be damaged. It gives access to all objects that are still readable.
type anyPack struct {
	*pack

	entries     []indexEntry // from the index; if the index is damaged, from the readable part of the pack
	sum         ID           // the checksum, computed from the pack file
	packReason  string       // the flaw of the pack file; "" if it is sound
	indexReason string       // the flaw of the index; "" if it is sound
}

// missingFile is the packReason or indexReason of a missing file.
const missingFile = "is missing"

// openAnyway opens the pack with the given name, even if the pack is damaged, and verifies the checksums of its files.
// It records the flaw of the pack file in packReason, and the flaw of the index in indexReason. A missing file is a
// flaw, too. If the index is damaged or missing, openAnyway finds the entries in the pack file. If both files are
// missing, vanished returns true for the error. If there is no error, the caller must close the pack.
func (d *objectDir) openAnyway(ctx context.Context, name string) (_ *anyPack, err error) {
	p := newAnyPack(d, name)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	indexErr := p.readIndex()
	if indexErr == nil && p.indexReason == "" {
		if p.entries, err = p.idx.all(); err != nil {
			p.indexReason, p.idx = err.Error(), nil
		}
	}
	packErr := p.readPack()
	if vanished(indexErr) && vanished(packErr) {
		return nil, indexErr
	}
	if vanished(packErr) {
		p.packReason, packErr = missingFile, nil
	}
	if vanished(indexErr) {
		p.indexReason, indexErr = missingFile, nil
	}
	if err := errors.Join(indexErr, packErr); err != nil {
		return nil, err
	}
	if p.indexReason == "" && p.packReason == "" && p.sum != p.idx.packSum {
		p.indexReason = "belongs to another pack"
	}
	if p.indexReason != "" && p.file != nil {
		return p, p.scan(ctx)
	}
	return p, nil
}

// newAnyPack returns the pack with the given name, without its entries. It opens no file.
func newAnyPack(d *objectDir, name string) *anyPack {
	r := newReading(d.hash, newCache(mergeCache), d.maxObject)
	return &anyPack{pack: newPack(r, d.packDir(), name, time.Time{})}
}

// readIndex reads the whole index and sets idx. If the index is malformed, readIndex
// sets indexReason and returns nil.
func (p *anyPack) readIndex() error {
	f, err := fsx.OpenShared(p.idxPath, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // The file is only read.
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return err
	}
	idx, err := parseIndex(p.hash, data)
	if err != nil {
		p.indexReason = err.Error()
		return nil
	}
	p.idx = idx
	return nil
}

// readPack opens the pack file, and sets file, end and sum. If the pack is damaged, readPack sets packReason and
// returns nil. In a truncated pack, end is the end of the file, because the checksum at the end is missing.
func (p *anyPack) readPack() error {
	f, err := fsx.OpenShared(p.packPath, os.O_RDONLY)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p.file, p.end = f, info.Size()
	if p.end < packHeadSize+int64(p.hash) {
		p.packReason = "truncated"
		return nil
	}
	var head [packHeadSize]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return err
	}
	whole := false
	if p.sum, whole, err = checksumAt(p.hash, f, p.end-int64(p.hash)); err != nil {
		return err
	}
	switch {
	case whole:
		p.end -= int64(p.hash)
	// The index belongs to the complete pack, whose end is missing here.
	case p.idx != nil && p.sum != p.idx.packSum && !p.reaches():
		p.packReason = "truncated"
	default:
		p.packReason = "wrong checksum"
		p.end -= int64(p.hash)
	}
	if [8]byte(head[:8]) != packMagic {
		p.packReason = "not a version 2 pack"
	}
	return nil
}

// reaches reports whether the pack file seems to be complete. In a complete file, the last entry of the index starts
// before the checksum, and the file ends with the checksum that the index records for the pack.
func (p *anyPack) reaches() bool {
	last := int64(packHeadSize)
	for _, e := range p.entries {
		last = max(last, e.offset)
	}
	if last >= p.end-int64(p.hash) {
		return false
	}
	tail := make([]byte, p.hash)
	_, err := p.file.ReadAt(tail, p.end-int64(p.hash))
	return err == nil && bytes.Equal(tail, p.idx.packSum.Bytes())
}

// scan sets entries and idx from the pack file alone. It finds the entries up to the first damaged entry. It leaves out
// an entry whose object cannot be read, for example a delta whose base is missing, because the id of such an object
// cannot be computed.
func (p *anyPack) scan(ctx context.Context) error {
	offsets, err := p.findEntries(ctx)
	if err != nil {
		return err
	}
	p.entries = nil
	for len(offsets) > 0 {
		var left []indexEntry
		for _, e := range offsets {
			if err := stopped(ctx, "scan pack"); err != nil {
				return err
			}
			o, err := p.identify(e.offset)
			if err != nil {
				if vanished(err) || isFileError(err) {
					return err
				}
				left = append(left, e)
				continue
			}
			e.id = p.hash.ID(o.kind, o.data)
			p.entries = append(p.entries, e)
		}
		// A delta may name a later base by its id. The ids found so far make an index for the next
		// round.
		if p.idx, err = parseIndex(p.hash, encodeIndex(withoutDoubles(p.entries), p.sum)); err != nil {
			return err
		}
		p.idxErr = nil
		if len(left) == len(offsets) {
			break
		}
		offsets = left
	}
	return nil
}

// identify returns the object whose entry starts at offset, without a check of the object's id. If p has no index yet,
// identify cannot find a base by its id. Then the error wraps errNoBase if the entry is a delta with the id of its
// base, or if the head of the entry cannot be read.
func (p *anyPack) identify(offset int64) (object, error) {
	c := p.cursors.get(p.file, p.end)
	defer p.cursors.put(c)
	if p.idx == nil {
		if head, err := c.entryHead(offset); err != nil || head.kind == idDelta {
			return object{}, errors.Join(err, errNoBase)
		}
	}
	return p.readAt(c, offset, p.maxObject)
}

// findEntries returns the offset and the checksum of each entry, without its id. It stops before the first entry that
// is damaged or has more than maxObject bytes. It inflates each entry to find the start of the next entry.
func (p *anyPack) findEntries(ctx context.Context) ([]indexEntry, error) {
	c := p.cursors.get(p.file, p.end)
	defer p.cursors.put(c)
	var found []indexEntry
	for offset := int64(packHeadSize); offset < p.end; {
		if err := stopped(ctx, "scan pack"); err != nil {
			return nil, err
		}
		head, err := c.entryHead(offset)
		if err == nil && head.size > p.maxObject {
			err = errTooLarge
		}
		if err == nil {
			_, err = c.stream(head)
		}
		if c.rest.err != nil {
			return nil, c.rest.err
		}
		if err != nil {
			return found, nil // the end of a damaged entry is unknown, so later entries cannot be found
		}
		next := c.rest.next - int64(c.ahead.Buffered())
		raw := make([]byte, next-offset)
		if _, err := p.file.ReadAt(raw, offset); err != nil {
			return nil, err
		}
		found = append(found, indexEntry{offset: offset, crc: crc32.ChecksumIEEE(raw)})
		offset = next
	}
	return found, nil
}

// withoutDoubles returns the entries sorted by id. If several entries have the same id, it keeps only the entry with
// the lowest offset.
func withoutDoubles(entries []indexEntry) []indexEntry {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b indexEntry) int {
		return cmp.Or(a.id.Compare(b.id), cmp.Compare(a.offset, b.offset))
	})
	return slices.CompactFunc(sorted, func(a, b indexEntry) bool { return a.id == b.id })
}

// count returns the number of objects that the pack file claims to have in its head.
func (p *anyPack) count() (int, error) {
	var head [packHeadSize]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("read %s: %w", p.name, err)
	}
	return int(head[8])<<24 | int(head[9])<<16 | int(head[10])<<8 | int(head[11]), nil
}
