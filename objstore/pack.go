package objstore

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/git-smithers/git-smithers/objstore/delta"
)

const (
	packHeadSize = 12
	packTailSize = sha1.Size
	// maxChain bounds the deltas between an object and its full base: git's own limit.
	maxChain = 4096
)

var packMagic = [8]byte{'P', 'A', 'C', 'K', 0, 0, 0, 2}

// reading is shared by the packs of a store.
type reading struct {
	cache     *cache
	maxObject int64
	cursors   *cursorPool
	serials   *atomic.Uint64
}

func newReading(c *cache, maxObject int64) reading {
	return reading{cache: c, maxObject: maxObject, cursors: &cursorPool{}, serials: &atomic.Uint64{}}
}

// pack reads one pack. It opens its files when they are first needed, and keeps them open until
// close. Safe for concurrent use. If close overtakes a read, vanished is true for the read's error.
type pack struct {
	reading

	name   string // "pack-<checksum>"
	serial uint64 // names the pack in the cache; unlike name it is never reused
	made   time.Time

	mu       sync.Mutex
	closed   bool
	idx      *index
	idxErr   error // if the index is damaged
	file     *os.File
	end      int64 // offset at which the entries end and the checksum starts
	fileErr  error // if the pack is damaged
	packPath string
	idxPath  string
}

func newPack(r reading, dir, name string, made time.Time) *pack {
	return &pack{
		reading: r, name: name, serial: r.serials.Add(1), made: made,
		packPath: filepath.Join(dir, name+".pack"),
		idxPath:  filepath.Join(dir, name+".idx"),
	}
}

// vanished reports whether err means that a file is gone because git or a merge has replaced its
// pack. A reader that looks again finds the objects in another pack.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed)
}

func (p *pack) corrupt(id ID, file, reason string) error {
	return &CorruptError{ID: id, File: filepath.Base(file), Reason: reason}
}

// index opens the pack's index.
func (p *pack) index() (*index, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fs.ErrClosed
	}
	if p.idx != nil || p.idxErr != nil {
		return p.idx, p.idxErr
	}
	idx, err := openIndex(p.idxPath)
	if errors.Is(err, errIndex) {
		p.idxErr = p.corrupt(ID{}, p.idxPath, err.Error())
		return nil, p.idxErr
	}
	if err != nil {
		return nil, err
	}
	p.idx = idx
	return idx, nil
}

// open opens the pack file and checks that it matches the index.
func (p *pack) open() (*os.File, int64, error) {
	idx, err := p.index()
	if err != nil {
		return nil, 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, fs.ErrClosed
	}
	if p.file != nil || p.fileErr != nil {
		return p.file, p.end, p.fileErr
	}
	f, err := os.Open(p.packPath)
	if err != nil {
		return nil, 0, err
	}
	end, reason, err := checkPack(f, idx)
	if err == nil && reason != "" {
		err = p.corrupt(ID{}, p.packPath, reason)
		p.fileErr = err
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	p.file, p.end = f, end
	return f, end, nil
}

// checkPack returns the offset at which the entries end, or the reason why the pack is damaged.
func checkPack(f *os.File, idx *index) (end int64, reason string, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	end = info.Size() - packTailSize
	if end < packHeadSize {
		return 0, "truncated", nil
	}
	var head [packHeadSize]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return 0, "", err
	}
	if [8]byte(head[:8]) != packMagic {
		return 0, "not a version 2 pack", nil
	}
	if n := int64(binary.BigEndian.Uint32(head[8:])); n != idx.count {
		return 0, fmt.Sprintf("has %d objects, its index %d", n, idx.count), nil
	}
	var tail [packTailSize]byte
	if _, err := f.ReadAt(tail[:], end); err != nil {
		return 0, "", err
	}
	if tail != idx.packSum {
		return 0, "truncated, or not the pack of its index", nil
	}
	return end, "", nil
}

// close closes the files. For the error of a read under way, vanished is true.
func (p *pack) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	if p.file != nil {
		errs = append(errs, p.file.Close())
		p.file = nil
	}
	if p.idx != nil {
		errs = append(errs, p.idx.close())
		p.idx = nil
	}
	return errors.Join(errs...)
}

// find returns the offset of an object in the pack.
func (p *pack) find(id ID) (offset int64, found bool, err error) {
	idx, err := p.index()
	if err != nil {
		return 0, false, err
	}
	offset, found, err = idx.find(id)
	if errors.Is(err, errIndex) {
		err = p.corrupt(id, p.idxPath, err.Error())
	}
	return offset, found, err
}

