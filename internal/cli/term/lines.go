package term

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// LinesOf yields the lines of r without their line feeds, until r ends or fails. If r fails, the last element is the
// error, with no line. A line that is longer than limit is cut after limit+1 bytes, so that the caller can see that the
// line is too long. The caller may keep and change the lines.
func LinesOf(r io.Reader, limit int) iter.Seq2[[]byte, error] {
	return NewLines(r, limit).All()
}

// Lines are the lines of a reader; see LinesOf.
type Lines struct {
	in    *bufio.Reader
	limit int
}

// bufferedLines is the size of the buffer of Lines: as much as a pipe has.
const bufferedLines = 64 << 10

// NewLines returns the lines of r, as LinesOf does.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{bufio.NewReaderSize(r, bufferedLines), limit}
}

// More reports whether another whole line was read already, so that it comes without waiting.
func (l *Lines) More() bool {
	ahead, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(ahead, '\n') >= 0
}

// All yields the lines that are left.
func (l *Lines) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		size := 0
		for {
			line, err := readLine(l.in, l.limit, size)
			size = min(len(line), maxAhead)
			switch {
			case err == nil:
				if !yield(line, nil) {
					return
				}
				continue
			case !errors.Is(err, io.EOF):
				yield(nil, err)
			case len(line) > 0:
				yield(line, nil)
			}
			return
		}
	}
}

// maxAhead is the largest number of bytes that are allocated for a line before it is read.
const maxAhead = 4 << 20

// readLine reads one line and returns it without its line feed. Of a long line, it returns only the first limit+1
// bytes. At the end of the input, it returns io.EOF, and the last line if that line has no line feed. size is the
// expected length of the line, which is the length of the previous line: a line longer than the buffer of in gets a
// little more space than size.
func readLine(in *bufio.Reader, limit, size int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) && line == nil {
			line = make([]byte, 0, size+size/8)
		}
		end := err == nil
		if end {
			part = part[:len(part)-1]
		}
		line = append(line, part[:min(len(part), limit+1-len(line))]...)
		if end {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// MaxDocument is the longest document on standard input, in bytes.
const MaxDocument = 256 << 20
