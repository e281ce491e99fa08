package engine

import (
	"context"
	"io"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Probe is one execution of a user's command on the files and the state of a frame.
type Probe struct {
	Run    string
	Frame  int64
	Line   string // for sh -c
	Dir    string // that has the files
	Stdin  []byte
	Output io.Writer // gets what the command prints; safe for concurrent use
}

// Execute runs the command and returns its exit status, or 128 if a signal ended it. The environment is that of scorers, with SMITHERS_FRAME in place of
// an attempt. opts.SandboxRequired puts the command into a sandbox. The end of ctx ends the command; the error is then that of ctx. Code: run_failed if the
// command could not be started.
func (p Probe) Execute(ctx context.Context, opts Options) (status int, err error) {
	opts = opts.withDefaults()
	named := []string{"SMITHERS_RUN_ID=" + p.Run, "SMITHERS_FRAME=" + strconv.FormatInt(p.Frame, 10)}
	c := command{
		line: p.Line, dir: p.Dir, env: append(withoutRepository(opts.Env), named...), stdin: p.Stdin,
		stdout: p.Output, stderr: p.Output, grace: opts.Grace, hurry: opts.Hurry,
	}
	if opts.SandboxRequired {
		left, refused := c.confine(ctx, &sandbox.Spec{}, &opts, named)
		defer left()
		if refused != nil {
			return 0, fault.New(fault.RunFailed, "the command was not started: %s", refused.text)
		}
	}
	end, err := c.run(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fault.New(fault.RunFailed, "the command was not started: %s", whyNotStarted(err, p.Dir))
	case end.status == nil:
		return signalled, nil
	}
	return *end.status, nil
}

// signalled is the exit status of Execute for a command that a signal has ended. Shells add the number of the signal.
const signalled = 128
