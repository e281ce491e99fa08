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

// gitRun is one run of git.
type gitRun struct {
	args     []string
	env      []string  // NAME=value; overrides everything else: GIT_INDEX_FILE, GIT_OBJECT_DIRECTORY, …
	stdin    io.Reader // nil: nothing
	settings []string  // more configuration, as for -c; overrides all other
	gitDir   string    // "" means this worktree's
}

// RunGit runs git on the working copy, as gitWith does.
func (w *Workspace) RunGit(ctx context.Context, args ...string) ([]byte, error) {
	return w.gitWith(ctx, gitRun{args: args})
}

// gitWith runs git in Root, on this worktree's git directory and files, and returns its standard
// output. It takes no optional lock and runs no hook. Of the user's settings, only those count that
// are about the content of files: filters, attributes, line ends, ignore rules, core.fileMode.
// Without a working copy it runs in the git directory. The error is a *gitexec.Error.
func (w *Workspace) gitWith(ctx context.Context, run gitRun) ([]byte, error) {
	out, _, err := w.gitFull(ctx, run)
	return out, err
}

// RunGitOnIndex runs git as RunGit does, on another index file.
func (w *Workspace) RunGitOnIndex(ctx context.Context, index string, args ...string) ([]byte, error) {
	return w.gitWith(ctx, gitRun{args: args, env: []string{"GIT_INDEX_FILE=" + index}})
}

// gitFull is gitWith that also returns git's standard error.
func (w *Workspace) gitFull(ctx context.Context, run gitRun) (stdout, stderr []byte, err error) {
	gitDir := cmp.Or(run.gitDir, w.Repo.GitDir)
	options := append(gitSettings(gitDir), "--git-dir="+gitDir)
	for _, setting := range run.settings {
		options = append(options, "-c", setting)
	}
	if w.Root != "" {
		options = append(options, "--work-tree="+w.Root)
	}
	return gitexec.Process{
		Dir: cmp.Or(w.Root, w.Repo.GitDir), Env: append(w.gitEnv(), run.env...),
		Options: options, Args: run.args, Stdin: run.stdin,
	}.Run(ctx)
}

// gitSettings returns options of git that override what a user may have configured.
func gitSettings(gitDir string) []string {
	var options []string
	for _, setting := range []string{
		"core.untrackedCache=false", // of no use in a private index
		"core.splitIndex=false",     // leaves files beside the index
		"core.safecrlf=false",       // refuses files, or warns
		"core.quotePath=false",
		"core.warnAmbiguousRefs=false",
		// HEAD is a file, which contains no hook on any system.
		"core.hooksPath=" + filepath.Join(gitDir, "HEAD"),
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

// gitEnv returns the environment for plumbing commands. The caller owns it.
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
	return append(env, "GIT_ADVICE=0")
}

// RunJJ runs jj in Root and returns its output; jj's warnings are on stderr. Most commands of jj
// take a snapshot of the working copy first. The error is a *gitexec.Error, which may wrap ErrNoJJ,
// ErrJJTooOld or ErrStale.
func (w *Workspace) RunJJ(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	program, err := findJJ(w.env)
	if err != nil {
		return nil, nil, &gitexec.Error{Program: "jj", Args: args, Status: -1, Err: err}
	}
	stdout, stderr, err = gitexec.Process{
		Program: program, Dir: w.Root, Env: gitexec.PlumbingEnv(w.env),
		Options: []string{"--no-pager", "--color=never"}, Args: args,
	}.Run(ctx)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && ctx.Err() == nil {
		failed.Program = "jj"
		failed.Err = whyJJ(ctx, w, failed)
	}
	return stdout, stderr, err
}

// jjPathVariable is the environment variable with the path of the jj to run.
const jjPathVariable = "SMITHERS_JJ_PATH"

// findJJ returns the path of the jj to run: the value of SMITHERS_JJ_PATH, or else the one on PATH.
func findJJ(env []string) (string, error) {
	for _, entry := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(entry, jjPathVariable+"="); ok && path != "" {
			if found, err := exec.LookPath(path); err == nil && filepath.IsAbs(found) {
				return found, nil
			}
			return "", fmt.Errorf("%w: SMITHERS_JJ_PATH is %q", ErrNoJJ, path)
		}
	}
	path, err := gitexec.Find(env, "jj")
	if err != nil {
		return "", ErrNoJJ // without the searched path, which is the user's PATH
	}
	return path, nil
}

// Run runs jj, or git, at the top of the working copy and returns its standard output. The error is
// a *gitexec.Error. With jj it may wrap ErrNoJJ or ErrJJTooOld.
func (w *Workspace) Run(ctx context.Context, args ...string) ([]byte, error) {
	if w.Type == snapshot.VCSJJ {
		out, _, err := w.RunJJ(ctx, args...)
		return out, err
	}
	return w.RunGit(ctx, args...)
}
