// Package gitexec finds repositories and runs git.
//
// It works in the environment that it is given, and reads nothing of this process's own.
package gitexec

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Errors of this package.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoGit        = errors.New("git was not found on PATH")
	ErrGitTooOld    = errors.New("git is too old")
	// ErrUnknownFormat is wrapped if the installed git does not know the format of the repository.
	ErrUnknownFormat = errors.New("unknown repository format")
)

// killDelay is the time that a git has to remove its lock files after it was asked to end.
const killDelay = 2 * time.Second

// Error is a failed run of git or of another program.
type Error struct {
	Program string   // its name; "" means git
	Args    []string // the arguments after the program's own options
	Status  int      // the exit status; -1 if it did not run or a signal ended it
	Stderr  string   // its standard error, without surrounding white space
	// Err is the cause: ErrNoRepository, ErrUnknownFormat, ErrNoGit, the context's error, the
	// syscall.Errno that git met, or an *exec.ExitError.
	Err error

	stopped bool
}

// ofOurSettings is a warning of a newer git about a setting that is meant for an older one.
const ofOurSettings = "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead\n"

// NewError returns the error of a git that was called with args, ended with state (nil if it did
// not run) and err, and wrote stderr in the C locale.
func NewError(args []string, state *os.ProcessState, stderr string, err error) *Error {
	e := &Error{Args: args, Status: -1, Stderr: strings.TrimSpace(strings.ReplaceAll(stderr, ofOurSettings, "")), Err: err}
	if state != nil {
		e.Status = state.ExitCode()
		e.stopped = stopped(state)
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

// Error returns the command and the error output of git.
func (e *Error) Error() string {
	what := cmp.Or(e.Program, "git")
	if len(e.Args) > 0 {
		what += " " + e.Args[0]
	}
	if e.Stderr == "" {
		return what + ": " + e.Err.Error()
	}
	return what + ": " + e.Stderr
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Stopped reports whether a signal that asks a process to end has ended it. Ctrl-C sends such a
// signal to every process of a terminal, perhaps before the context of this process ends.
func (e *Error) Stopped() bool { return e.stopped }

// Git runs git on one repository's git directory, for plumbing that needs no working copy. It is
// safe for concurrent use.
type Git struct {
	dir   string
	env   []string
	apart bool
}

// New returns a Git that runs inside the common directory of repo under env, which is as os.Environ
// returns it. Variables that point git at a repository or its parts are left out, messages are in
// the C locale, and optional locks are off.
func New(repo Repo, env []string) *Git {
	return &Git{dir: repo.CommonDir, env: PlumbingEnv(env)}
}

// Apart returns a Git for commands that lock the repository; see Apart of [Process].
func (g *Git) Apart() *Git { return &Git{dir: g.dir, env: g.env, apart: true} }

// Command returns a git that is ready to start, with directory, environment and global options. The
// caller sets its streams. When ctx ends, git is asked to end, and killed if it does not.
func (g *Git) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	return g.process(args).command(ctx)
}

// Run runs git to its end and returns its standard output. The error is an *Error.
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := g.process(args).Run(ctx)
	return out, err
}

func (g *Git) process(args []string) Process {
	// git also looks up every given id as a ref name, in a dozen places, unless
	// core.warnAmbiguousRefs is off.
	options := []string{"-c", "core.warnAmbiguousRefs=false", "--git-dir=."}
	return Process{Dir: g.dir, Env: g.env, Options: options, Args: args, Apart: g.apart}
}

// InitBare makes a bare repository in dir, and the folders above it. Its objects are sha1 and its
// refs are files, whatever the defaults of git and the user are. It has no hooks.
func InitBare(ctx context.Context, dir string, env []string) error {
	env = append(PlumbingEnv(env), "GIT_DEFAULT_HASH=sha1", "GIT_DEFAULT_REF_FORMAT=files")
	args := []string{"init", "--quiet", "--bare", "--template=", "--", dir}
	_, _, err := Process{Env: env, Args: args}.Run(ctx)
	return err
}
