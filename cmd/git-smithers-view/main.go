// Command git-smithers-view does for git-smithers what needs a network library. See package view.
package main

import (
	"context"
	"os"

	"github.com/git-smithers/git-smithers/internal/view"
)

func main() {
	os.Exit(view.Main(context.Background(), view.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}, os.Args[1:]))
}
