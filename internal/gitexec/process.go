package gitexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
)

// noMonitor is the setting that keeps git from starting the user's file system monitor. Without it, git starts the
// monitor whenever it reads an index, even for a command that reads only history. Only a Process with Monitor leaves
// noMonitor out.
const noMonitor = "core.fsmonitor=false"

// Process describes one run of git or of another program.
type Process struct {
	Program string    // an absolute path; "" means the git on Env's PATH
	Dir     string    // the directory in which the program runs; "" means the directory of this process
	Env     []string  // the whole environment of the program
	Options []string  // the program's own options, which precede Args and are left out of errors
	Args    []string  // the command
	Stdin   io.Reader // nil means no input
	Stdout  io.Writer // receives the output at once; if nil, Run returns the output
	Talk    io.Writer // if not nil, receives the standard error at once
	// Monitor lets git ask the file system monitor that the user has configured, if any, which files
	// have changed.
	Monitor bool
	// Apart runs the process in a process group of its own. If a signal ends the process group of this program, the
	// process can still remove its lock files. A process with Apart must not need the terminal.
	Apart bool
}

// Run runs the process until it ends, and returns its standard output and its standard error. If p.Stdout is set,
// stdout is empty. The error is an [*Error] if the process did not run or failed. When ctx ends, the process is asked
// to end, and is killed if it still runs after killDelay. The error then wraps the cause of ctx's end.
func (p Process) Run(ctx context.Context) (stdout, stderr []byte, err error) {
	name := ""
	if p.Program != "" {
		name = filepath.Base(p.Program)
	}
	cmd, err := p.command(ctx)
	if err != nil {
		return nil, nil, &Error{Program: name, Args: p.Args, Status: -1, Err: err}
	}
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, &out, &said
	if p.Stdout != nil {
		cmd.Stdout = p.Stdout
	}
	if p.Talk != nil {
		cmd.Stderr = io.MultiWriter(&said, p.Talk)
	}
	err = cmd.Run()
	// If the process has started a daemon, the daemon may keep the output open. This is not a failure.
	if err == nil || (errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success()) {
		return out.Bytes(), said.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	failed := NewError(p.Args, cmd.ProcessState, said.String(), err)
	failed.Program = name
	return out.Bytes(), said.Bytes(), failed
}

// command returns the command that runs the process. The caller sets the command's streams. The error wraps ErrNoGit
// if git is not on PATH.
func (p Process) command(ctx context.Context) (*exec.Cmd, error) {
	program := p.Program
	if program == "" {
		var err error
		if program, err = Find(p.Env, "git"); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
		}
	}
	options := slices.Clip(p.Options)
	if p.Program == "" && !p.Monitor {
		options = append([]string{"-c", noMonitor}, options...)
	}
	cmd := exec.CommandContext(ctx, program, append(options, p.Args...)...)
	cmd.Dir, cmd.Env = p.Dir, AbsolutePaths(p.Env)
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
	if p.Apart {
		setApart(cmd)
	}
	return cmd, nil
}

// Find returns the absolute path of the program that a shell would run for name under env. Unlike a shell, Find
// ignores relative folders on PATH. The error wraps exec.ErrNotFound.
func Find(env []string, name string) (string, error) {
	path, _ := LookupEnv(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // like os/exec, Find never returns a program of the current directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: %s on PATH %q", exec.ErrNotFound, name, path)
}
