package agents

import (
	"os"
	"os/exec"

	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/procgroup"
	"github.com/git-smithers/git-smithers/peer/agent/retention"
)

// startRetention starts a process that prunes old sessions, if no round has begun for a day. The process outlives this one, and says
// nothing. private is the store's private folder.
func startRetention(s *session.Session, private string) {
	if !retention.Due(private, s.Now()) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self, "prune", "--sessions", "--quiet") //nolint:gosec,noctx // this program, which outlives the hook
	cmd.Args[0] = "git-smithers"
	cmd.Dir, cmd.Env = s.Dir, s.Env
	procgroup.Detach(cmd)
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}
