package answer

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
)

// warnForeign reports whether another engine runs the run. If so, it warns that this other engine does not
// know the user's decision, answer or signal. For Smithers, the warning also shows the command that tells Smithers:
// command is this command line without the leading `smithers`. If the engine's name cannot be read, warnForeign warns
// about the read error and returns false. LangGraph reads the answers in this repository.
func (to *recipient) warnForeign(command string) bool {
	engine, err := app.ForeignEngine(to.head)
	if err != nil {
		to.Warn(err)
	}
	if err != nil || engine == "" || engine == langgraph.EngineName {
		return false
	}
	text := app.EngineName(engine) + " was not told, because it does not read this repository"
	if engine == app.EngineSmithers {
		text += fmt.Sprintf("; `smithers %s` tells Smithers, and `%s import` imports the result", command, arg.Program)
	}
	to.Warn(errors.New(text))
	return true
}
