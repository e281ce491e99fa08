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

// noMonitor is the setting that keeps git from starting a user's file system monitor when it reads
// an index, even for history alone. No git here trusts such a program about the working copy.
const noMonitor = "core.fsmonitor=false"

// Process is one run of git, or of another program, to its end.
type Process struct {
	Program string    // an absolute path; "" means the git on Env's PATH
	Dir     string    // the directory in which it runs
	Env     []string  // its whole environment
	Options []string  // the program's own options, which precede Args and are left out of errors
	Args    []string  // the command
	Stdin   io.Reader // nil means no input
	Stdout  io.Writer // receives the output at once; if nil, Run returns the output
	Talk    io.Writer // if not nil, receives the standard error at once
	// Apart runs the process in a process group of its own. If a signal kills our group, the
	// process can still remove its lock files. It must not need the terminal.
	Apart bool
}

// Run runs the process and returns its output. The error is an *Error. When ctx ends, the process
// is asked to end, and killed if it does not.
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
	// A daemon that it has started may keep its output open.
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

func (p Process) command(ctx context.Context) (*exec.Cmd, error) {
	program := p.Program
	if program == "" {
		var err error
		if program, err = Find(p.Env, "git"); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
		}
	}
	options := slices.Clip(p.Options)
	if p.Program == "" {
		options = append([]string{"-c", noMonitor}, options...)
	}
	cmd := exec.CommandContext(ctx, program, append(options, p.Args...)...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = killDelay
	if p.Apart {
		setApart(cmd)
	}
	return cmd, nil
}

// Find returns the absolute path of the program that a shell would run under env. The error wraps
// exec.ErrNotFound.
func Find(env []string, name string) (string, error) {
	path, _ := LookupEnv(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // like os/exec, never run a program of the current directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: %s on PATH %q", exec.ErrNotFound, name, path)
}
