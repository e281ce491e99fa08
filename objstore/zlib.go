package objstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"

	"github.com/klauspost/compress"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
)

const (
	// storedMax is the size in bytes up to which stored data is smaller than deflated data, because
	// deflated data needs a Huffman table.
	storedMax = 48
	// storedBlockMax is the size in bytes of the largest block that deflate can store.
	storedBlockMax = 1<<16 - 1
	// statelessMax is the size in bytes up to which an object is deflated without a reusable
	// window. A stateless writer is as fast as a pooled writer (8 to 9 µs for a page of 800 bytes).
	// It also needs no 800 KB of tables, which would cost a process that writes one capture half a
	// millisecond.
	statelessMax = 32 << 10
	// huffmanMax is the size in bytes up to which data is deflated without looking for repetitions.
	// Nine in ten delta scripts of captures are shorter, and have few repetitions. The writer for the
	// best compression clears large tables for each stream, and so takes five times as long.
	huffmanMax = 256
	// incompressible is the value of compress.Estimate below which bytes are stored. The estimate is up to 0.14
	// for random bytes, 0.27 for hex digits and 0.38 for JSON.
	incompressible = 0.15
)

// deflater makes zlib streams. It must be used by one goroutine at
// a time.
type deflater struct {
	idSize   int // bytes of the ids in trees
	large    *zlib.Writer
	smallest *zlib.Writer
	short    *zlib.Writer // for data of at most huffmanMax
}

// appendObject appends the zlib stream of an object to out and returns the longer slice. data is the object's
// content. appendObject deflates the data, with two exceptions. It stores data of at most storedMax bytes. It
// also stores data of at most storedBlockMax bytes that does not compress well: for example, deflating a tree
// of ids takes 25 µs and saves only 6 %.
func (d *deflater) appendObject(out []byte, kind Kind, data []byte) ([]byte, error) {
	if len(data) <= storedBlockMax && (len(data) <= storedMax || !d.worthDeflating(kind, data)) {
		return appendStored(out, data), nil
	}
	return d.appendDeflated(out, data)
}

// appendSmallest appends a zlib stream of data to out and returns the longer slice. It deflates the data with
// the best compression. It stores data of at most storedMax bytes, and does not search data of at most huffmanMax bytes for
// repetitions. If data fits in one stored block and the stored stream is shorter than the deflated stream, appendSmallest
// appends the stored stream.
func (d *deflater) appendSmallest(out, data []byte) ([]byte, error) {
	if len(data) <= storedMax {
		return appendStored(out, data), nil
	}
	start := len(out)
	buf := bytes.NewBuffer(out)
	writer, level := &d.smallest, zlib.BestCompression
	if len(data) <= huffmanMax {
		writer, level = &d.short, zlib.HuffmanOnly
	}
	if *writer == nil {
		w, err := zlib.NewWriterLevel(buf, level)
		if err != nil {
			return nil, fmt.Errorf("deflate: %w", err)
		}
		*writer = w
	}
	(*writer).Reset(buf)
	if _, err := (*writer).Write(data); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	if err := (*writer).Close(); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	out = buf.Bytes()
	if len(data) > storedBlockMax || len(out)-start <= len(data)+storedOverhead {
		return out, nil
	}
	return appendStored(out[:start], data), nil
}

// worthDeflating reports whether to deflate an object with the content data. A tree is worth deflating if
// treeNamesDominate accepts it. Other data is always deflated if it has more than 1024 bytes. Shorter data is
// deflated if compress.Estimate returns at least incompressible.
func (d *deflater) worthDeflating(kind Kind, data []byte) bool {
	if kind == Tree {
		return treeNamesDominate(data, d.idSize)
	}
	return len(data) > 1<<10 || compress.Estimate(data) >= incompressible
}

// treeNamesDominate reports whether more than half of the bytes of a tree belong to modes and names. All other
// bytes are ids, which do not compress. data is the content of the tree. If data is damaged, the bytes after
// the damage count as names.
func treeNamesDominate(data []byte, idSize int) bool {
	ids := 0
	for rest := data; len(rest) > 0; {
		nul := bytes.IndexByte(rest, 0)
		if nul < 0 || len(rest) < nul+1+idSize {
			break
		}
		ids += idSize
		rest = rest[nul+1+idSize:]
	}
	return 2*ids < len(data)
}

