package notify

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Setting is the name of the setting with the command.
const Setting = "smithers.notify"

// isSet reports whether any configuration of the store has the setting, also one that does not count.
func isSet(s *timeline.Store) bool {
	_, ok := s.Repo().Config.Get(Setting)
	return ok
}

// command returns the user's command, or "" if there is none. The user's own configuration says it: that of the system
// or of the user, or the command line of git. A repository may come from a stranger, so its configuration must not name
// a command: command ignores the value, and ignored is true. An empty value in the repository's configuration switches
// the user's command off.
func command(ctx context.Context, s *timeline.Store) (line string, ignored bool, err error) {
	if !isSet(s) {
		return "", false, nil
	}
	out, err := gitexec.New(s.Repo(), s.Env()).Run(ctx, "config", "--show-scope", "-z", "--get-all", Setting)
	if err != nil {
		return "", false, fmt.Errorf("%s cannot be read: %w", Setting, timeline.Explain(err))
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(words); i += 2 { // git prints the weakest scope first
		switch scope, value := words[i], strings.TrimSpace(words[i+1]); scope {
		case "system", "global", "command":
			line = value
		default: // local and worktree, and whatever a newer git adds; git says local also of a file that local includes
			if value != "" {
				ignored = true
				continue
			}
			line = ""
		}
	}
	return line, ignored, nil
}

// refusal is the warning about a value in the repository's configuration.
func refusal() error {
	return fault.New(fault.Usage, "%s in the configuration of this repository is ignored: only your own configuration may name a command", Setting).
		Hint("`git config --global smithers.notify COMMAND` sets the command for all repositories")
}
