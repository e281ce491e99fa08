// Package desk is the program git-smithers-desk: the parts of git smithers that need large libraries, in a program of their own, so that
// no other command starts slower. git smithers starts it; people do not call it.
package desk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
)

// Streams are the streams and the environment of the program.
type Streams struct {
	telemetry.Streams

	Err io.Writer
}

// Main runs the command in args, and returns the exit status.
func Main(ctx context.Context, s Streams, args []string) int {
	err := errors.New("git-smithers-desk is started by git smithers: see `git smithers help supervise` and `git smithers help traces`")
	if telemetry.Serves(args) {
		err = telemetry.Main(ctx, s.Streams, args)
	}
	if err != nil {
		_, _ = fmt.Fprintf(s.Err, "git-smithers-desk: %v\n", err)
		return 1
	}
	return 0
}
