package answer

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// goOn goes on with the run after an answer or a signal if resume is true, git smithers runs the run and no process executes it.
// Otherwise it notes how the run continues, see noteWhoContinues. It tells the user by smithers.notify if the run can go on and nobody goes on
// with it. foreign says that another engine runs the run: goOn then does nothing.
func (to *recipient) goOn(ctx context.Context, foreign, resume bool) (resumed bool, err error) {
	if foreign {
		return false, nil
	}
	owner := to.store.Owner(to.head.Row())
	switch {
	case owner.Live || owner.Elsewhere:
	case resume:
		return true, requests.ResumeAnswered(ctx, to.Session, to.store, to.head)
	case !to.TalksToPerson(): // a person at a terminal reads the note below
		requests.Open(to.Session, to.store).NotifyReady(ctx, to.head)
	}
	if !to.JSON {
		to.noteWhoContinues(ctx)
	}
	return false, nil
}

// noteWhoContinues tells the user how a run continues after it has received an answer or a signal. There are four cases:
//   - A live process executes the run. This process continues the run.
//   - The run has finished. The answer or signal has no effect.
//   - The run has failed or was cancelled. The answer or signal is kept for `resume`.
//   - In all other cases, the note has the command that continues the run, or the run that has called it. If this command cannot be found,
//     noteWhoContinues warns.
func (to *recipient) noteWhoContinues(ctx context.Context) {
	head := to.head
	row := head.Row()
	owner, id := to.store.Owner(row), plain.Text(row.ID)
	switch {
	case owner.Live:
		to.Note("the process that runs %s continues the run", id)
	case !row.Status.Ended() && owner.Elsewhere:
		to.Note("a process in another clone has claimed run %s: `%s push` takes the answer or signal there", id, arg.Program)
	case row.Status == snapshot.RunFinished:
		to.Note("run %s has already finished, so the answer or signal has no effect on the run", id)
	case row.Status.Ended():
		to.Note("run %s has the status %s; the answer or signal is kept and used by `%s resume %s`",
			id, plain.Text(string(row.Status)), arg.Program, fault.Word(row.ID))
	default:
		if caller, err := app.CalledBy(ctx, to.store, row); err != nil {
			to.Warn(err)
		} else if caller != nil {
			head = caller // whose resume continues this run, too
		}
		next, err := app.NextCommand(head, ", or a supervisor, continues the run"+requests.InOwnWorktree(to.Session, to.store, head))
		if err != nil {
			to.Warn(err)
			return
		}
		to.Note("%s", next)
	}
}
