package objstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/objstore/delta"
)

const (
	packHeadSize = 12 // bytes of the signature, the version and the number of objects
	// maxChain is the largest number of deltas that a read resolves between an object and its full
	// base. git writes chains of at most 4095 deltas.
	maxChain = 4096
	// smallPack is the size in bytes up to which the file of a pack is read at once. A capture's pack is smaller.
	smallPack = 16 << 10
)

// packMagic is the start of a version 2 pack: the signature and the version.
var packMagic = [8]byte{'P', 'A', 'C', 'K', 0, 0, 0, 2}

// reading is the state and the limits that all packs of a store share.
type reading struct {
	hash      Algorithm
	cache     *cache
	maxObject int64 // size in bytes of the largest object that is read
	cursors   *cursorPool
	serials   *atomic.Uint64 // the serial of the newest pack
}

// newReading returns the state that a new group of packs shares. hash is the repository's, c is the shared cache, and maxObject is the
// size in bytes of the largest object that is read.
func newReading(hash Algorithm, c *cache, maxObject int64) reading {
	return reading{hash: hash, cache: c, maxObject: maxObject, cursors: &cursorPool{hash: hash}, serials: &atomic.Uint64{}}
}

// pack reads one pack. It opens the pack's files when a read first needs them, and keeps the files open until
// close. It is safe for concurrent use. If close interrupts a read, vanished returns true for the read's error.
type pack struct {
	reading

	name   string    // "pack-<checksum>"
	serial uint64    // names the pack in the cache; unlike name it is never reused
	made   time.Time // modification time of the pack file; zero if the user of the pack does not need it

	mu       sync.Mutex
	closed   bool
	idx      *index
	idxErr   error       // a *CorruptError if the index is damaged
	file     io.ReaderAt // the open file, or the bytes of a small pack
	end      int64       // offset at which the entries end and the checksum starts
	fileErr  error       // a *CorruptError if the pack file is damaged
	packPath string
	idxPath  string
}

// newPack returns the pack with the given name in the folder dir. It opens no file. made is the modification
// time of the pack file, or zero if the caller does not need it.
func newPack(r reading, dir, name string, made time.Time) *pack {
	return &pack{
		reading: r, name: name, serial: r.serials.Add(1), made: made,
		packPath: filepath.Join(dir, name+".pack"),
		idxPath:  filepath.Join(dir, name+".idx"),
	}
}

// vanished reports whether err means that a file is missing or closed, for example because git or a merge
// replaced the pack. A caller that gets such an error looks for packs again, and finds the objects in another
// pack.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed)
}

// corrupt returns a [*CorruptError] about the object with the given id, or about the whole file if id is zero.
// file is the path of the pack file or of the index.
func (p *pack) corrupt(id ID, file, reason string) error {
	return &CorruptError{ID: id, File: filepath.Base(file), Reason: reason}
}

// index returns the pack's index. The first call opens the index. The error is a [*CorruptError] if the index
// is malformed, and fs.ErrClosed after close. If the index file is missing, vanished returns true for the
// error.
func (p *pack) index() (*index, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fs.ErrClosed
	}
	if p.idx != nil || p.idxErr != nil {
		return p.idx, p.idxErr
	}
	idx, err := openIndex(p.hash, p.idxPath)
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

// smallIndex returns the pack's index if it is in memory already, and nil otherwise.
func (p *pack) smallIndex() *index {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idx == nil || p.idx.whole == nil {
		return nil
	}
	return p.idx
}

// open returns the pack file and the offset at which its entries end. The first call opens the file and checks
// that it matches the index. The error is a [*CorruptError] if the pack or its index is damaged, and
// fs.ErrClosed after close. If a file is missing, vanished returns true for the error.
func (p *pack) open() (io.ReaderAt, int64, error) {
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
	f, err := fsx.OpenShared(p.packPath, os.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	file, size, err := readSmallPack(f)
	var end int64
	var reason string
	if err == nil {
		end, reason, err = checkPack(file, size, idx)
	}
	if err == nil && reason != "" {
		err = p.corrupt(ID{}, p.packPath, reason)
		p.fileErr = err
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	p.file, p.end = file, end
	if file != f {
		err = f.Close()
	}
	return file, end, err
}

// readSmallPack returns the bytes of the pack file f if it has at most smallPack bytes, and f itself otherwise. size is the size of f.
func readSmallPack(f *os.File) (file io.ReaderAt, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if size = info.Size(); size > smallPack {
		return f, size, nil
	}
	data := make([]byte, size)
	_, err = f.ReadAt(data, 0)
	return bytes.NewReader(data), size, err
}

// checkPack compares the head and the checksum of the pack file f, of size bytes, with the index idx. It returns the offset at
// which the entries end. If the pack is damaged, reason says why; otherwise reason is "". err is not nil only
// if f cannot be read.
func checkPack(f io.ReaderAt, size int64, idx *index) (end int64, reason string, err error) {
	end = size - idx.idSize
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
		return 0, fmt.Sprintf("has %d objects, but its index has %d", n, idx.count), nil
	}
	tail := make([]byte, idx.idSize)
	if _, err := f.ReadAt(tail, end); err != nil {
		return 0, "", err
	}
	if !bytes.Equal(tail, idx.packSum.Bytes()) {
		return 0, "truncated, or does not belong to its index", nil
	}
	return end, "", nil
}

// close closes the pack's files. Reads in progress and later reads fail with an error for which
// vanished returns true.
func (p *pack) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	if f, ok := p.file.(io.Closer); ok {
		errs = append(errs, f.Close())
	}
	p.file = nil
	if p.idx != nil {
		errs = append(errs, p.idx.close())
		p.idx = nil
	}
	return errors.Join(errs...)
}

