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

// noMonitor is the setting with which git starts no program of the user's when it reads an index, which it does
// for history alone, too. No git here trusts what such a program says of the working copy.
const noMonitor = "core.fsmonitor=false"

// Process is one run of git, or of another program, to its end.
type Process struct {
	Program string    // an absolute path; "" is the git on Env's PATH
	Dir     string    // where it runs
	Env     []string  // all of its environment
	Options []string  // the program's own options, which come before Args and which errors leave out
	Args    []string  // what to do
	Stdin   io.Reader // nil: nothing
	Stdout  io.Writer // gets what it writes, as it comes; nil: Run returns it
	Talk    io.Writer // unless it is nil, gets what it says on standard error, as it comes
	// Apart has it run in a process group of its own, so that whoever kills ours leaves it to remove its lock files. It
	// must not need the terminal.
	Apart bool
}

// Run runs the process and returns what it wrote. The error is an *Error. When ctx
// ends, the process is asked to end, and killed if it does not.
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
	// A daemon that it left behind may hold its output open.
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

// Find is the program that a shell would run under env, as an absolute path. The error
// wraps exec.ErrNotFound.
func Find(env []string, name string) (string, error) {
	path, _ := LookupEnv(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // like os/exec, never run what happens to lie in the current directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: %s on PATH %q", exec.ErrNotFound, name, path)
}
