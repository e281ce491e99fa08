package tui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// atTerminal is a command that runs at the terminal in place of the view. What it prints stays until a key is pressed.
type atTerminal struct {
	*exec.Cmd

	line string
}

// SetStdin sets where the command reads.
func (c *atTerminal) SetStdin(r io.Reader) { c.Stdin = r }

// SetStdout sets where the command writes.
func (c *atTerminal) SetStdout(w io.Writer) { c.Stdout = w }

// SetStderr sets where the command talks.
func (c *atTerminal) SetStderr(w io.Writer) { c.Stderr = w }

// Run shows the command, runs it, says how it ended, and waits for the end of a line.
func (c *atTerminal) Run() error {
	_, _ = fmt.Fprintf(c.Stdout, "\r\n$ %s\r\n", plain.Text(c.line))
	err := c.Cmd.Run()
	end := "done"
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		end, err = fmt.Sprintf("exit status %d", failed.ExitCode()), nil
	} else if err != nil {
		end = plain.Text(err.Error())
	}
	_, _ = fmt.Fprintf(c.Stdout, "\r\n%s; press Enter to go back to the view ", end)
	_, _ = bufio.NewReader(c.Stdin).ReadString('\n')
	return err
}
