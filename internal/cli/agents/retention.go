package agents

import (
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent/retention"
)

// startRetention starts a process that prunes old sessions, if no round has begun for a day. The process outlives this one, and says
// nothing. private is the store's private folder.
func startRetention(s *session.Session, private string) {
	if !retention.Due(private, s.Now()) {
		return
	}
	_ = requests.StartDetached(s, "prune", "--sessions", "--quiet") // then the next session's end starts it
}
