package requests

import (
	"errors"
	"os"
	"os/exec"

	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// BecomeDesk runs git-smithers-desk at the same terminal, and ends this process with its exit status. It returns only with an error.
// Code: view_missing.
func BecomeDesk(s *session.Session, args ...string) error {
	path, err := findDesk()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)                                                                 //nolint:gosec,noctx // our own program; it ends when the person leaves it
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, os.Stdin, os.Stdout, os.Stderr //nolint:forbidigo // the console itself, which the program draws on
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err == nil || ok {
		os.Exit(cmd.ProcessState.ExitCode()) //nolint:forbidigo // Windows replaces no process: this one has the status of the other
	}
	return err
}
