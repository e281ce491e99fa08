// Command git-smithers keeps the history of workflow runs inside the git
// repository that they work on. git runs it as "git smithers".
package main

import (
	"context"
	"os"
	"time"

	"github.com/git-smithers/git-smithers/cli"
)

func main() { os.Exit(run(time.Now)) }

// run hands the process to the command line and returns the exit status.
func run(now func() time.Time) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // removed beneath us: what needs the folder says so
	}
	return cli.Main(context.Background(), cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Dir: dir, Now: now,
	}, os.Args[1:])
}
