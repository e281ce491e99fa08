// Package telemetry serves metrics, and sends traces and metrics to a collector. It needs a network library, so it is in the program
// git-smithers-desk, and no other command starts slower. git smithers starts the program and talks to it on standard input and output.
// Both directions carry blocks, see package block.
package telemetry

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
)

// Streams are the streams and the environment of the program.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Env []string
}

// Serves reports whether the arguments of the program name a duty of this package.
func Serves(args []string) bool {
	return len(args) == 2 && (args[0] == "metrics" || args[0] == "send" && (args[1] == "traces" || args[1] == "metrics"))
}

// Main carries out the duty in args, until s.In ends. Serves(args) must be true. Main ignores an interrupt: a terminal interrupts the
// program along with git smithers, which may have something left to say.
func Main(ctx context.Context, s Streams, args []string) error {
	signal.Ignore(os.Interrupt)
	if args[0] == "metrics" {
		return serveMetrics(ctx, s, args[1])
	}
	return send(ctx, s, args[1])
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
