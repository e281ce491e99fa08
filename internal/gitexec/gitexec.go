// Package gitexec finds repositories and runs git.
//
// Everything it does happens in the environment it is given; it reads nothing of
// this process's own.
package gitexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Errors of this package.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoGit        = errors.New("git was not found on PATH")
	ErrGitTooOld    = errors.New("git is too old")
	// ErrUnknownFormat is wrapped when the installed git does not know how the
	// repository keeps its things.
	ErrUnknownFormat = errors.New("unknown repository format")
)

// killDelay is how long a git that was asked to end may take to remove its lock files.
const killDelay = 2 * time.Second

// Error is a git that did not succeed.
type Error struct {
	Args   []string // what came after "git"
	Status int      // the exit status; -1 when git did not run or was ended by a signal
	Stderr string   // what git said, without surrounding white space
	// Err is the cause: ErrNoRepository, ErrUnknownFormat, ErrNoGit, the context's error, the
	// syscall.Errno that git ran into, or an *exec.ExitError.
	Err error
}

// NewError makes the error of a git that was called with args, ended with state (nil
// if it did not run) and err, and said stderr in the C locale.
func NewError(args []string, state *os.ProcessState, stderr string, err error) *Error {
	e := &Error{Args: args, Status: -1, Stderr: strings.TrimSpace(stderr), Err: err}
	if state != nil {
		e.Status = state.ExitCode()
	}
	for _, known := range []struct {
		words string
		err   error
	}{
		{"unknown repository extension", ErrUnknownFormat},
		{"Expected git repo version", ErrUnknownFormat},
		{"not a git repository", ErrNoRepository},
		{"No space left on device", syscall.ENOSPC},
		{"Disk quota exceeded", syscall.EDQUOT},
		{"Read-only file system", syscall.EROFS},
		{"Permission denied", syscall.EACCES},
	} {
		if strings.Contains(e.Stderr, known.words) {
			e.Err = known.err
			break
		}
	}
	return e
}

// Error is the command's name and what git said.
func (e *Error) Error() string {
	what := "git"
	if len(e.Args) > 0 {
		what += " " + e.Args[0]
	}
	if e.Stderr == "" {
		return what + ": " + e.Err.Error()
	}
	return what + ": " + e.Stderr
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Git runs git on one repository's git directory, for plumbing that needs no
// working copy. It is safe for concurrent use.
type Git struct {
	dir string
	env []string
}

// New prepares running git inside the common directory of repo under env, as
// os.Environ gives it. Variables that point git at a repository or its parts are
// left out; messages are in the C locale; git takes no lock it can do without.
func New(repo Repo, env []string) *Git {
	return &Git{dir: repo.CommonDir, env: plumbingEnv(env)}
}

// Command is a git that is ready to start: its directory, environment and global
// options are set, its streams are the caller's to set. When ctx ends, git is
// asked to end, and killed if it does not.
func (g *Git) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	// git looks up every id that it is given as a ref name, too, in a dozen places,
	// unless core.warnAmbiguousRefs is off.
	all := append([]string{"-c", "core.warnAmbiguousRefs=false", "--git-dir=."}, args...)
	return command(ctx, g.dir, g.env, all)
}

// Run runs git to its end and returns its standard output. The error is an *Error.
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	cmd, err := g.Command(ctx, args...)
	if err != nil {
		return nil, &Error{Args: args, Status: -1, Err: err}
	}
	return output(ctx, cmd, args)
}

// InitBare makes a bare repository in dir, and the folders that lead to it. Its
// objects are sha1 and its refs files, whatever the defaults of git and user are,
// and it has no hooks.
func InitBare(ctx context.Context, dir string, env []string) error {
	env = append(plumbingEnv(env), "GIT_DEFAULT_HASH=sha1", "GIT_DEFAULT_REF_FORMAT=files")
	args := []string{"init", "--quiet", "--bare", "--template=", "--", dir}
	cmd, err := command(ctx, "", env, args)
	if err != nil {
		return &Error{Args: args, Status: -1, Err: err}
	}
	_, err = output(ctx, cmd, args)
	return err
}

func command(ctx context.Context, dir string, env, args []string) (*exec.Cmd, error) {
	git, err := find(env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
	return cmd, nil
}

// output runs cmd, which was called with args.
func output(ctx context.Context, cmd *exec.Cmd, args []string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout.Bytes(), NewError(args, cmd.ProcessState, stderr.String(), err)
}

// find is the git that a shell would run under env.
func find(env []string) (string, error) {
	path, _ := lookup(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // like os/exec, never run what happens to lie in the current directory
		}
		if git, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
			return git, nil
		}
	}
	return "", fmt.Errorf("%w: %q", ErrNoGit, path)
}
