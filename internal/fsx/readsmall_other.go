//go:build !unix

package fsx

import (
	"errors"
	"io"
	"os"
)

// ReadSmall reads a file from its beginning into buf and returns how much there
// was. A file longer than buf is cut.
func ReadSmall(path string, buf []byte) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, errors.Join(err, f.Close())
}
