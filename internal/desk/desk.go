// Package desk is the program git-smithers-desk: the parts of git smithers that need large libraries, in a program of their own, so that
// no other command starts slower. git smithers starts it; people do not call it.
package desk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/desk/mcp"
	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
	"github.com/git-smithers/git-smithers/internal/desk/tui"
)

// Streams are the streams and the environment of the program.
type Streams struct {
	telemetry.Streams

	Err io.Writer
	Dir string           // the folder of the program
	Now func() time.Time // the clock
}

// Main runs the command in args, and returns the exit status.
func Main(ctx context.Context, s Streams, args []string) int {
	if len(args) > 0 && args[0] == "tui" {
		return showTUI(ctx, s, args[1:])
	}
	if len(args) > 0 && args[0] == "mcp" {
		return serveMCP(ctx, s, args[1:])
	}
	err := errors.New("git-smithers-desk is started by git smithers: see `git smithers help tui`, `git smithers help mcp`, `git smithers help supervise` and `git smithers help traces`")
	if telemetry.Serves(args) {
		err = telemetry.Main(ctx, s.Streams, args)
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "git-smithers-desk: %v\n", err)
		return 1
	}
	return 0
}

// exitStopped is the exit status of a view that a signal has ended.
const exitStopped = 143

// showTUI shows the terminal view. Its errors are those of git smithers.
func showTUI(ctx context.Context, s Streams, args []string) int {
	flags := flag.NewFlagSet("tui", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	program, color := flags.String("program", "git-smithers", ""), flags.String("color", "auto", "")
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	t := term.New(ctx, term.Streams{In: s.In, Out: s.Out, Err: s.Err, Env: s.Env, Dir: s.Dir, Now: s.Now}, false)
	t.Color = *color
	out := &session.Session{Terminal: t, Args: append([]string{"tui"}, flags.Args()...), Hurry: ctx}
	err := tui.Run(ctx, tui.Options{Terminal: t, In: s.In, Out: s.Out, Program: *program, At: flags.Arg(0)})
	if ctx.Err() != nil {
		return exitStopped
	}
	return out.Report(err)
}

// serveMCP answers an agent by the Model Context Protocol.
func serveMCP(ctx context.Context, s Streams, args []string) int {
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	allow := flags.String("allow", "", "")
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	streams := term.Streams{In: s.In, Out: s.Out, Err: s.Err, Env: s.Env, Dir: s.Dir, Now: s.Now}
	if err := mcp.Serve(ctx, streams, strings.Split(*allow, ",")); err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(s.Err, "git-smithers-desk: %v\n", err)
		return 1
	}
	return 0
}
