package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Streams is what a command may use of the world.
type Streams = term.Streams

// Main runs one command line, args being what follows the program's name, and
// returns the exit status of the process. It writes to s and nowhere else. The
// first SIGINT or SIGTERM cancels what is under way, which then ends in an orderly
// way; the second one leaves tasks no time to end by themselves; the third one ends
// the process.
func Main(ctx context.Context, s Streams, args []string) int {
	ctx, hurry, stop := catchSignals(ctx)
	defer stop()
	out := &session{Terminal: term.New(ctx, s, wantsJSON(args)), args: args, hurry: hurry}
	err := thrown.Catch(func() error { return dispatch(ctx, out, args) })
	return out.report(interrupted(ctx, err))
}

// dispatch finds the command and runs it, or shows its help.
func dispatch(ctx context.Context, s *session, args []string) error {
	root := tree()
	in, err := parse(root, args)
	if err != nil {
		return err
	}
	switch {
	case in.page != "":
		return s.printHelpPage(ctx, in.page)
	case in.command == root && !in.help:
		return statusOrHelp(ctx, s, in)
	case in.help || in.command.run == nil:
		return in.command.printHelp(s.Out, in.all)
	}
	return retyped(args, root.app(s).RunContext(ctx, in.argv()))
}

// statusOrHelp is what is done without a command: status in a repository, and help elsewhere.
func statusOrHelp(ctx context.Context, s *session, in *invocation) error {
	root := in.command
	in.command = root.child("status")
	err := root.app(s).RunContext(ctx, in.argv())
	if fault.CodeOf(err) == fault.NoRepository {
		return root.printHelp(s.Out, false)
	}
	return err
}

// wantsJSON reports whether a command line asks for JSON, even if it has other faults.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal os.Signal }

// Error names the signal.
func (e *signalError) Error() string { return "got signal " + e.signal.String() }

// Unwrap is context.Canceled, for whoever reports the cause in its place.
func (e *signalError) Unwrap() error { return context.Canceled }

// echo is for how long after the first signal the same one may come once more and mean
// no more. git, which runs us as "git smithers", passes on the SIGINT that a terminal has
// sent to both, and timeout sends SIGTERM to its child and to the group of it.
const echo = 500 * time.Millisecond

// catchSignals returns a context that the first SIGINT or SIGTERM cancels, and one
// that the second does, which an echo of the first is not; the third ends the process.
// Writes to a closed pipe become errors instead of ending the process; children get
// SIGPIPE as usual. stop undoes it and waits for no one.
func catchSignals(parent context.Context) (ctx, hurry context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	hurry, now := context.WithCancel(context.WithoutCancel(parent))
	ends := make(chan os.Signal, 2)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	go func() {
		var first os.Signal
		select {
		case first = <-ends:
			cancel(&signalError{first})
		case <-ctx.Done():
			return
		}
		if again(ends, first, time.After(echo), hurry.Done()) {
			signal.Stop(ends)
			now()
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(ends)
		signal.Stop(pipes)
		cancel(nil)
		now()
	}
}

// again waits for a signal after the first one and tells whether there was one before
// done. Until over, one that is like the first is taken for its echo.
func again(signals <-chan os.Signal, first os.Signal, over <-chan time.Time, done <-chan struct{}) bool {
	select {
	case sig := <-signals:
		if sig != first {
			return true
		}
	case <-over:
	case <-done:
		return false
	}
	select {
	case <-signals:
		return true
	case <-done:
		return false
	}
}

// interrupted gives an error that a signal caused the code of that signal. An
// error with a code of its own, such as that of a run which was cancelled in good
// order, keeps it. Hints stay.
func interrupted(ctx context.Context, err error) error {
	var sig *signalError
	if err == nil || !errors.As(context.Cause(ctx), &sig) {
		return err
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Code != fault.Interrupted {
		return err
	}
	if !errors.Is(err, context.Canceled) && known == nil {
		return err
	}
	out := fault.New(fault.Interrupted, "interrupted")
	if sig.signal == syscall.SIGTERM {
		out = fault.New(fault.Terminated, "terminated")
	}
	if known != nil {
		out.Hints = known.Hints
	}
	return out
}
