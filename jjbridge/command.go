package jjbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// gitRun describes one run of git.
type gitRun struct {
	args     []string
	env      []string  // NAME=value; overrides everything else: GIT_INDEX_FILE, GIT_OBJECT_DIRECTORY, …
	stdin    io.Reader // nil: nothing
	settings []string  // more configuration, as for -c; overrides all other
	gitDir   string    // "" means this worktree's
	// caches lets git use the untracked cache and the file system monitor, if the user has them on.
	caches bool
}

// RunGit runs git with args in Root and returns git's standard output. It uses the environment and the settings of
// gitWith. The error is a *gitexec.Error.
func (w *Workspace) RunGit(ctx context.Context, args ...string) ([]byte, error) {
	return w.gitWith(ctx, gitRun{args: args})
}

// gitWith runs git in Root and returns git's standard output. git works on this worktree's files and, unless run names
// another, on this worktree's git directory. git takes no optional lock and runs no hook. Of the user's settings, only
// those about the content of files apply: filters, attributes, line ends, ignore rules, core.fileMode. Without a
// working copy, git runs in the git directory. The error is a *gitexec.Error.
func (w *Workspace) gitWith(ctx context.Context, run gitRun) ([]byte, error) {
	out, _, err := w.gitFull(ctx, run)
	return out, err
}

// RunGitOnIndex runs git as RunGit does, but with the file index in place of the user's index.
func (w *Workspace) RunGitOnIndex(ctx context.Context, index string, args ...string) ([]byte, error) {
	return w.gitWith(ctx, gitRun{args: args, env: []string{"GIT_INDEX_FILE=" + index}})
}

// gitFull runs git as gitWith does, and also returns git's standard error.
func (w *Workspace) gitFull(ctx context.Context, run gitRun) (stdout, stderr []byte, err error) {
	gitDir := cmp.Or(run.gitDir, w.Repo.GitDir)
	options := append(gitSettings(w.Repo.Config), "--git-dir="+gitDir)
	if !run.caches {
		options = append(options, "-c", "core.untrackedCache=false")
	}
	for _, setting := range run.settings {
		options = append(options, "-c", setting)
	}
	if w.Root != "" {
		options = append(options, "--work-tree="+w.Root)
	}
	return gitexec.Process{
		Dir: cmp.Or(w.Root, w.Repo.GitDir), Env: append(w.gitEnv(), run.env...),
		Options: options, Args: run.args, Stdin: run.stdin, Monitor: run.caches && !w.NoMonitor,
	}.Run(ctx)
}

// gitSettings returns the options of git that override settings of the user, so that git's work and output do not
// depend on these settings, and git runs no hook. config is the repository's.
func gitSettings(config gitexec.Config) []string {
	options := gitexec.NoHooks(config)
	for _, setting := range []string{
		"core.splitIndex=false", // leaves files beside the index
		"core.safecrlf=false",   // refuses files, or warns
		"core.quotePath=false",
		"core.warnAmbiguousRefs=false",
		"submodule.recurse=false",
		"diff.ignoreSubmodules=none",
		"commit.gpgSign=false",
		"gc.auto=0",
		"maintenance.auto=false",
		"color.ui=false",
	} {
		options = append(options, "-c", setting)
	}
	return options
}

// gitEnv returns the environment of w for plumbing commands, without the variables that change pathspecs,
// attributes, the index format or diffs. The caller may change the result.
func (w *Workspace) gitEnv() []string {
	env := slices.DeleteFunc(gitexec.PlumbingEnv(w.env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
			"GIT_ATTR_SOURCE", "GIT_INDEX_VERSION", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS":
			return true
		}
		return false
	})
	return append(append(env, "GIT_ADVICE=0"), w.more...)
}

// RunJJ runs jj with args in Root. It returns jj's standard output, and jj's warnings as stderr. Most commands of jj
// take a snapshot of the working copy first. The error is a *gitexec.Error, which may wrap ErrNoJJ, ErrJJTooOld or
// ErrStale.
func (w *Workspace) RunJJ(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	program, err := findJJ(w.env)
	if err != nil {
		return nil, nil, &gitexec.Error{Program: "jj", Args: args, Status: -1, Err: err}
	}
	stdout, stderr, err = gitexec.Process{
		Program: program, Dir: w.Root, Env: append(gitexec.PlumbingEnv(w.env), "COLUMNS=80"), // else jj runs tput to learn of it
		Options: []string{"--no-pager", "--color=never"}, Args: args,
	}.Run(ctx)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && ctx.Err() == nil {
		failed.Program = "jj"
		failed.Err = whyJJ(ctx, w, failed)
	}
	return stdout, stderr, err
}

// jjPathVariable is the name of the environment variable with the path of the jj to run.
const jjPathVariable = "SMITHERS_JJ_PATH"

// findJJ returns the path of the jj to run. This is the value of SMITHERS_JJ_PATH in env or, if the variable is empty
// or not set, the jj on PATH. The error wraps ErrNoJJ if PATH has no jj, or if SMITHERS_JJ_PATH is not the absolute
// path of a program.
func findJJ(env []string) (string, error) {
	for _, entry := range slices.Backward(env) {
		path, ok := strings.CutPrefix(entry, jjPathVariable+"=")
		if ok && path == "" {
			break // an empty last value hides the values before it
		}
		if ok {
			if found, err := exec.LookPath(path); err == nil && filepath.IsAbs(found) {
				return found, nil
			}
			return "", fmt.Errorf("%w: SMITHERS_JJ_PATH is %q, which is not the absolute path of a program", ErrNoJJ, path)
		}
	}
	path, err := gitexec.Find(env, "jj")
	if err != nil {
		return "", ErrNoJJ // the cause would only repeat the user's PATH
	}
	return path, nil
}

// Run runs jj in a jj workspace, and git in any other working copy. It runs the command in Root and returns
// the standard output. The error is a *gitexec.Error, which may wrap ErrNoJJ, ErrJJTooOld or ErrStale if jj
// ran.
func (w *Workspace) Run(ctx context.Context, args ...string) ([]byte, error) {
	if w.Type == snapshot.VCSJJ {
		out, _, err := w.RunJJ(ctx, args...)
		return out, err
	}
	return w.RunGit(ctx, args...)
}

// RunGitWith runs git as RunGit does, but with stdin as git's standard input.
func (w *Workspace) RunGitWith(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return w.gitWith(ctx, gitRun{args: args, stdin: stdin})
}
