// Command git-smithers keeps the history of workflow runs inside the git
// repository that they work on. git runs it as "git smithers".
package main

import (
	"context"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli"
)

func main() { os.Exit(run(time.Now)) }

// run executes the command line in this process's arguments, with the process's streams, environment and folder, and
// returns the exit status. now returns the current time.
func run(now func() time.Time) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // the folder was removed: a command that needs the folder returns an error
	}
	return cli.Main(context.Background(), cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Dir: dir, Now: now,
	}, os.Args[1:])
}
