package objstore

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// packCursor reads a pack from any offset with few reads of the file. Its read-ahead is a
// bufio.Reader, for which klauspost's inflate has a fast path. It must be used by one goroutine at
// a time.
type packCursor struct {
	inflater

	ahead *bufio.Reader
	rest  packRest
}

// packRest reads the entries of a pack from next on.
type packRest struct {
	file io.ReaderAt
	next int64
	end  int64
	err  error // of reading the file; nil at its end
}

// readAhead is the read-ahead in bytes: enough for a page of rows, a tree or a delta of one of
// them.
const readAhead = 4 << 10

// Read implements io.Reader. A pack that ends before its entries do is io.ErrUnexpectedEOF.
func (r *packRest) Read(p []byte) (int, error) {
	want := min(int64(len(p)), r.end-r.next)
	if want <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.file.ReadAt(p[:want], r.next)
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

// use makes the cursor read file, whose entries end at end.
func (c *packCursor) use(file io.ReaderAt, end int64) {
	c.rest = packRest{file: file, end: end}
	if c.ahead == nil {
		c.ahead = bufio.NewReaderSize(&c.rest, readAhead)
	}
	c.seek(0)
}

// seek sets the offset of the next byte.
func (c *packCursor) seek(offset int64) {
	here := c.rest.next - int64(c.ahead.Buffered())
	if skip := offset - here; skip >= 0 && skip < int64(c.ahead.Buffered()) {
		_, _ = c.ahead.Discard(int(skip)) // cannot fail: the bytes are buffered
		return
	}
	c.rest.next = offset
	c.ahead.Reset(&c.rest)
}

// entryHead reads the head of the entry at offset.
func (c *packCursor) entryHead(offset int64) (entryHead, error) {
	c.seek(offset)
	head, err := readEntryHead(c.ahead, offset)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTruncated
	}
	return head, err
}

// stream inflates the stream after the head that was read last.
func (c *packCursor) stream(head entryHead) ([]byte, error) { return c.inflate(c.ahead, head.size) }

// cursorPool hands out cursors. It exists because their tables for inflating are costly to make.
// Safe for concurrent use.
type cursorPool struct{ pool sync.Pool }

func (p *cursorPool) get(file io.ReaderAt, end int64) *packCursor {
	c, ok := p.pool.Get().(*packCursor)
	if !ok {
		c = &packCursor{}
	}
	c.use(file, end)
	return c
}

func (p *cursorPool) put(c *packCursor) {
	c.use(nil, 0)
	p.pool.Put(c)
}
