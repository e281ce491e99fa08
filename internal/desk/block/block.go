// Package block is how git-smithers and git-smithers-desk talk: in blocks. A block is the length of a text in decimal, a line feed, and the text.
package block

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxSize is the largest size of a block in bytes.
const maxSize = 64 << 20

// Read reads a block. At the end of r, the error is io.EOF.
func Read(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		if line != "" {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil || size < 0 || size > maxSize {
		return nil, fmt.Errorf("not the length of a block: %.100q", line)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return text, nil
}

// Write writes a block.
func Write(w io.Writer, text []byte) error {
	_, err := w.Write(append([]byte(strconv.Itoa(len(text))+"\n"), text...))
	return err
}
