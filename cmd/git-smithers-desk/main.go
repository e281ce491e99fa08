// Command git-smithers-desk is the second program of git smithers. See package desk.
package main

import (
	"context"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/internal/desk"
	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // the folder was removed: opening the repository says so
	}
	streams := desk.Streams{Streams: telemetry.Streams{In: os.Stdin, Out: os.Stdout, Env: os.Environ()}, Err: os.Stderr, Dir: dir, Now: time.Now}
	os.Exit(desk.Main(context.Background(), streams, os.Args[1:]))
}
