package answer

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// warnForeign returns false if git-smithers runs the run of head. If another engine runs the run, it warns that this
// engine was not told of a decision, answer or signal, and returns true. command is the command, without the program,
// with which people tell Smithers. If the engine cannot be read, warnForeign warns about the error and returns false.
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
