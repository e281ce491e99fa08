package term

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// LinesOf yields the lines of r without their line feeds, until r ends or fails. It cuts
// a line longer than limit at limit+1 bytes, so that the caller can see the length. The
// caller may keep a line.
func LinesOf(r io.Reader, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReader(r)
		size := 0
		for {
			line, err := readLine(in, limit, size)
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

// maxAhead bounds the memory in bytes that a line gets before it is read.
const maxAhead = 4 << 20

// readLine reads one line and keeps limit+1 bytes of it at most. size is the length of the line before:
// a line that is longer than the buffer of in gets memory for a little more.
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
