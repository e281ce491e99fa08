package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mayStart asks a person whether the agent may be started on another course. What this clone has not recorded is a stranger's: its files can have
// settings with commands, and the agent obeys its conversation. Code: unconfirmed if the person says no.
// With smithers.sandbox = required, it is not started at all: an agent runs in no sandbox.
func mayStart(s *session.Session, c *agent.Course, yes, required bool) error {
	switch {
	case c.Recorded:
		return nil
	case required:
		return fault.New(fault.Unconfirmed, "smithers.sandbox is required, and an agent is not started in a sandbox on a session of somebody else").
			Hint("the course is there: `%s`", startLine(c))
	case yes:
		return nil
	}
	s.Talk("Session %s was not recorded in this clone. The agent will obey its conversation, and run what settings in its files say.\n", plain.Text(c.From.Run))
	s.Talk("The files are in %s, and nothing of them was run.\n", plain.Text(c.Dir))
	command := startLine(c)
	answer, err := s.Ask("Start the agent on them?")
	if err == nil && answer {
		return nil
	}
	return fault.New(fault.Unconfirmed, "you did not confirm that the agent is started on a session of somebody else").
		Hint("the course is there: `%s`", command)
}

// startLine returns the command line that starts the agent on a course.
func startLine(c *agent.Course) string {
	return fmt.Sprintf("%s && %s", fault.CommandLine("cd", c.Dir), fault.CommandLine(c.Command[0], c.Command[1:]...))
}

// start runs the agent on a course at the terminal, until it ends. How the agent ends is not an error of this command. Code: not_found if the
// agent is not installed.
func start(ctx context.Context, s *session.Session, c *agent.Course) error {
	command := startLine(c)
	program, err := gitexec.Find(s.Env, c.Command[0])
	if err != nil {
		return fault.New(fault.Usage, "%s is not installed, or not on PATH", c.Command[0]).Hint("the course is there: `%s`", command)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, c.Command[1:]...) //nolint:gosec // the agent that the session names
	cmd.Dir, cmd.Env = c.Dir, s.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.RawIn(), s.RawOut(), s.Err
	keys := make(chan os.Signal, 1)
	// The channel is never read: Ctrl-C is one of the agent's keys.
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	err = cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return nil
	}
	return err
}
