package term

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
)

// Paged runs f and returns the error of f. If standard output is a terminal, the output of f goes through the pager
// that git chooses. There is no pager with --json, or if git names no pager or cat. Paged ignores the exit status of
// the pager. If the pager fails in another way, Paged joins this error with the error of f.
func (s *Terminal) Paged(ctx context.Context, f func() error) error {
	if s.JSON || !s.OutTTY {
		return f()
	}
	pager, err := s.Git(ctx, "var", "GIT_PAGER")
	if err != nil || pager == "" || pager == "cat" {
		return f()
	}
	return s.through(context.WithoutCancel(ctx), pager, f)
}

// through runs f, and sends the output of f through pager, a shell command. It waits until the pager ends. If the pager
// cannot be started, f writes to standard output. An interrupt does not end this process while the pager runs, because
// Ctrl-C is one of the pager's keys. through returns the error of f, joined with an error of the pager that is not an
// exit status.
func (s *Terminal) through(ctx context.Context, pager string, f func() error) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Dir, cmd.Env = s.Dir, slices.Clone(s.Env)
	// git sets the same variables for its pager.
	for _, preset := range [][2]string{{"LESS", "FRX"}, {"LV", "-c"}} {
		if _, ok := s.LookupEnv(preset[0]); !ok {
			cmd.Env = append(cmd.Env, preset[0]+"="+preset[1])
		}
	}
	cmd.Stdout, cmd.Stderr = s.RawOut(), s.Err
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return f()
	}
	keys := make(chan os.Signal, 1)
	// The channel is never read: signal.Notify alone keeps an interrupt from ending this process.
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)

	before := s.Out
	s.Out = dataWriter{in, s}
	err = errors.Join(f(), in.Close())
	s.Out = before
	if waitErr := cmd.Wait(); waitErr != nil {
		if _, ended := errors.AsType[*exec.ExitError](waitErr); !ended {
			err = errors.Join(err, waitErr)
		}
	}
	return err
}
