package requests

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/diff/align"
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
	return func(of app.Commands) error { return askForConsent(s, of) }
}

// askForConsent shows the commands of a workflow that are new in this clone and asks whether to run them. It returns nil if the person says yes.
// Otherwise, and if the answer cannot be read, it returns unconfirmed.
func askForConsent(s *session.Session, of app.Commands) error {
	name, lines := plain.Text(of.Workflow.Name), of.Lines()
	switch {
	case of.Known == nil:
		s.Talk("Workflow %s has never run in this clone. It has these commands:\n", name)
	case len(lines) > 0:
		s.Talk("Workflow %s has changed since it ran in this clone. New is:\n", name)
	default:
		s.Talk("Workflow %s has changed since it ran in this clone. It has no new commands.\n", name)
	}
	talkLines(s, lines)
	yes, err := s.Ask("Run them in this clone?")
	if err == nil && yes {
		return nil
	}
	return fault.New(fault.Unconfirmed, "you did not confirm the commands of workflow %s", of.Workflow.Name).
		Hint("nothing was run; answer y, or add --yes, to run the commands")
}

// talkLines shows lines, indented.
func talkLines(s *session.Session, lines []string) {
	for _, line := range lines {
		s.Talk("  %s\n", line)
	}
}

// AskForChange returns the function that shows how a workflow has changed, and asks whether a run continues with it. If there is no terminal to ask
// at, the result is nil, which refuses.
func AskForChange(s *session.Session) app.ChangeConsenter {
	if !s.CanAsk() {
		return nil
	}
	return func(run string, of app.Commands) bool {
		s.Talk("The workflow file differs from the definition stored in run %s:\n", plain.Text(run))
		talkLines(s, changedLines(plain.Folded(string(of.Known.Text())), plain.Folded(string(of.Workflow.Text())), display.GlyphsOf(s.Terminal).Dots))
		if lines := of.Lines(); len(lines) > 0 {
			s.Talk("New is:\n")
			talkLines(s, lines)
		}
		yes, err := s.Ask("Continue with the new definition?")
		return err == nil && yes
	}
}

// changedLines returns the lines that two texts do not share, marked by - and +, with three lines around them. dots stands for lines left out.
func changedLines(was, now []string, dots string) (out []string) {
	const around = 3
	pairs := align.Sequences(was, now)
	last := 0 // the end of the lines shown
	for i, p := range pairs {
		if p.A != align.None && p.B != align.None {
			continue
		}
		for ; last < min(len(pairs), i+around+1); last++ {
			if last < i-around {
				last = i - around
				out = append(out, dots)
			}
			switch p := pairs[last]; {
			case p.B == align.None:
				out = append(out, "- "+was[p.A])
			case p.A == align.None:
				out = append(out, "+ "+now[p.B])
			default:
				out = append(out, "  "+was[p.A])
			}
		}
	}
	return out
}

// TrustFilesFlag returns the flag --trust-files, for a command that may run commands on the files of a run from elsewhere.
func TrustFilesFlag() urfave.Flag {
	return arg.TextsFlag("trust-files", "run commands on the files of `RUN` without asking, although this clone has not recorded the run")
}

// FilesTrust returns what --trust-files says. If there is a terminal to ask at, the person is asked about the files of other runs.
func FilesTrust(s *session.Session, c *urfave.Context) app.FilesTrust {
	out := asksForFiles(s)
	out.TrustFiles = arg.Texts(c, "trust-files")
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
	talkLines(s, files.Input)
	yes, err := s.Ask("Run the commands on these files?")
	if err == nil && yes {
		return nil
	}
	return files.Untrusted("you did not confirm the files of run %q").
		Hint("nothing was run; answer y, or add --trust-files %s, to run the commands", fault.Word(files.Run))
}
