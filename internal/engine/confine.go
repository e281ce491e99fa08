package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// confine puts the command into a sandbox, unless spec is nil. given has the variables that the command gets in any case; the environment of c
// has them, too. The caller calls left after the command; it is never nil. refused is the reason why the attempt fails if there is no such
// sandbox here, or nil.
func (c *command) confine(ctx context.Context, spec *sandbox.Spec, opts *Options, given []string) (left func(), refused *reason) {
	left = func() {}
	if spec == nil {
		return left, nil
	}
	at, err := c.place(opts, given)
	if err == nil && opts.NoHooks != nil {
		err = opts.NoHooks(ctx)
	}
	var made *sandbox.Command
	if err == nil {
		made, err = spec.New(ctx, c.line, at, withoutRepository(opts.Env), given)
	}
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errCancelled):
		return left, &reason{reasonCancelled, "the run was cancelled before the command started"}
	case err != nil:
		return left, &reason{reasonSandbox, err.Error()}
	}
	c.line, c.env, c.closed, c.setAside = made.Line, made.Env, made.Closed, made.SetAside
	return func() { _ = made.Close() }, nil // a group that stays is empty and harmless
}

// place returns where the command runs in a sandbox.
func (c *command) place(opts *Options, given []string) (sandbox.Place, error) {
	at := opts.Sandbox
	dir := c.dir
	if dir == "" {
		dir = "."
	}
	var err error
	if at.Dir, err = filepath.Abs(dir); err == nil {
		at.Dir, err = filepath.EvalSymlinks(at.Dir)
	}
	if err != nil {
		return at, errors.New("the folder of the command cannot be found")
	}
	at.Internals = slices.Clone(at.Internals)
	for _, name := range []string{".git", ".jj"} {
		path := filepath.Join(at.Dir, name)
		if _, err := os.Lstat(path); err == nil && !slices.Contains(at.Internals, path) {
			at.Internals = append(at.Internals, path)
		}
	}
	for _, entry := range given {
		name, file, _ := strings.Cut(entry, "=")
		switch {
		case file == "":
		case name == signalsVariable:
			at.Shown = append(at.Shown, file)
		case slices.Contains([]string{callsVariable, outputVariable, usageVariable}, name):
			at.Files = append(at.Files, file)
		}
	}
	return at, nil
}

// madeRepository moves a repository away that the command has made in its folder, and returns why the attempt fails for that, or nil. failed is why
// it fails in any case, or nil. The caller calls it after the command.
func (c *command) madeRepository(failed *reason) *reason {
	if c.setAside == nil {
		return failed
	}
	err := c.setAside()
	switch {
	case err == nil:
		return failed
	case failed != nil && failed.code == reasonCancelled:
		return &reason{reasonCancelled, failed.text + "; " + err.Error()}
	}
	return &reason{reasonSandbox, err.Error()}
}

// maxClosed is how many closed paths a reason names.
const maxClosed = 20

// whyClosed adds to a reason what the sandbox kept closed, if the command failed with a text that says it met such a file. log is its output.
func (c *command) whyClosed(failed *reason, log string) {
	met := strings.Contains(log, "ead-only file system") || strings.Contains(log, "evice or resource busy")
	if failed == nil || failed.code != reasonExit || len(c.closed) == 0 || !met {
		return
	}
	shown := c.closed[:min(len(c.closed), maxClosed)]
	failed.text += "; read-only in its sandbox: " + plain.Text(strings.Join(shown, ", "))
	if more := len(c.closed) - len(shown); more > 0 {
		failed.text += fmt.Sprintf(" and %d more", more)
	}
}