// appendDeflated appends a zlib stream with the deflated data to out and returns the longer slice.
// Data of at most statelessMax bytes is deflated without the tables of a reusable writer.
func (d *deflater) appendDeflated(out, data []byte) ([]byte, error) {
	buf := bytes.NewBuffer(out)
	if len(data) > statelessMax {
		return d.appendLarge(buf, data)
	}
	buf.Write([]byte{0x78, 0x01}) // the zlib head
	if err := flate.StatelessDeflate(buf, data, true, nil); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	return binary.BigEndian.AppendUint32(buf.Bytes(), adler32.Checksum(data)), nil
}

// appendLarge writes a zlib stream with the deflated data to buf, and returns all bytes of buf. It
// uses the writer d.large, which keeps its tables for the next stream.
func (d *deflater) appendLarge(buf *bytes.Buffer, data []byte) ([]byte, error) {
	if err := d.copy(buf, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// copy reads r to its end and writes the deflated stream of its bytes to w.
func (d *deflater) copy(w io.Writer, r io.Reader) error {
	if d.large == nil {
		large, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
		if err != nil {
			return fmt.Errorf("deflate: %w", err)
		}
		d.large = large
	}
	d.large.Reset(w)
	if _, err := io.Copy(d.large, r); err != nil {
		return fmt.Errorf("deflate: %w", err)
	}
	if err := d.large.Close(); err != nil {
		return fmt.Errorf("deflate: %w", err)
	}
	return nil
}

// storedOverhead is the size in bytes of a stored zlib stream without its data: the zlib head, the
// head of the only block, and the checksum.
const storedOverhead = 2 + 5 + 4

// appendStored appends a zlib stream to out that stores data without compression, and returns the
// longer slice. data must have at most storedBlockMax bytes.
func appendStored(out, data []byte) []byte {
	n := uint16(len(data))
	// The first two bytes are the zlib head. The third byte is the head of a stored block that is the last
	// block.
	out = append(out, 0x78, 0x01, 1)
	out = binary.LittleEndian.AppendUint16(out, n)
	out = binary.LittleEndian.AppendUint16(out, ^n)
	out = append(out, data...)
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(data))
}

// byteSource is the source of an inflater. Because a byteSource has ReadByte, the inflater reads no
// byte beyond the end of the stream and needs no buffer of its own.
type byteSource interface {
	io.Reader
	io.ByteReader
}

// errInflate is wrapped by the errors of inflate.
var errInflate = errors.New("malformed zlib stream")

// inflater inflates zlib streams. The zero value is ready for use. It must be used by one goroutine
// at a time.
type inflater struct{ r io.ReadCloser }

// inflate returns the content of the zlib stream at src. size is the expected length of the content
// in bytes. The error wraps errInflate if the content has another length, or if the stream is
// malformed or has a wrong checksum. A wrong size may be far too large, so inflate allocates memory
// only as the content arrives.
func (f *inflater) inflate(src byteSource, size int64) ([]byte, error) {
	if err := f.start(src); err != nil {
		return nil, fmt.Errorf("%w: %w", errInflate, err)
	}
	// trusted is the largest size for which inflate allocates all memory at once.
	const trusted = 1 << 20
	data := make([]byte, min(size, trusted))
	if _, err := io.ReadFull(f.r, data); err != nil {
		return nil, fmt.Errorf("%w: %w", errInflate, err)
	}
	for int64(len(data)) < size {
		longer := make([]byte, min(size, 4*int64(len(data))))
		if _, err := io.ReadFull(f.r, longer[copy(longer, data):]); err != nil {
			return nil, fmt.Errorf("%w: %w", errInflate, err)
		}
		data = longer
	}
	var beyond [1]byte
	if n, err := f.r.Read(beyond[:]); n != 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: longer than its entry claims", errInflate)
	}
	return data, nil
}

// start makes f read a new zlib stream from src. It returns an error if the stream has no valid
// zlib head.
func (f *inflater) start(src byteSource) error {
	if f.r == nil {
		r, err := zlib.NewReader(src)
		if err != nil {
			return err
		}
		f.r = r
		return nil
	}
	resetter, ok := f.r.(zlib.Resetter)
	if !ok {
		return errors.New("zlib reader cannot be reset")
	}
	return resetter.Reset(src, nil)
}
