package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// command is one execution of a task's command.
type command struct {
	line   string   // for sh -c
	dir    string   // "" is this process's folder
	env    []string // the whole environment
	stdin  []byte
	stdout io.Writer // written by one goroutine
	stderr io.Writer // written by one goroutine
	grace  time.Duration
	hurry  context.Context // its end ends the grace period
	// began gets the process id of the group's leader before the line runs. It may be nil.
	began func(leader int)
}

// startGrace starts the grace period in which a command may end by itself. The caller cancels it.
func (c *command) startGrace() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.hurry, c.grace)
}

// exit is the end of a command. status is nil unless the command exited by itself.
type exit struct {
	status *int
	signal string // "" unless a signal ended it
	cut    bool   // ctx ended before the command did
}

// run runs the command in its own process group and returns when the whole group is gone.
// When ctx ends, the group gets TERM, and KILL after the grace period or when hurry ends.
// Processes that the command leaves behind in its group are ended the same way. An error
// means that the command was not started.
func (c *command) run(ctx context.Context) (exit, error) {
	var end exit
	cmd := exec.CommandContext(ctx, "sh", "-c", c.line)
	cmd.Dir, cmd.Env = c.dir, c.env
	ownGroup(cmd)
	held, err := c.hold(cmd)
	if err != nil {
		return exit{}, err
	}
	defer held.abandon()
	spare := func() {}
	defer func() { spare() }()
	cmd.Cancel = func() error { //nolint:contextcheck // the grace period begins when ctx ends
		end.cut = true
		grace, over := c.startGrace()
		kill := context.AfterFunc(grace, func() { killGroup(cmd.Process) })
		spare = func() {
			kill()
			over()
		}
		return terminateGroup(cmd.Process)
	}
	streams, err := c.connect(cmd)
	if err != nil {
		return exit{}, err
	}
	if err := cmd.Start(); err != nil {
		streams.abandon()
		return exit{}, err
	}
	streams.begin()
	held.release(cmd.Process)
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return exit{}, errors.Join(err, streams.finish()) //nolint:contextcheck // the grace period begins when ctx ends
	}
	c.endGroup(cmd.Process)
	if err := streams.finish(); err != nil { //nolint:contextcheck // the grace period begins when ctx ends
		return exit{}, err
	}
	end.status, end.signal = exitOf(cmd.ProcessState)
	return end, nil
}

// exitOf returns the exit status, or the name of the signal that ended the process.
func exitOf(state *os.ProcessState) (status *int, signal string) {
	if code := state.ExitCode(); code >= 0 {
		return &code, ""
	}
	return nil, strings.TrimPrefix(state.String(), "signal: ")
}

// streams are the pipes to a command. os/exec's own pipes would wait for a process that
// left the group and kept a pipe open.
type streams struct {
	c      *command
	theirs []*os.File // the command's ends
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	copies sync.WaitGroup
}

// connect makes pipes for a command's standard streams.
func (c *command) connect(cmd *exec.Cmd) (*streams, error) {
	s := &streams{c: c}
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			s.abandon()
			return nil, err
		}
		files[i], files[i+1] = r, w
		switch i {
		case 0:
			cmd.Stdin, s.stdin = r, w
			s.theirs = append(s.theirs, r)
		case 2:
			cmd.Stdout, s.stdout = w, r
			s.theirs = append(s.theirs, w)
		default:
			cmd.Stderr, s.stderr = w, r
			s.theirs = append(s.theirs, w)
		}
	}
	return s, nil
}

// abandon closes all pipes if no command was started.
func (s *streams) abandon() {
	for _, f := range append(s.theirs, s.stdin, s.stdout, s.stderr) {
		closePipe(f)
	}
}

// closePipe closes one end of a pipe. Nothing is buffered there that could be lost.
func closePipe(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

// begin closes the command's ends and starts copying.
func (s *streams) begin() {
	for _, f := range s.theirs {
		closePipe(f)
	}
	s.copies.Go(func() {
		// A command that does not read its input ends the copy with EPIPE, which is fine.
		_, _ = io.Copy(s.stdin, bytes.NewReader(s.c.stdin))
		closePipe(s.stdin)
	})
	s.copies.Go(func() { drain(s.c.stdout, s.stdout) })
	s.copies.Go(func() { drain(s.c.stderr, s.stderr) })
}

// drain copies until the end of the pipe, or until finish closes it. The writers never fail.
func drain(to io.Writer, from *os.File) { _, _ = io.Copy(to, from) }

// finish waits for the copies to end, but only for the grace period if a process outside the
// group still holds a pipe.
func (s *streams) finish() error {
	grace, over := s.c.startGrace()
	defer over()
	inTime := context.AfterFunc(grace, func() {
		closePipe(s.stdin)
		closePipe(s.stdout)
		closePipe(s.stderr)
	})
	s.copies.Wait()
	if inTime() {
		return errors.Join(s.stdout.Close(), s.stderr.Close())
	}
	return nil
}
