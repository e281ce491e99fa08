package term

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Streams has everything outside of the program that a command may use. In, Out, Err, Env, Dir and Now are
// required.
type Streams struct {
	In  io.Reader        // the input of commands that read standard input
	Out io.Writer        // data
	Err io.Writer        // messages: errors, hints, progress
	Env []string         // "NAME=value", as os.Environ returns it
	Dir string           // the folder in which the command was called
	Now func() time.Time // the clock
	// IsTTY reports whether In, Out or Err is a terminal; nil asks the operating system.
	IsTTY func(stream any) bool
}

// AtTerminal reports whether a stream is a terminal. stream must be s.In, s.Out or s.Err. If s.IsTTY is set, AtTerminal
// returns its answer. Otherwise it asks the operating system.
func (s *Streams) AtTerminal(stream any) bool {
	if s.IsTTY != nil {
		return s.IsTTY(stream)
	}
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// LookupEnv returns the value of the variable with the given name in s.Env, and whether the variable is set. If s.Env
// has several entries for this name, the last one counts.
func (s *Streams) LookupEnv(name string) (string, bool) {
	for _, entry := range slices.Backward(s.Env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// ErrOutputClosed means that the reader of the output, such as a pager or head(1), has
// closed the output. It is not a failure.
var ErrOutputClosed = errors.New("output closed by its reader")

// dataWriter is standard output. Write first removes a line of progress. It escapes invisible characters if a person
// reads at a terminal.
type dataWriter struct {
	io.Writer

	s *Terminal
}

// Write removes a line of progress and then writes p to standard output. It returns ErrOutputClosed if the reader has
// closed the output, and write_failed for any other error.
func (w dataWriter) Write(p []byte) (int, error) {
	w.s.EndHalfway()
	n, err := w.write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return n, ErrOutputClosed
	}
	if err != nil {
		return n, fault.New(fault.WriteFailed, "write standard output: %w", err)
	}
	return n, nil
}

// write writes p to standard output. If a person reads standard output, write escapes invisible characters. JSON stays
// unchanged.
func (w dataWriter) write(p []byte) (int, error) {
	if w.s.JSON || !w.s.IsTerminalOut() {
		return w.Writer.Write(p)
	}
	if _, err := io.WriteString(w.Writer, visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// RawOut returns standard output without dataWriter, for a child process.
func (s *Terminal) RawOut() io.Writer {
	if w, ok := s.Out.(dataWriter); ok {
		return w.Writer
	}
	return s.Out
}

// RawIn returns standard input without inputReader, for a child process.
func (s *Terminal) RawIn() io.Reader {
	if in, ok := s.In.(inputReader); ok {
		return in.r
	}
	return s.In
}

// inputReader is standard input. When ctx ends, Read returns the error of ctx. A pending read of r then continues in
// its goroutine, and its data is lost. Only one goroutine may use an inputReader at a time.
type inputReader struct {
	ctx context.Context // a field, because Read takes no context
	r   io.Reader
}

// Read reads into p as in.r does, or returns the error of ctx if ctx ends first. It reads in a goroutine, which then
// stays blocked until in.r returns. A panic of in.r becomes a panic of Read.
func (in inputReader) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data := make([]byte, len(p)) // the caller may use p after Read has returned, so the goroutine has its own buffer
		err := thrown.Catch(func() error {
			n, err := in.r.Read(data)
			data = data[:n]
			return err
		})
		done <- read{data, err}
	}()
	select {
	case got := <-done:
		if panicked, ok := errors.AsType[*thrown.Error](got.err); ok {
			panic(panicked)
		}
		return copy(p, got.data), got.err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}

// ReadStdin reads all of standard input. The error is limit_exceeded if the input has more than limit bytes, and
// invalid_input if it cannot be read. If the context of the terminal is cancelled meanwhile, the error wraps
// context.Canceled.
func (s *Terminal) ReadStdin(limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(s.In, int64(limit)+1))
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, fault.New(fault.InvalidInput, "read standard input: %w", err)
	case len(data) > limit:
		return nil, fault.New(fault.LimitExceeded, "standard input is longer than %d bytes", limit).
			Hint("`git smithers help format` lists the limits")
	}
	return data, nil
}
