package gitexec

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Read runs git with args and the standard input stdin, which may be nil, and calls read with git's standard output while git
// runs. If read returns an error, Read ends git and returns this error. If read only found that the output ends too early, and git
// failed, the error is git's, an [*Error]. If ctx ends, Read returns the cause. stderr is git's standard error in the C locale, also
// if git succeeded.
func (g *Git) Read(ctx context.Context, stdin io.Reader, args []string, read func(io.Reader) error) (stderr string, err error) {
	running, end := context.WithCancel(ctx)
	defer end()
	cmd, err := g.Command(running, args...)
	if err != nil {
		return "", &Error{Args: args, Status: -1, Err: err}
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", &Error{Args: args, Status: -1, Err: err}
	}
	failed := read(out)
	early := errors.Is(failed, io.EOF)
	switch {
	case early: // git's own error says why
		_, _ = io.Copy(io.Discard, out)
	case failed != nil:
		end() // git would wait for a reader of its output
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return said.String(), context.Cause(ctx)
	case failed != nil && !early || err == nil:
		return said.String(), failed
	}
	return said.String(), NewError(args, cmd.ProcessState, said.String(), err)
}
