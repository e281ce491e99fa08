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
	args   []string // "$0" and "$@" in line; nil for none
	dir    string   // the folder to run in; "" is this process's folder
	env    []string // the whole environment
	stdin  []byte
	stdout io.Writer // written by one goroutine
	stderr io.Writer // written by one goroutine
	grace  time.Duration
	hurry  context.Context // when hurry ends, the grace period ends at once
	// began gets the process id of the group's leader before the line runs. It may be nil.
	began func(leader int)
	// closed and setAside are those of sandbox.Command; nil without a sandbox.
	closed   []string
	setAside func() error
}

// startGrace starts the grace period of c. It returns a context that ends with the period or with c.hurry. The caller
// calls the CancelFunc.
func (c *command) startGrace() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.hurry, c.grace)
}

// exit is the end of a command.
type exit struct {
	status *int   // the exit status; nil if a signal ended the command
	signal string // the signal that ended the command; "" if the command exited
	cut    bool   // ctx ended before the command did
}

// run runs the command in its own process group. It returns when the whole group is gone or has got KILL. When ctx
// ends, the group gets TERM. After the grace period, or when c.hurry ends, the group gets KILL. If the command leaves
// processes behind in the group, run ends these processes in the same way.
//
// On a system without process groups, run ends only the shell, and kills it without TERM.
//
// An error means that the command did not start, or that the system failed to wait for the command or to close its
// pipes. The exit is then zero.
func (c *command) run(ctx context.Context) (exit, error) {
	var end exit
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", c.line}, c.args...)...) //nolint:gosec // a person has agreed to it
	cmd.Dir, cmd.Env = c.dir, c.env
	ownGroup(cmd)
	held, err := c.hold(cmd) // the shell waits until its process group is recorded
	if err != nil {
		return exit{}, err
	}
	defer held.abandon()
	spare := func() {} // stops a KILL that cmd.Cancel has scheduled
	// The closure calls the newest spare, because cmd.Cancel replaces spare.
	defer func() { spare() }()
	cmd.Cancel = func() error { //nolint:contextcheck // the grace period begins when ctx ends, so it has its own context
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
		return exit{}, errors.Join(err, streams.finish()) //nolint:contextcheck // the grace period has its own context
	}
	// The shell is gone, but other processes of its group may still run.
	c.endGroup(cmd.Process)
	if err := streams.finish(); err != nil { //nolint:contextcheck // the grace period has its own context
		return exit{}, err
	}
	end.status, end.signal = exitOf(cmd.ProcessState)
	return end, nil
}

// exitOf returns the exit status of an exited process. If a signal ended the process, status is nil and signal is
// the signal's name; otherwise signal is "".
func exitOf(state *os.ProcessState) (status *int, signal string) {
	if code := state.ExitCode(); code >= 0 {
		return &code, ""
	}
	return nil, strings.TrimPrefix(state.String(), "signal: ")
}

// streams holds the pipes between this process and a command. It replaces the pipes of os/exec, which would wait
// for a process that left the group and kept a pipe open.
type streams struct {
	c      *command
	theirs []*os.File // the command's ends of the pipes
	stdin  *os.File   // this process's ends of the pipes
	stdout *os.File
	stderr *os.File
	copies sync.WaitGroup // the goroutines that copy
}

// connect makes a pipe for each standard stream, sets the command's ends in cmd, and returns the pipes. If connect
// fails, it closes all pipes.
func (c *command) connect(cmd *exec.Cmd) (*streams, error) {
	s := &streams{c: c}
	// files has the read end and the write end of three pipes: standard input, output and error.
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

// abandon closes both ends of all pipes. It is for a command that was not started.
func (s *streams) abandon() {
	for _, f := range append(s.theirs, s.stdin, s.stdout, s.stderr) {
		closePipe(f)
	}
}

// closePipe closes one end of a pipe; f may be nil. It ignores the error of Close, because a pipe's end buffers no
// data that could be lost.
func closePipe(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

// begin closes this process's copies of the command's ends, and starts to copy all streams. It does not wait for the
// copies.
func (s *streams) begin() {
	for _, f := range s.theirs {
		closePipe(f)
	}
	s.copies.Go(func() {
		// A command need not read its input. The copy then ends with EPIPE, which is not an error.
		_, _ = io.Copy(s.stdin, bytes.NewReader(s.c.stdin))
		closePipe(s.stdin)
	})
	s.copies.Go(func() { drain(s.c.stdout, s.stdout) })
	s.copies.Go(func() { drain(s.c.stderr, s.stderr) })
}

// drain copies the pipe in from to a writer until the pipe ends or finish closes the pipe. It ignores errors: the
// writers never fail, and a pipe that cannot be read is treated as ended.
func drain(to io.Writer, from *os.File) { _, _ = io.Copy(to, from) }

// finish waits until all streams are copied, but not beyond the grace period, and closes the pipes. If stdout or
// stderr cannot be closed, finish returns the error. After the grace period, finish stops the copies, drops the
// remaining bytes and returns nil, because a process outside the group may hold a pipe open.
func (s *streams) finish() error {
	grace, over := s.c.startGrace()
	defer over()
	inTime := context.AfterFunc(grace, func() {
		closePipe(s.stdin)
		closePipe(s.stdout)
		closePipe(s.stderr)
	})
	s.copies.Wait()
	if inTime() { // the grace period is not over, so the pipes are still open
		return errors.Join(s.stdout.Close(), s.stderr.Close())
	}
	return nil
}
