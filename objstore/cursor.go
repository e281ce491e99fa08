package objstore

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// packCursor reads a pack from any offset with few reads of the file. It reads ahead with a
// bufio.Reader, for which klauspost's inflate has a fast path. It must be used by one goroutine at
// a time.
type packCursor struct {
	inflater

	hash  Algorithm // of the ids of bases
	ahead *bufio.Reader
	rest  packRest
}

// packRest reads the entries of a pack, beginning at the offset next.
type packRest struct {
	file io.ReaderAt
	next int64
	end  int64
	err  error // the error of reading the file; nil if the file only ended

	window []byte // bytes of the file from the offset at: neighbors of an entry are often read next, backward, too
	at     int64
}

// windowSize is the number of bytes that a packRest reads of the file at once, from a multiple of readAhead.
const windowSize = 2 * readAhead

// readAhead is the number of bytes that a packCursor reads ahead. It is enough for a page of rows, a tree, or a delta
// of a page or tree.
const readAhead = 4 << 10

// Read implements io.Reader. At r.end it returns io.ErrUnexpectedEOF, because a sound entry ends before r.end. It also
// keeps an error of the file in r.err.
func (r *packRest) Read(p []byte) (int, error) {
	want := min(int64(len(p)), r.end-r.next)
	if want <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	var err error
	if r.next < r.at || r.next >= r.at+int64(len(r.window)) {
		r.at = r.next - r.next%readAhead
		if r.window == nil {
			r.window = make([]byte, windowSize)
		}
		var n int
		n, err = r.file.ReadAt(r.window[:windowSize], r.at)
		r.window = r.window[:n]
	}
	n := 0
	if from := r.next - r.at; from < int64(len(r.window)) {
		n = copy(p[:want], r.window[from:])
	}
	r.next += int64(n)
	if n > 0 {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	}
	r.err = err
	return 0, err
}

// use prepares c to read file from the start. end is the offset at which the entries of file end. What c has read of
// the same file stays.
func (c *packCursor) use(file io.ReaderAt, end int64) {
	if c.rest.file == file && c.rest.end == end && c.rest.err == nil {
		return
	}
	c.rest = packRest{file: file, end: end, window: c.rest.window[:0]}
	if c.ahead == nil {
		c.ahead = bufio.NewReaderSize(&c.rest, readAhead)
	}
	c.seek(0)
}

// seek makes offset the position of the next read. If offset is among the bytes that are already in the
// read-ahead, seek keeps these bytes.
func (c *packCursor) seek(offset int64) {
	here := c.rest.next - int64(c.ahead.Buffered())
	if skip := offset - here; skip >= 0 && skip < int64(c.ahead.Buffered()) {
		_, _ = c.ahead.Discard(int(skip)) // no error is possible, because the bytes are buffered
		return
	}
	c.rest.next = offset
	c.ahead.Reset(&c.rest)
}

// entryHead returns the head of the entry at offset. If the entries end within the head, the error is errTruncated.
func (c *packCursor) entryHead(offset int64) (entryHead, error) {
	c.seek(offset)
	head, err := readEntryHead(c.ahead, offset, c.hash)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	return head, err
}

// stream returns the inflated bytes of an entry. If the entry is a delta, these are the bytes of the delta. head must
// be the head that c read last.
func (c *packCursor) stream(head entryHead) ([]byte, error) { return c.inflate(c.ahead, head.size) }

// cursorPool keeps cursors for reuse, because it is costly to make their tables for inflating. It is safe for
// concurrent use.
type cursorPool struct {
	hash Algorithm
	pool sync.Pool
}

// get returns a cursor that reads file. end is the offset at which the entries of file end.
func (p *cursorPool) get(file io.ReaderAt, end int64) *packCursor {
	c, ok := p.pool.Get().(*packCursor)
	if !ok {
		c = &packCursor{hash: p.hash}
	}
	c.use(file, end)
	return c
}

// put returns c to the pool, with what it has read of the file. The caller must not use c afterwards.
func (p *cursorPool) put(c *packCursor) { p.pool.Put(c) }
