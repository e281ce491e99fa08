// Package gitexec finds repositories and runs git.
//
// The caller passes the environment. The package does not read the environment of this process.
package gitexec

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// The causes that the errors of this package wrap.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoGit        = errors.New("git was not found on PATH")
	// ErrGitTooOld means that git answers in an unknown form, or not at all: git is older than 2.34.
	ErrGitTooOld = errors.New("git is too old")
	// ErrUnknownFormat means that the installed git does not know the format of the repository.
	ErrUnknownFormat = errors.New("unknown repository format")
)

// killDelay is the time that a process has to remove its lock files and end after it was asked to end.
const killDelay = 2 * time.Second

// Error is the error about a failed run of git or of another program.
type Error struct {
	Program string   // the program's name; "" means git
	Args    []string // the arguments after the program's own options
	Status  int      // the exit status; -1 if the program did not run or a signal ended it
	Stderr  string   // the standard error, without surrounding white space
	// Err is the cause: ErrNoRepository, ErrUnknownFormat, ErrNoGit, ErrGitTooOld, the context's
	// error, the syscall.Errno that git reported, or the error of os/exec.
	Err error

	stopped bool // see Stopped
}

// ofOurSettings is the warning of a newer git about a setting that this program passes for older versions of git. The
// warning says nothing about the failure, so NewError removes it.
const ofOurSettings = "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead\n"

// NewError returns the error of a call of git with the arguments args that failed with err. state is nil if git did
// not start. stderr is git's standard error in the C locale. If stderr names a known cause, Err is this cause instead
// of err.
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

// Error returns the program's name, the first argument if there is any, and the standard error. If the standard error
// is empty, the text ends with the cause instead.
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

// Unwrap returns the cause of the error.
func (e *Error) Unwrap() error { return e.Err }

// Stopped reports whether SIGINT or SIGTERM ended the process. Ctrl-C sends SIGINT to every process of
// a terminal, perhaps before the context of this process ends. On systems other than Unix, Stopped
// returns false.
func (e *Error) Stopped() bool { return e.stopped }

// Git runs git on the git directory of one repository, for commands that need no working copy. It is
// safe for concurrent use.
type Git struct {
	dir   string
	env   []string
	apart bool
}

// New returns a Git that runs in the common directory of repo under env, which has the form of
// os.Environ. The Git leaves out variables that name a repository or its parts, sets messages to the C
// locale, and turns optional locks off.
func New(repo Repo, env []string) *Git {
	return &Git{dir: repo.CommonDir, env: PlumbingEnv(env)}
}

// Apart returns a copy of g for commands that lock the repository. The copy sets [Process].Apart for each command.
func (g *Git) Apart() *Git { return &Git{dir: g.dir, env: g.env, apart: true} }

// Command returns a git command that is ready to start, with its directory, environment and global options. The caller
// sets the streams of the command. When ctx ends, git is asked to end, and is killed if it still runs after killDelay.
// The error wraps [ErrNoGit] if git is not on PATH.
func (g *Git) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	return g.process(args).command(ctx)
}

// Run runs git with args until it ends, and returns its standard output. The error is an [*Error].
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := g.process(args).Run(ctx)
	return out, err
}

// RunWith runs git as Run does, but with stdin as git's standard input. If stdin is nil, the input is empty.
func (g *Git) RunWith(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	p := g.process(args)
	p.Stdin = stdin
	out, _, err := p.Run(ctx)
	return out, err
}

// process returns the Process that runs git with args in the repository of g.
func (g *Git) process(args []string) Process {
	// With core.warnAmbiguousRefs on, git looks in a dozen places for a ref that has a given id as its name.
	options := []string{"-c", "core.warnAmbiguousRefs=false", "--git-dir=."}
	return Process{Dir: g.dir, Env: g.env, Options: options, Args: args, Apart: g.apart}
}

// InitBare creates a bare repository in dir, and the folders above it. The repository has sha1 objects,
// refs in files and no hooks, whatever the defaults of git and the user are. The error is an [*Error].
func InitBare(ctx context.Context, dir, objectFormat string, env []string) error {
	env = append(PlumbingEnv(env), "GIT_DEFAULT_HASH="+objectFormat, "GIT_DEFAULT_REF_FORMAT=files")
	args := []string{"init", "--quiet", "--bare", "--template=", "--", dir}
	_, _, err := Process{Env: env, Args: args}.Run(ctx)
	return err
}