// read returns the object at offset, of at most most bytes, verified against id.
func (p *pack) read(id ID, offset, most int64) (object, error) {
	f, end, err := p.open()
	if err != nil {
		return object{}, err
	}
	c := p.cursors.get(f, end)
	defer p.cursors.put(c)
	o, err := p.readAt(c, offset, most)
	if err != nil {
		return object{}, p.explain(id, c, err)
	}
	if Hash(o.kind, o.data) != id {
		return object{}, p.corrupt(id, p.packPath, "does not match its id")
	}
	return o, nil
}

// explain makes a CorruptError of an error about the bytes of the pack. It returns an error about
// reading the file as it is.
func (p *pack) explain(id ID, c *packCursor, err error) error {
	if c.rest.err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(p.packPath), c.rest.err)
	}
	var already *CorruptError
	if errors.As(err, &already) || vanished(err) {
		return err
	}
	return p.corrupt(id, p.packPath, err.Error())
}

var (
	errChain     = errors.New("delta chain is too long or has no end")
	errTooLarge  = errors.New("too large")
	errNoBase    = errors.New("base of a delta is missing")
	errTruncated = errors.New("truncated")
)

// maxBase bounds the bases of deltas, in bytes, if the object itself must be smaller. git makes no
// delta whose base is more than 32 times as large as its target.
const maxBase = 64 << 20

// tooLarge returns the error about an object above the bound.
func tooLarge(size, most int64) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d", errTooLarge, size, most)
}

// readAt returns the object whose entry starts at offset, of at most most bytes, unverified. It
// checks sizes before it inflates anything, and caches the bases of deltas that it resolves.
func (p *pack) readAt(c *packCursor, offset, most int64) (object, error) {
	type step struct {
		offset int64
		delta  []byte
	}
	var chain []step
	var held int64
	var o object
	mostHere, mostBase := most, min(max(most, maxBase), p.maxObject)
	for {
		var cached bool
		if o, cached = p.cache.get(p.key(offset)); cached {
			if int64(len(o.data)) > mostHere {
				return object{}, tooLarge(int64(len(o.data)), mostHere)
			}
			break
		}
		head, data, err := p.entry(c, offset, mostHere)
		if err != nil {
			return object{}, err
		}
		if !head.isDelta() {
			o = object{Kind(head.kind), data}
			if len(chain) > 0 {
				p.cache.put(p.key(offset), o)
			}
			break
		}
		if held += int64(len(data)); len(chain) == maxChain || held > mostBase {
			return object{}, errChain
		}
		if made, ok := delta.TargetSize(data); ok && made > mostHere {
			return object{}, tooLarge(made, mostHere)
		}
		mostHere = mostBase
		chain = append(chain, step{offset, data})
		if offset, err = p.baseOffset(head); err != nil {
			return object{}, err
		}
	}
	for i, step := range slices.Backward(chain) {
		data, err := delta.Apply(o.data, step.delta, mostBase)
		if err != nil {
			return object{}, err
		}
		o.data = data
		if i > 0 {
			p.cache.put(p.key(step.offset), o)
		}
	}
	return o, nil
}

func (p *pack) key(offset int64) cacheKey { return cacheKey{pack: p.serial, offset: offset} }

// deltaRoom is the number of bytes by which a delta may be larger than its target.
const deltaRoom = 64 << 10

// entry reads the head of the entry at offset and inflates its stream, for an object of at most
// most bytes.
func (p *pack) entry(c *packCursor, offset, most int64) (entryHead, []byte, error) {
	if offset < packHeadSize {
		return entryHead{}, nil, errTruncated
	}
	head, err := c.entryHead(offset)
	if err != nil {
		return entryHead{}, nil, err
	}
	if head.isDelta() {
		most += deltaRoom
	}
	if most = min(most, p.maxObject); head.size > most {
		return entryHead{}, nil, tooLarge(head.size, most)
	}
	data, err := c.stream(head)
	return head, data, err
}

// openEntry opens the object whose entry starts at offset. A delta is resolved at once; another
// object is inflated as it is read.
func (p *pack) openEntry(offset int64) (*objectReader, error) {
	f, end, err := p.open()
	if err != nil {
		return nil, err
	}
	c := &packCursor{}
	c.use(f, end)
	if offset < packHeadSize {
		return nil, errTruncated
	}
	head, err := c.entryHead(offset)
	if err != nil {
		return nil, err
	}
	if head.isDelta() {
		o, err := p.readAt(c, offset, p.maxObject)
		return &objectReader{Reader: bytes.NewReader(o.data), kind: o.kind, size: int64(len(o.data))}, err
	}
	if err := c.start(c.ahead); err != nil {
		return nil, err
	}
	return &objectReader{Reader: c.r, kind: Kind(head.kind), size: head.size}, nil
}

func (p *pack) baseOffset(head entryHead) (int64, error) {
	if head.kind == offsetDelta {
		return head.base, nil
	}
	offset, found, err := p.find(head.baseID)
	if err == nil && !found {
		err = errNoBase
	}
	return offset, err
}
