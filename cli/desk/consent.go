package desk

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ConfirmFlag returns the flag --yes, for a command that may run a workflow whose file the user did not name.
func ConfirmFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "run the workflow's commands without asking, even if they never ran in this clone"}
}

// Consenter returns the function that asks the user for consent to run a workflow. If yes is true, the user has already
// consented, and the result is app.Agreed. If yes is false and there is no terminal to ask at, the result is nil, which
// refuses consent.
func Consenter(s *session.Session, yes bool) app.Consenter {
	if yes {
		return app.Agreed
	}
	if !s.CanAsk() {
		return nil
	}
	return func(wf *workflow.Workflow) error { return askForConsent(s, wf) }
}

// askForConsent shows the commands of a workflow and asks whether to run them. It returns nil if the person says yes.
// Otherwise, and if the answer cannot be read, it returns unconfirmed.
func askForConsent(s *session.Session, wf *workflow.Workflow) error {
	s.Talk("Workflow %s has never run in this clone. It has these commands:\n", plain.Text(wf.Name))
	for _, line := range app.ConsentLines(wf) {
		s.Talk("  %s\n", line)
	}
	yes, err := s.Ask("Run them in this clone?")
	if err == nil && yes {
		return nil
	}
	return fault.New(fault.Unconfirmed, "you did not confirm the commands of workflow %s", wf.Name).
		Hint("nothing was run; answer y, or add --yes, to run the commands")
}
