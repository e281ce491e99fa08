package agent

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// maxInput is the size of the largest input of a hook that is kept, in bytes.
	maxInput = 64 << 20
	// longestText is the number of bytes, as JSON spells them, of the longest text in the input of a hook that is kept.
	longestText = 4 << 20
	// cutBack is the number of bytes before the end of a text in which cut looks for the end of a line or a word.
	cutBack = 64 << 10
)

// readInput reads the input of a hook. Texts that are longer than longestText are cut, and say so, and cost no memory. The input need not be JSON.
func readInput(from io.Reader) ([]byte, error) {
	var s shortener
	piece := make([]byte, 1<<16)
	for {
		n, err := from.Read(piece)
		s.write(piece[:n])
		switch {
		case len(s.out) > maxInput:
			return nil, fmt.Errorf("the input of the hook has more than %d bytes", maxInput)
		case errors.Is(err, io.EOF):
			return s.out, nil
		case err != nil:
			return nil, fmt.Errorf("read the input of the hook: %w", err)
		}
	}
}

// shortener copies JSON without the ends of long texts.
type shortener struct {
	out      []byte
	in       bool // within a text
	escaped  bool // after the backslash of an escape
	digits   int  // of an escape that are still to come
	start    int  // of the text, in out
	leftOut  int  // bytes of the text
	sign     int  // where the last whole sign of the text begins, in out
	word     int  // where its last word begins
	lastLine int  // where its last line begins
}

// write copies the next piece.
func (s *shortener) write(piece []byte) {
	for _, b := range piece {
		switch {
		case !s.in:
			s.out = append(s.out, b)
			if s.in = b == '"'; s.in {
				s.start, s.leftOut, s.escaped, s.digits = len(s.out), 0, false, 0
				s.sign, s.word, s.lastLine = s.start, s.start, s.start
			}
		case b == '"' && !s.escaped:
			s.in = false
			if s.leftOut > 0 {
				s.cut()
			}
			s.out = append(s.out, b)
		case len(s.out)-s.start < longestText:
			s.keep(b)
		default:
			s.leftOut++
			s.escaped = b == '\\' && !s.escaped
		}
	}
}

// keep copies a byte of a text.
func (s *shortener) keep(b byte) {
	whole := !s.escaped && s.digits == 0 && utf8.RuneStart(b)
	if whole {
		s.sign = len(s.out)
	}
	s.out = append(s.out, b)
	switch {
	case s.escaped:
		if s.escaped = false; b == 'n' {
			s.lastLine = len(s.out)
		} else if b == 'u' {
			s.digits = len("0000")
		}
	case s.digits > 0:
		s.digits--
	case b == '\\':
		s.escaped = true
	case b == ' ':
		s.word = len(s.out)
	}
}

// cut ends a text of which bytes were left out with a note. It ends before its last line, or its last word, so that no secret is cut.
func (s *shortener) cut() {
	end, far := s.sign, len(s.out)-cutBack
	if s.lastLine > max(s.start, far) {
		end = s.lastLine
	} else if s.word > max(s.start, far) {
		end = s.word
	}
	s.leftOut += len(s.out) - end
	s.out = fmt.Appendf(s.out[:end], "[%d bytes were left out]", s.leftOut)
}
