package refs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

const (
	packedHeader = "# pack-refs with:"
	// packedBlock is the number of bytes that one read takes from a big packed-refs. A packed-refs of at most
	// packedWhole bytes is read in one read.
	packedBlock = 2 << 10
	packedWhole = 64 << 10
	// packedLinear is the number of bytes up to which linear search is faster than binary search.
	packedLinear = 1 << 10
	// maxPackedLine is the maximum length of a line in bytes. It is above the maximum path length of any system.
	maxPackedLine = 16 << 10
)

// packedRefs is an open packed-refs file. The file has a header line, and then a line "<id> <name>" for each
// ref. If the header has the word "sorted", the lines are sorted by name. If a ref is an annotated tag, the
// line "^<id>" follows. git replaces the file as a whole, so an open file never changes. packedRefs is not
// safe for concurrent use.
type packedRefs struct {
	file   io.ReaderAt
	closer io.Closer // nil if the repository has no packed-refs
	path   string
	size   int64 // bytes
	hexLen int   // hex digits of an id

	begin  int64 // offset of the first line after the header
	sorted bool  // the lines are sorted by name

	blockSize int64
	blocks    map[int64][]byte // blocks read so far, by offset / blockSize
}

// openPacked opens packed-refs. If the file is missing, the result has no refs. The caller must close the result.
func (r reader) openPacked() (*packedRefs, error) {
	path := filepath.Join(r.dir, "packed-refs")
	f, err := fsx.OpenShared(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return &packedRefs{path: path, hexLen: r.hexLen, blockSize: 1}, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var p *packedRefs
		if p, err = newPacked(f, info.Size(), path, r.hexLen); err == nil {
			p.closer = f
			return p, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// newPacked returns the refs of a packed-refs file. It reads the header of the file. size is the size of the file in
// bytes. path is the path of the file, for errors. hexLen is the length of an id in hex digits.
func newPacked(file io.ReaderAt, size int64, path string, hexLen int) (*packedRefs, error) {
	p := &packedRefs{file: file, path: path, size: size, hexLen: hexLen, blockSize: packedBlock}
	if size <= packedWhole {
		p.blockSize = max(size, 1)
	}
	if size == 0 {
		return p, nil
	}
	line, next, err := p.line(0)
	if err != nil {
		return nil, err
	}
	if traits, found := strings.CutPrefix(string(line), packedHeader); found {
		p.begin = next
		for trait := range strings.FieldsSeq(traits) {
			p.sorted = p.sorted || trait == "sorted"
		}
	}
	return p, nil
}

// close closes the file. If p has no file, it does nothing.
func (p *packedRefs) close() error {
	if p.closer == nil {
		return nil
	}
	return p.closer.Close()
}

// lookup returns the id of the packed ref with the given name, or the zero id if there is no such ref.
func (p *packedRefs) lookup(name Name) (objstore.ID, error) {
	for ref, err := range p.scan(string(name)) {
		if err != nil {
			return objstore.ID{}, err
		}
		if ref.Name == name {
			return ref.ID, nil
		}
		// The scan of a sorted file begins at name, so only the first ref can have this name.
		if p.sorted {
			break
		}
	}
	return objstore.ID{}, nil
}

// scan yields the packed refs whose names begin with prefix, in the order of the file. At the first error, it
// yields the error with an empty Ref, and ends.
func (p *packedRefs) scan(prefix string) iter.Seq2[Ref, error] {
	return func(yield func(Ref, error) bool) {
		at, err := p.begin, error(nil)
		if p.sorted {
			at, err = p.search(prefix)
		}
		var rec record
		for err == nil && at < p.size {
			if rec, at, err = p.record(at); err != nil || rec.name == nil {
				continue
			}
			if !bytes.HasPrefix(rec.name, []byte(prefix)) {
				if p.sorted {
					return
				}
				continue
			}
			var ref Ref
			if ref, err = rec.ref(p); err == nil && !yield(ref, nil) {
				return
			}
		}
		if err != nil {
			yield(Ref{}, err)
		}
	}
}

// search returns the offset of the first line whose ref is not less than name, or the end of the file. p must be
// sorted.
func (p *packedRefs) search(name string) (int64, error) {
	lo, hi := p.begin, p.size
	// The binary search keeps this rule: every ref before lo is less than name, and no ref at or after hi is less than
	// name.
	for hi-lo > packedLinear {
		mid := lo + (hi-lo)/2
		at, err := p.lineStart(mid)
		var rec record
		for err == nil && at < hi && rec.name == nil {
			rec, at, err = p.record(at)
		}
		switch {
		case err != nil:
			return 0, err
		case rec.name != nil && string(rec.name) < name:
			lo = at
		default:
			hi = mid
		}
	}
	for at := lo; at < p.size; {
		rec, next, err := p.record(at)
		if err != nil {
			return 0, err
		}
		if rec.name != nil && string(rec.name) >= name {
			return at, nil
		}
		at = next
	}
	return p.size, nil
}

// record is the line of a ref. Its slices point into a block. The name is nil for a line "^<id>", which belongs to the
// ref in the line before.
type record struct {
	id, name []byte
}

// ref returns the ref in a record of p. If the id is invalid, the error is a *BrokenError.
func (rec record) ref(p *packedRefs) (Ref, error) {
	id, err := objstore.ParseID(string(rec.id))
	if err != nil || id.IsZero() {
		return Ref{}, p.broken(rec.id)
	}
	return Ref{Name: Name(rec.name), ID: id}, nil
}

// record returns the record in a line, and the offset of the next line. at is the offset of the line. For a line
// "^<id>", which belongs to the tag before it, the record is empty. If the line is invalid, the error is a
// *BrokenError.
func (p *packedRefs) record(at int64) (record, int64, error) {
	line, next, err := p.line(at)
	if err != nil {
		return record{}, 0, err
	}
	if len(line) == 1+p.hexLen && line[0] == '^' {
		return record{}, next, nil
	}
	if len(line) < p.hexLen+2 || line[p.hexLen] != ' ' {
		return record{}, 0, p.broken(line)
	}
	return record{id: line[:p.hexLen], name: line[p.hexLen+1:]}, next, nil
}

// lineStart returns the offset of the first line that begins at offset or later. offset must be greater than
// 0. If there is no such line, the result is p.size.
func (p *packedRefs) lineStart(offset int64) (int64, error) {
	_, next, err := p.line(offset - 1)
	return next, err
}

// line returns the rest of a line, without the line feed, and the offset of the next line. at is the offset of the
// first byte to return. The bytes are valid until the file is closed. If the line is too long or has no line feed,
// the error is a *BrokenError.
func (p *packedRefs) line(at int64) ([]byte, int64, error) {
	var joined []byte // the line so far, if the line continues in the next block
	for at < p.size && len(joined) < maxPackedLine {
		block, err := p.block(at / p.blockSize)
		if err != nil {
			return nil, 0, err
		}
		rest := block[at%p.blockSize:]
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			if joined == nil {
				return rest[:end], at + int64(end) + 1, nil
			}
			return append(joined, rest[:end]...), at + int64(end) + 1, nil
		}
		joined = append(joined, rest...)
		at += int64(len(rest))
	}
	return nil, 0, p.broken(joined)
}

// block returns block number n of the file. It reads each block only once.
func (p *packedRefs) block(n int64) ([]byte, error) {
	if block, ok := p.blocks[n]; ok {
		return block, nil
	}
	offset := n * p.blockSize
	block := make([]byte, min(p.blockSize, p.size-offset))
	if _, err := p.file.ReadAt(block, offset); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.path, err)
	}
	if p.blocks == nil {
		p.blocks = make(map[int64][]byte)
	}
	p.blocks[n] = block
	return block, nil
}

// broken returns the *BrokenError for an invalid line.
func (p *packedRefs) broken(line []byte) error {
	return &BrokenError{Path: p.path, Reason: fmt.Sprintf("packed-refs has an invalid line: %.80q", line)}
}
