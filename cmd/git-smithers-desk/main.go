// Command git-smithers-desk is the second program of git smithers. See package desk.
package main

import (
	"context"
	"os"

	"github.com/git-smithers/git-smithers/internal/desk"
	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
)

func main() {
	streams := desk.Streams{Streams: telemetry.Streams{In: os.Stdin, Out: os.Stdout, Env: os.Environ()}, Err: os.Stderr}
	os.Exit(desk.Main(context.Background(), streams, os.Args[1:]))
}
