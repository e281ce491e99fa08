// Package gitexec finds repositories and runs git.
//
// Everything it does happens in the environment it is given; it reads nothing of
// this process's own.
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
	// ErrUnknownFormat is wrapped when the installed git does not know how the
	// repository keeps its things.
	ErrUnknownFormat = errors.New("unknown repository format")
)

// killDelay is how long a git that was asked to end may take to remove its lock files.
const killDelay = 2 * time.Second

// Error is a git, or another program, that did not succeed.
type Error struct {
	Program string   // its name; "" is git
	Args    []string // what came after the name and the program's own options
	Status  int      // the exit status; -1 when it did not run or was ended by a signal
	Stderr  string   // what it said, without surrounding white space
	// Err is the cause: ErrNoRepository, ErrUnknownFormat, ErrNoGit, the context's error, the
	// syscall.Errno that git ran into, or an *exec.ExitError.
	Err error

	stopped bool
}

// ofOurSettings is what a newer git says of a setting that an older one is given.
const ofOurSettings = "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead\n"

// NewError makes the error of a git that was called with args, ended with state (nil
// if it did not run) and err, and said stderr in the C locale.
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

// Error is the command's name and what git said.
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

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Stopped reports whether a signal that asks a process to end has ended it. Ctrl-C sends one
// to every process of a terminal, so it may come before this one's context ends.
func (e *Error) Stopped() bool { return e.stopped }

// Git runs git on one repository's git directory, for plumbing that needs no
// working copy. It is safe for concurrent use.
type Git struct {
	dir   string
	env   []string
	apart bool
}

// New prepares running git inside the common directory of repo under env, as
// os.Environ gives it. Variables that point git at a repository or its parts are
// left out; messages are in the C locale; git takes no lock it can do without.
func New(repo Repo, env []string) *Git {
	return &Git{dir: repo.CommonDir, env: PlumbingEnv(env)}
}

// Apart is a Git for commands that take locks of the repository, as [Process] has Apart.
func (g *Git) Apart() *Git { return &Git{dir: g.dir, env: g.env, apart: true} }

// Command is a git that is ready to start: its directory, environment and global
// options are set, its streams are the caller's to set. When ctx ends, git is
// asked to end, and killed if it does not.
func (g *Git) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	return g.process(args).command(ctx)
}

// Run runs git to its end and returns its standard output. The error is an *Error.
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := g.process(args).Run(ctx)
	return out, err
}

func (g *Git) process(args []string) Process {
	// git looks up every id that it is given as a ref name, too, in a dozen places,
	// unless core.warnAmbiguousRefs is off.
	options := []string{"-c", "core.warnAmbiguousRefs=false", "--git-dir=."}
	return Process{Dir: g.dir, Env: g.env, Options: options, Args: args, Apart: g.apart}
}

// InitBare makes a bare repository in dir, and the folders that lead to it. Its
// objects are sha1 and its refs files, whatever the defaults of git and user are,
// and it has no hooks.
func InitBare(ctx context.Context, dir string, env []string) error {
	env = append(PlumbingEnv(env), "GIT_DEFAULT_HASH=sha1", "GIT_DEFAULT_REF_FORMAT=files")
	args := []string{"init", "--quiet", "--bare", "--template=", "--", dir}
	_, _, err := Process{Env: env, Args: args}.Run(ctx)
	return err
}
