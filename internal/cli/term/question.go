package term

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/term"
)

// Ask asks the person at the terminal a question, and reports whether the answer is yes. The answers y and yes, in
// upper or lower case, mean yes. Any other answer, and the end of the input, mean no.
func (s *Terminal) Ask(question string) (bool, error) {
	s.Talk("%s [y/N] ", question)
	answer, err := bufio.NewReader(s.In).ReadString('\n')
	if errors.Is(err, io.EOF) {
		s.Talk("\n") // the person has typed no line end
		return false, nil
	}
	if err != nil {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// AskSecret asks the person at the terminal for a text, which the terminal does not show. It returns the typed line without
// its end, or "" at the end of the input.
func (s *Terminal) AskSecret(question string) (string, error) {
	s.Talk("%s ", question)
	in, ok := s.In.(inputReader)
	if !ok {
		return s.readLine()
	}
	file, ok := in.r.(interface{ Fd() uintptr })
	if !ok {
		return s.readLine()
	}
	answer, err := readHidden(in.ctx, int(file.Fd()))
	s.Talk("\n") // the terminal has not shown the typed line end either
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	return answer, err
}

// readLine returns the next line of the input without its end, or what is left of the input.
func (s *Terminal) readLine() (string, error) {
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// readHidden reads a line from the terminal with the file descriptor fd, and does not show it. If ctx ends first, readHidden
// makes the terminal show what is typed again, and returns the error of ctx.
func readHidden(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	done := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		done <- line{text, err}
	}()
	select {
	case got := <-done:
		return string(got.text), got.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