// find returns the offset of an object's entry in the pack file. found is false if the pack does not have the
// object. If the index is damaged, the error is a [*CorruptError].
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

// read returns the object whose entry starts at offset, verified against id. If the object is damaged, has
// another id or has more than limit bytes, the error is a [*CorruptError].
func (p *pack) read(id ID, offset, limit int64) (object, error) {
	f, end, err := p.open()
	if err != nil {
		return object{}, err
	}
	c := p.cursors.get(f, end)
	defer p.cursors.put(c)
	o, err := p.readAt(c, offset, limit)
	if err != nil {
		return object{}, p.explain(id, c, err)
	}
	if !id.Names(o.kind, o.data) {
		return object{}, p.corrupt(id, p.packPath, "does not match its id")
	}
	return o, nil
}

// explain returns the error to report after c failed with err while it read the object with the given id. If
// the pack file could not be read, explain adds the file's name to the error of that read. A [*CorruptError],
// and an error for which vanished returns true, stay unchanged. Any other error is about the content, and
// becomes a [*CorruptError].
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
	errChain     = errors.New("delta chain is too long or circular")
	errTooLarge  = errors.New("too large")
	errNoBase    = errors.New("base of a delta is missing")
	errTruncated = errors.New("truncated")
)

// maxBase is the size limit in bytes for the bases of deltas if the limit for the object itself is
// smaller. git makes no delta whose base is more than 32 times as large as its target.
const maxBase = 64 << 20

// tooLarge returns an error that wraps errTooLarge. size is the size of an object in bytes, and limit is the
// largest allowed size.
func tooLarge(size, limit int64) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d", errTooLarge, size, limit)
}

// readAt returns the object whose entry starts at offset, without verification against its id. The error wraps
// errTooLarge if the object has more than limit bytes. The error is errChain if the chain of deltas is longer
// than maxChain, or if the deltas together are too large for memory. readAt checks sizes before it inflates
// anything, and caches the bases of deltas that it resolves.
func (p *pack) readAt(c *packCursor, offset, limit int64) (object, error) {
	type step struct {
		offset int64
		delta  []byte
	}
	var chain []step
	var held int64
	var o object
	// The base of a delta may be larger than the object itself.
	limitHere, limitBase := limit, min(max(limit, maxBase), p.maxObject)
	// Follow the chain down to a cached or full object, and then apply the deltas in reverse order.
	for {
		var cached bool
		if o, cached = p.cache.get(p.key(offset)); cached {
			if int64(len(o.data)) > limitHere {
				return object{}, tooLarge(int64(len(o.data)), limitHere)
			}
			break
		}
		head, data, err := p.entry(c, offset, limitHere)
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
		if held += int64(len(data)); len(chain) == maxChain || held > limitBase {
			return object{}, errChain
		}
		if made, ok := delta.TargetSize(data); ok && made > limitHere {
			return object{}, tooLarge(made, limitHere)
		}
		limitHere = limitBase // from now on, the entries are bases
		chain = append(chain, step{offset, data})
		if offset, err = p.baseOffset(head); err != nil {
			return object{}, err
		}
	}
	for i, step := range slices.Backward(chain) {
		data, err := delta.Apply(o.data, step.delta, limitBase)
		if err != nil {
			return object{}, err
		}
		o.data = data
		// Cache only the bases. The caller caches the object itself after it has verified the object.
		if i > 0 {
			p.cache.put(p.key(step.offset), o)
		}
	}
	return o, nil
}

// key returns the cache key of the unverified object whose entry starts at offset.
func (p *pack) key(offset int64) (key cacheKey) {
	binary.LittleEndian.PutUint64(key[:], p.serial)
	binary.LittleEndian.PutUint64(key[8:], uint64(offset))
	key[maxIDSize] = 0xff // the size of no id
	return key
}

// deltaRoom is the number of bytes by which the instructions of a delta may exceed the size limit
// of its target.
const deltaRoom = 64 << 10

// entry returns the head of the entry at offset and its inflated stream: the bytes of an object or
// the instructions of a delta. The error wraps errTooLarge if an object has more than limit bytes,
// if a delta has more than limit plus deltaRoom bytes, or if either exceeds the pack's maxObject.
func (p *pack) entry(c *packCursor, offset, limit int64) (entryHead, []byte, error) {
	if offset < packHeadSize {
		return entryHead{}, nil, errTruncated
	}
	head, err := c.entryHead(offset)
	if err != nil {
		return entryHead{}, nil, err
	}
	if head.isDelta() {
		limit += deltaRoom
	}
	if limit = min(limit, p.maxObject); head.size > limit {
		return entryHead{}, nil, tooLarge(head.size, limit)
	}
	data, err := c.stream(head)
	return head, data, err
}

// openEntry returns an unverified reader of the object whose entry starts at offset. It resolves a delta at
// once. It inflates any other object while the caller reads. The caller must set the fields file and close of
// the reader.
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

// baseOffset returns the offset of a delta's base. head is the head of the delta. If head has the id of the
// base, and the pack does not have this object, the error is errNoBase.
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
