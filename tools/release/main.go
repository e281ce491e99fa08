// Command release gathers release notes and makes the files of a release. tools/release.sh runs the command.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run carries out `notes SOURCE VERSION DATE` or `dist SOURCE OUT`.
func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "notes":
		return gatherNotes(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "dist":
		return makeDist(args[1], args[2])
	}
	return errors.New("usage: release notes SOURCE VERSION DATE, or release dist SOURCE OUT")
}
