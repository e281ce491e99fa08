package answer

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// warnForeign warns that the engine of a run is not told of a decision, answer or signal that was given in this
// repository. command is the command, without the program, with which people tell Smithers. warnForeign returns
// false, and does not warn, if git-smithers runs the run.
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
