// Package interrupt ends a command in an orderly way when a signal comes.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An Error is the cause of a context that a signal has cancelled.
type Error struct{ Signal os.Signal }

// Error names the signal.
func (e *Error) Error() string { return "got signal " + e.Signal.String() }

// Unwrap returns context.Canceled, for callers that report the cause of a context in place of its error.
func (e *Error) Unwrap() error { return context.Canceled }

// echo is the time after the first signal in which a second signal of the same kind does not count. git, which runs
// this program as "git smithers", passes on the SIGINT that a terminal has sent to both; timeout sends SIGTERM to
// its child and to the child's group.
const echo = 500 * time.Millisecond

// Catch catches SIGINT and SIGTERM, and returns two contexts. The first signal cancels ctx; its cause is an Error. The
// second signal cancels hurry, unless it is an echo of the first. The third signal ends the process.
//
// Writes to a closed pipe become errors instead of ending the process; children get SIGPIPE as usual. stop cancels both
// contexts and catches no more signals. It waits for nothing.
func Catch(parent context.Context) (ctx, hurry context.Context, stop func()) {
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
			cancel(&Error{first})
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

// again waits for a signal that comes after the signal first. It returns true when the signal comes, and false if done
// is closed before. Until over fires, one signal of the same kind as first counts as the echo of first, and again keeps
// waiting.
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

// Explain returns the error to report after a command with the context ctx returned err. If a signal cancelled ctx, and
// err says only that the command was cancelled or interrupted, the error is interrupted for SIGINT or terminated for
// SIGTERM, with the hints of err. In all other cases, Explain returns err itself, for example if err has another code,
// such as run_cancelled.
func Explain(ctx context.Context, err error) error {
	var sig *Error
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
	if sig.Signal == syscall.SIGTERM {
		out = fault.New(fault.Terminated, "terminated")
	}
	if known != nil {
		out.Hints = known.Hints
	}
	return out
}
