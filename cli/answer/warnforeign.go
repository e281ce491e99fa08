package answer

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// warnForeign warns that another engine does not hear of a decision, answer or signal that was given here, and names the
// command of Smithers that passes it on. It reports whether another engine runs the run.
func warnForeign(s *session.Session, head *timeline.Head, command string) bool {
	engine, err := app.ForeignEngine(head)
	if err != nil {
		s.Warn(err)
	}
	if err != nil || engine == "" {
		return false
	}
	text := app.EngineName(engine) + " does not see this, because it does not read this repository"
	if engine == app.EngineSmithers {
		text += fmt.Sprintf("; `smithers %s` passes it on, and `%s import` imports the result", command, arg.Program)
	}
	s.Warn(errors.New(text))
	return true
}
