package term

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// LinesOf yields the lines of r without their line feeds, until r ends or fails. If r fails, it yields the error last,
// without a line. A line longer than limit is cut at limit+1 bytes, so that the caller can see that the line is too
// long. The caller owns the lines.
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

// maxAhead is the largest number of bytes that are allocated for a line before it is read.
const maxAhead = 4 << 20

// readLine reads one line without its line feed, and keeps at most limit+1 bytes of the line. A last line without a
// line feed comes with io.EOF. size is the length of the previous line: if the new line is longer than the buffer of
// in, readLine allocates a little more than size bytes, since lines often have a similar length.
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
