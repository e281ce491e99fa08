package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/engine/sandbox"
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
	c.line, c.env = made.Line, made.Env
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
		if file, ok := strings.CutPrefix(entry, callsVariable+"="); ok {
			at.Files = append(at.Files, file)
		}
	}
	return at, nil
}
