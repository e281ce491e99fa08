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
		for {
			line, err := readLine(in, limit)
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

// readLine reads one line and keeps limit+1 bytes of it at most.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
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
