// Package view is the program git-smithers-view: what git smithers needs a network library for, in a program of its own, so that no other command starts
// slower. git smithers starts it, and talks to it on its standard input and output; people do not call it.
// Both directions carry blocks, see package block.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// Streams are the streams and the environment of the program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
}

// Main runs the command in args, and returns the exit status. The program ends when its input does, and not before: a terminal interrupts it along with
// git smithers, which may have something left to say.
func Main(ctx context.Context, s Streams, args []string) int {
	signal.Ignore(os.Interrupt)
	err := errors.New("git-smithers-view is started by git smithers: see `git smithers help supervise` and `git smithers help traces`")
	switch {
	case len(args) == 2 && args[0] == "metrics":
		err = serveMetrics(ctx, s, args[1])
	case len(args) == 2 && args[0] == "send" && (args[1] == "traces" || args[1] == "metrics"):
		err = send(ctx, s, args[1])
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "git-smithers-view: %v\n", err)
		return 1
	}
	return 0
}

// variable returns the last value of a variable in an environment; "" if it has none.
func variable(env []string, name string) string {
	found := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			found = value
		}
	}
	return found
}
