package requests

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// ResumeFlag returns the flag --resume of the commands that answer.
func ResumeFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "resume", Usage: "then go on with the run, as resume does, unless a process executes it"}
}

// ResumeAnswered goes on with the run of head after an answer, or with the run that has called it, and prints the result as resume does.
func ResumeAnswered(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head) error {
	run := head.Row().ID
	if caller, err := app.CalledBy(ctx, store, head.Row()); err != nil {
		return err
	} else if caller != nil {
		run = caller.Row().ID
	}
	NoteUnmasked(s, store)
	settings := app.Settings{MaxParallel: defaultParallel, Consent: Consenter(s, false), FilesTrust: asksForFiles(s)}
	done, err := Open(s, store).Resume(ctx, app.ResumeRequest{Run: run, Change: AskForChange(s), Settings: settings})
	if done == nil {
		return err
	}
	return TellResult(s, done.Result, err, DescribeResult("result", done.Result))
}
