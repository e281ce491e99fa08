package reftable

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

const (
	magic = "REFT"
	// smallTable is the number of bytes up to which a table is read at once. The file of a bigger table stays open, and
	// its blocks are read when they are needed.
	smallTable = 64 << 10
	// guessedBlock is the number of bytes that one read takes if a table does not say how long its blocks are.
	guessedBlock = 4 << 10
)

// The kinds of blocks that this package reads. It skips the blocks that find refs by their objects.
const (
	refBlock   = 'r'
	logBlock   = 'g'
	indexBlock = 'i'
)

// table is an open table of a stack. It never changes, and is safe for concurrent use.
type table struct {
	path        string
	hash        objstore.Algorithm
	source      io.ReaderAt
	whole       []byte // the table if it is small; otherwise nil
	size, end   int64  // length in bytes, and the offset of the footer
	head        int    // length of the header in bytes
	blockSize   int    // length of a block with its padding; 0 if blocks are not aligned
	first, last uint64 // the numbers of the oldest and the newest transaction
	refs, logs  section
	logged      sync.Map // the answers of hasLog
}

// section is the part of a table with the blocks of one kind.
type section struct {
	sort         byte  // the kind of the blocks
	start, index int64 // offsets; start is -1 if the table has no such block, and index is 0 if they have no index
}

// openTable opens the table at path.
func openTable(path string, hash objstore.Algorithm) (*table, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would make the caller wait
		return nil, &DamagedError{Path: path, Reason: "it is not a regular file"}
	}
	file, err := fsx.OpenShared(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if info.Size() > smallTable {
		return newTable(&table{path: path, hash: hash, source: file, size: info.Size()})
	}
	content := make([]byte, info.Size())
	n, err := file.ReadAt(content, 0)
	if err = errors.Join(err, file.Close()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return smallTableOf(path, content[:n], hash)
}

// smallTableOf returns the table with the given content, which the table at path has or gets.
func smallTableOf(path string, content []byte, hash objstore.Algorithm) (*table, error) {
	return newTable(&table{path: path, hash: hash, source: bytes.NewReader(content), whole: content, size: int64(len(content))})
}

// newTable reads the header and the footer of t.
func newTable(t *table) (*table, error) {
	t.end = t.size
	header, err := t.read(0, 28)
	if err != nil || len(header) < 28 || string(header[:4]) != magic || header[4] != 1 && header[4] != 2 {
		return nil, t.damaged("it does not begin as a table", err)
	}
	t.head, t.blockSize = 24, uint24(header[5:])
	hash := objstore.SHA1
	if header[4] == 2 {
		t.head = 28
		hash = map[string]objstore.Algorithm{"sha1": objstore.SHA1, "s256": objstore.SHA256}[string(header[24:])]
	}
	footer, err := t.read(t.size-int64(t.head+5*8+4), t.head+5*8+4)
	if err != nil {
		return nil, t.damaged("it is cut", err)
	}
	t.end = t.size - int64(len(footer))
	sum := len(footer) - 4
	if t.end < int64(t.head) || !bytes.Equal(header[:t.head], footer[:t.head]) || crc32.ChecksumIEEE(footer[:sum]) != binary.BigEndian.Uint32(footer[sum:]) {
		return nil, t.damaged("its end is cut or damaged", nil)
	}
	if hash != t.hash {
		return nil, &DamagedError{Path: t.path, Reason: "its ids have another length than those of the repository", Foreign: true}
	}
	t.first, t.last = binary.BigEndian.Uint64(header[8:]), binary.BigEndian.Uint64(header[16:])
	at := func(i int) int64 { return int64(min(binary.BigEndian.Uint64(footer[t.head+8*i:]), math.MaxInt64)) }
	t.refs, t.logs = section{refBlock, -1, at(0)}, section{logBlock, -1, at(4)}
	// The footer has no position of refs: they begin the table if its first block has them.
	first, err := t.read(int64(t.head), 1)
	if string(first) == string(refBlock) {
		t.refs.start = 0
	}
	if string(first) == string(logBlock) || at(3) > 0 {
		t.logs.start = at(3)
	}
	return t, err
}

// read returns the n bytes of the table from an offset on, or fewer if the footer begins before.
func (t *table) read(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), t.end-off))
	if off < 0 || n < 0 {
		return nil, t.damaged("a block begins beyond the end", nil)
	}
	if t.whole != nil {
		return t.whole[off : off+int64(n)], nil
	}
	b := make([]byte, n)
	_, err := t.source.ReadAt(b, off)
	return b, err
}

// inflate returns the log block at an offset of the table, and the offset of the next block. head is the beginning of the
// block, which is not compressed. length is the length of the result.
func (t *table) inflate(head []byte, off int64, length int) ([]byte, int64, error) {
	off += int64(len(head))
	source := io.NewSectionReader(t.source, off, t.end-off)
	buffered := bufio.NewReader(source)
	in, err := zlib.NewReader(buffered)
	if err != nil {
		return nil, 0, err
	}
	out := bytes.NewBuffer(bytes.Clone(head))
	n, err := io.Copy(out, io.LimitReader(in, int64(length-len(head)+1))) // one byte more reads the end, too
	if err != nil || n != int64(length-len(head)) {
		return nil, 0, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	read, err := source.Seek(0, io.SeekCurrent)
	return out.Bytes(), off + read - int64(buffered.Buffered()), err
}

// damaged returns the error for a damaged table. If cause is an error of the disk, damaged returns cause. cause may be nil.
func (t *table) damaged(reason string, cause error) error {
	if _, failed := errors.AsType[*fs.PathError](cause); failed {
		return cause
	}
	return &DamagedError{Path: t.path, Reason: reason}
}

// uint24 returns the number in the first three bytes of b.
func uint24(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }
