package desk

import (
	"encoding/json"

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
	return func(wf *workflow.Workflow, input json.RawMessage) error { return askForConsent(s, wf, input) }
}

// askForConsent shows the commands of a workflow and asks whether to run them. It returns nil if the person says yes.
// Otherwise, and if the answer cannot be read, it returns unconfirmed.
func askForConsent(s *session.Session, wf *workflow.Workflow, input json.RawMessage) error {
	s.Talk("Workflow %s has never run in this clone. It has these commands:\n", plain.Text(wf.Name))
	for _, line := range app.ConsentLines(wf, input) {
		s.Talk("  %s\n", line)
	}
	yes, err := s.Ask("Run them in this clone?")
	if err == nil && yes {
		return nil
	}
	return fault.New(fault.Unconfirmed, "you did not confirm the commands of workflow %s", wf.Name).
		Hint("nothing was run; answer y, or add --yes, to run the commands")
}

// TrustFilesFlag returns the flag --trust-files, for a command that may run commands on the files of a run from elsewhere.
func TrustFilesFlag() urfave.Flag {
	return &urfave.StringSliceFlag{Name: "trust-files", Usage: "run commands on the files of `RUN` without asking, although this clone has not recorded the run"}
}

// FilesTrust returns what --trust-files says. If there is a terminal to ask at, the person is asked about the files of other runs.
func FilesTrust(s *session.Session, c *urfave.Context) app.FilesTrust {
	out := asksForFiles(s)
	out.TrustFiles = c.StringSlice("trust-files")
	return out
}

// asksForFiles returns a trust in no run, which asks a person if there is a terminal to ask at.
func asksForFiles(s *session.Session) (out app.FilesTrust) {
	if s.CanAsk() {
		out.AskFiles = func(files app.StrangersFiles) error { return askForFiles(s, files) }
	}
	return out
}

// askForFiles asks whether commands may run on the files of a run. It returns nil if the person says yes. Otherwise, and if the answer cannot be
// read, it returns untrusted_files.
func askForFiles(s *session.Session, files app.StrangersFiles) error {
	s.Talk("Run %s was not recorded in this clone. Its files are somebody else's, and the commands run among them.\n", plain.Text(files.Run))
	if len(files.Named) > 0 {
		s.Talk("The commands name these of the files: %s\n", files.NamedText())
	}
	for _, line := range files.Input {
		s.Talk("  %s\n", line)
	}
	yes, err := s.Ask("Run the commands on these files?")
	if err == nil && yes {
		return nil
	}
	return files.Untrusted("you did not confirm the files of run %q").
		Hint("nothing was run; answer y, or add --trust-files %s, to run the commands", fault.Word(files.Run))
}
