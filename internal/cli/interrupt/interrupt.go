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

// Error returns a text with the name of the signal.
func (e *Error) Error() string { return "got signal " + e.Signal.String() }

// Unwrap returns context.Canceled. errors.Is then finds context.Canceled in the cause of a context, as in the context's
// error.
func (e *Error) Unwrap() error { return context.Canceled }

// echo is the time after the first signal in which a second signal of the same kind does not count. One cause can send
// two signals: git, which runs this program as "git smithers", passes on the SIGINT that a terminal has sent to both.
// The program timeout sends SIGTERM to its child, and again to the process group of the child.
const echo = 500 * time.Millisecond

// Catch catches the signals that end a command, and returns two contexts. The first signal cancels ctx; the cause is then an
// Error with SIGINT or SIGTERM. The second signal cancels hurry. A signal of the same kind that comes right after the first does
// not count as the second, see again. The third signal ends the process.
//
// SIGHUP, with which a terminal or an ssh connection closes, counts as SIGTERM. If SIGHUP was ignored when the process started, as
// nohup does, it stays ignored. SIGQUIT (Ctrl-\) counts as SIGTERM and as the second signal at once: commands are killed
// without a grace period, and none is left running. The next SIGQUIT ends the process with the stacks of its goroutines.
//
// After Catch, a write to a closed pipe returns an error and does not end the process. Child processes still get
// SIGPIPE.
//
// stop cancels both contexts, and ends the catching of signals. It does not wait for anything.
func Catch(parent context.Context) (ctx, hurry context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	hurry, now := context.WithCancel(context.WithoutCancel(parent))
	ends := make(chan os.Signal, 2)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(ends, syscall.SIGHUP)
	}
	// The channel pipes is never read: with a channel for SIGPIPE, Go does not end the process after a failed write.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	go func() {
		var first os.Signal
		select {
		case first = <-ends:
			cancel(&Error{kindOf(first)})
		case <-ctx.Done():
			return
		}
		if first == syscall.SIGQUIT || again(ends, first, time.After(echo), hurry.Done()) {
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

// kindOf returns SIGTERM for the signals that count as SIGTERM, and any other signal itself.
func kindOf(sig os.Signal) os.Signal {
	if sig == syscall.SIGHUP || sig == syscall.SIGQUIT {
		return syscall.SIGTERM
	}
	return sig
}

// again waits for the second signal. It returns true when this signal comes, and false if done is closed before. first
// is the signal that came before.
//
// The same key press or command may send the first signal twice, and a session that closes may send SIGTERM and SIGHUP. So one
// signal of the same kind as first does not count if it comes before the channel over receives the time.
func again(signals <-chan os.Signal, first os.Signal, over <-chan time.Time, done <-chan struct{}) bool {
	select {
	case sig := <-signals:
		if kindOf(sig) != kindOf(first) || sig == syscall.SIGQUIT {
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

// Explain returns the error to report after a command. ctx is the context of the command, and err is the error that the
// command returned. If a signal cancelled ctx, and err only says that the command was cancelled or interrupted, the
// result has the code interrupted for SIGINT or terminated for SIGTERM. It also has the hints of err.
//
// In all other cases, Explain returns err itself. For example, it keeps the code run_cancelled, which is more precise.
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
