package notify

import (
	"context"
	"fmt"

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

// command returns the user's command, see [gitexec.Repo.OwnCommand].
func command(ctx context.Context, s *timeline.Store) (line string, ignored bool, err error) {
	line, ignored, err = s.Repo().OwnCommand(ctx, Setting, s.Env())
	if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", Setting, timeline.Explain(err))
	}
	return line, ignored, err
}

// refusal is the warning about a value in the repository's configuration.
func refusal() error {
	return fault.New(fault.Usage, "%s in the configuration of this repository is ignored: only your own configuration may name a command", Setting).
		Hint("`git config --global smithers.notify COMMAND` sets the command for all repositories")
}
