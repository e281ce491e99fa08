package requests

import (
	"os"
	"os/exec"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/procgroup"
)

// NotifyCommand is the name of the hidden command that delivers notices.
const NotifyCommand = "__notify"

// Courier returns a function that starts a process which delivers the notices that wait. See app.Desk.
func Courier(s *session.Session) func() error {
	return func() error { return StartDetached(s, NotifyCommand, "--quiet") }
}

// tracesCommand are the words of the command that sends the traces that wait.
var tracesCommand = []string{"traces", "--send", "--quiet"}

// Collector returns a function that starts a process which sends the traces that wait, or nil if the environment names no collector. See app.Desk.
func Collector(s *session.Session) func() error {
	if !telemetry.Wanted(s.Env, telemetry.Traces) {
		return nil
	}
	return func() error { return StartDetached(s, tracesCommand...) }
}

// StartDetached starts this program with other arguments, in the folder of the command line. The process outlives this
// one and its terminal, and says nothing.
func StartDetached(s *session.Session, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...) //nolint:gosec,noctx // this program, which outlives the command
	cmd.Args[0] = "git-smithers"
	cmd.Dir, cmd.Env = s.Dir, s.Env
	procgroup.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
