package gitexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// CheckOwner returns an [*Error] if one of paths belongs to a user whose repositories git would not open, unless the
// user's configuration names dir in safe.directory. The rule is git's, for folders that git does not know, such as .jj.
// A path that does not exist belongs to nobody.
func CheckOwner(ctx context.Context, dir string, env []string, paths ...string) error {
	for _, path := range paths {
		if isOwn(path, env) {
			continue
		}
		safe, err := isSafe(ctx, dir, env)
		if err != nil {
			return err
		}
		if safe {
			return nil
		}
		return &Error{Args: []string{"rev-parse"}, Status: -1, Stderr: fmt.Sprintf(
			"fatal: detected dubious ownership in repository at '%s'\n'%s' belongs to another user.\n"+
				"To add an exception for this directory, call:\n\n\tgit config --global --add safe.directory %s", dir, path, dir)}
	}
	return nil
}

// isSafe reports whether safe.directory names dir. As for git, only settings outside of repositories count.
func isSafe(ctx context.Context, dir string, env []string) (bool, error) {
	git := Process{Dir: string(filepath.Separator), Env: PlumbingEnv(env)}
	list, err := git.run(ctx, "config", "--show-scope", "--includes", "--type=path", "-z", "--get-regexp", `^safe\.directory$`)
	if failed, ok := errors.AsType[*Error](err); ok && failed.Status == 1 { // no such setting
		return false, nil
	}
	if err != nil {
		return false, err
	}
	safe := false
	words := strings.Split(string(bytes.TrimSuffix(list, []byte{0})), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] == "local" || words[i] == "worktree" {
			continue
		}
		_, value, _ := strings.Cut(words[i+1], "\n")
		above, below := strings.CutSuffix(value, "/*")
		switch {
		case value == "":
			safe = false
		case value == "*", filepath.Clean(value) == dir, below && strings.HasPrefix(dir, above+"/"):
			safe = true
		}
	}
	return safe, nil
}
