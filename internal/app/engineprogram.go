package app

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// check returns engine_missing if the program that starts Smithers does not exist or cannot be run. It does not start
// Smithers.
//
// check first looks for e.program[0], which is the shell if e.command is set. It then looks for the program that
// commandName finds in e.command: as a file, if the name has a slash, and otherwise with the shell. If commandName
// returns "", check looks for nothing more. If ctx ends while the shell looks for the program, check returns the error
// of ctx.
func (e *smithersEngine) check(ctx context.Context) error {
	missing := func(format string, args ...any) error {
		return fault.New(fault.EngineMissing, format, args...).
			Hint("name the command that starts Smithers with --engine-command COMMAND or the setting smithers.engineCommand")
	}
	if _, err := exec.LookPath(e.program[0]); err != nil {
		return missing("%s cannot be run: %w", e.program[0], err)
	}
	name := commandName(e.command)
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.dir, path)
		}
		if _, err := exec.LookPath(path); err != nil {
			return missing("%s cannot be run: %w", name, err)
		}
		return nil
	}
	if name == "" {
		return nil
	}
	ask := exec.CommandContext(ctx, e.program[0], "-c", `command -v "$1"`, "sh", name) //nolint:gosec // the user's own words
	ask.Dir, ask.Env = e.dir, e.env
	// Only an exit status says that the program is missing. If the shell cannot be started, Smithers cannot either.
	if err := ask.Run(); err != nil && ctx.Err() == nil {
		if _, ended := errors.AsType[*exec.ExitError](err); ended {
			return missing("there is no program %s", name)
		}
	}
	return ctx.Err()
}

// commandName returns the program that a shell would run for a command line: the first word that is not an assignment
// such as NAME=value. It returns "" if there is no such word, or if only a shell can find the program, for example
// because of a quote, a variable, a leading - or an assignment to PATH.
func commandName(command string) string {
	for word := range strings.FieldsSeq(command) {
		name, _, assigned := strings.Cut(word, "=")
		switch {
		case strings.ContainsAny(word, "'\"`\\;&|()<>*?[]~#{}!"), name == "PATH", strings.HasPrefix(word, "-"):
			return "" // the shell gives the word a meaning, or looks for programs elsewhere
		case assigned: // an assignment stands before the program
		case strings.Contains(word, "$"):
			return ""
		default:
			return word
		}
	}
	return ""
}
