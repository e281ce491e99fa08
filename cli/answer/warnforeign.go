package answer

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// warnForeign warns if another engine runs the run of head, and returns true. The warning says that this engine was not
// told of a decision, answer or signal. If the engine is Smithers, the warning includes command: the command line of
// Smithers that tells it, without the program. warnForeign returns false if no other engine runs the run. If the engine
// cannot be read, it warns about this error and returns false.
func warnForeign(s *session.Session, head *timeline.Head, command string) bool {
	engine, err := app.ForeignEngine(head)
	if err != nil {
		s.Warn(err)
	}
	if err != nil || engine == "" {
		return false
	}
	text := app.EngineName(engine) + " was not told, because it does not read this repository"
	if engine == app.EngineSmithers {
		text += fmt.Sprintf("; `smithers %s` tells Smithers, and `%s import` imports the result", command, arg.Program)
	}
	s.Warn(errors.New(text))
	return true
}
