package engine

import (
	"cmp"
	"context"
	"io"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Probe is one execution of a user's command on the files and the state of a frame.
type Probe struct {
	Run    string
	Frame  int64
	Line   string // for sh -c
	Dir    string // that has the files
	Stdin  []byte
	Stdout io.Writer // gets the standard output; nil: Output does
	Output io.Writer // gets what the command prints; safe for concurrent use
}

// A Program is one execution of a program that works for an attempt of a run, in a folder of its own.
type Program struct {
	Run    string
	Of     snapshot.Attempt
	Words  []string // the program and its arguments, which no shell reads
	Dir    string
	Stdin  []byte
	Output io.Writer // gets what the program prints; safe for concurrent use
}

// Execute runs the program and returns its exit status, or 128 if a signal ended it. opts.Commands records it, so that it is ended if this process is
// killed. The rest is as for a Probe.
func (p Program) Execute(ctx context.Context, opts Options) (status int, err error) {
	opts = opts.withDefaults()
	name := snapshot.AttemptKey(p.Of.NodeID, p.Of.Iteration, p.Of.Attempt)
	c := command{
		line: `exec "$@"`, args: append([]string{"sh"}, p.Words...), dir: p.Dir, stdin: p.Stdin, stdout: p.Output, stderr: p.Output,
		env: append(withoutRepository(opts.Env), claim.AttemptEnv(p.Run, p.Of.NodeID, p.Of.Iteration, p.Of.Attempt)...), grace: opts.Grace, hurry: opts.Hurry,
	}
	if commands := opts.Commands; commands != nil {
		c.began = func(leader int) { _ = commands.Began(name, leader) }
		defer commands.Ended(name)
	}
	status, signal, err := c.statusOf(ctx)
	if signal != "" {
		status = signalled
	}
	return status, err
}

// Execute runs the command and returns its exit status, or the name of the signal that ended it. The environment is that of scorers, with SMITHERS_FRAME in place of
// an attempt. opts.SandboxRequired puts the command into a sandbox. The end of ctx ends the command; the error is then that of ctx. Code: run_failed if the
// command could not be started.
func (p Probe) Execute(ctx context.Context, opts Options) (status int, signal string, err error) {
	opts = opts.withDefaults()
	named := []string{"SMITHERS_RUN_ID=" + p.Run, "SMITHERS_FRAME=" + strconv.FormatInt(p.Frame, 10)}
	c := command{
		line: p.Line, dir: p.Dir, env: append(withoutRepository(opts.Env), named...), stdin: p.Stdin,
		stdout: cmp.Or(p.Stdout, p.Output), stderr: p.Output, grace: opts.Grace, hurry: opts.Hurry,
	}
	if opts.SandboxRequired {
		left, refused := c.confine(ctx, &sandbox.Spec{}, &opts, named)
		defer left()
		if refused != nil {
			return 0, "", fault.New(fault.RunFailed, "the command was not started: %s", refused.text)
		}
	}
	return c.statusOf(ctx)
}

// statusOf runs the command, and returns what Probe.Execute returns.
func (c *command) statusOf(ctx context.Context) (status int, signal string, err error) {
	end, err := c.run(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, "", context.Cause(ctx)
	case err != nil:
		return 0, "", fault.New(fault.RunFailed, "the command was not started: %s", whyNotStarted(err, c.dir))
	case end.status == nil:
		return 0, end.signal, nil
	}
	return *end.status, "", nil
}

// signalled is the exit status of Program.Execute for a program that a signal has ended. Shells add the number of the signal.
const signalled = 128
