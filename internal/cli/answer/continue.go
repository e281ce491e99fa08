package answer

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// goOn goes on with the run of head after an answer or a signal if resume is true, git smithers runs the run and no process executes it.
// Otherwise it notes how the run continues, see noteWhoContinues. It tells the user by smithers.notify if the run can go on and nobody goes on
// with it. foreign says that another engine runs the run: goOn then does nothing.
func goOn(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head, foreign, resume bool) (resumed bool, err error) {
	if foreign {
		return false, nil
	}
	owner := store.Owner(head.Row())
	switch {
	case owner.Live || owner.Elsewhere:
	case resume:
		return true, requests.ResumeAnswered(ctx, s, store, head)
	case !s.TalksToPerson(): // a person at a terminal reads the note below
		requests.Open(s, store).NotifyReady(ctx, head)
	}
	if !s.JSON {
		noteWhoContinues(ctx, s, store, head, owner.Live)
	}
	return false, nil
}

// withStore opens the store for a command that answers and, if resume is true, then goes on with the run.
func withStore(ctx context.Context, s *session.Session, resume bool, f func(*timeline.Store) error) error {
	if resume {
		return s.WithLog(ctx, f)
	}
	return s.WithStore(ctx, f)
}

// noteWhoContinues tells the user how a run continues after it has received an answer or a signal. running is true if a
// live process executes the run. There are four cases:
//   - A live process executes the run. This process continues the run.
//   - The run has finished. The answer or signal has no effect.
//   - The run has failed or was cancelled. The answer or signal is kept for `resume`.
//   - In all other cases, the note has the command that continues the run, or the run that has called it. If this command cannot be found,
//     noteWhoContinues warns.
func noteWhoContinues(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head, running bool) {
	row := head.Row()
	id := plain.Text(row.ID)
	switch {
	case running:
		s.Note("the process that runs %s continues the run", id)
	case !row.Status.Ended() && store.Owner(row).Elsewhere:
		s.Note("a process in another clone has claimed run %s: `%s push` takes the answer or signal there", id, arg.Program)
	case row.Status == snapshot.RunFinished:
		s.Note("run %s has already finished, so the answer or signal has no effect on the run", id)
	case row.Status.Ended():
		s.Note("run %s has the status %s; the answer or signal is kept and used by `%s resume %s`",
			id, plain.Text(string(row.Status)), arg.Program, fault.Word(row.ID))
	default:
		if caller, err := app.CalledBy(ctx, store, row); err != nil {
			s.Warn(err)
		} else if caller != nil {
			head = caller // whose resume continues this run, too
		}
		next, err := app.NextCommand(head, ", or a supervisor, continues the run"+requests.InOwnWorktree(s, store, head))
		if err != nil {
			s.Warn(err)
			return
		}
		s.Note("%s", next)
	}
}

// ownWorktree returns the result of app.OwnWorktree for a document. If the worktree cannot be read, it warns and returns
// nil: the answer is stored.
func ownWorktree(s *session.Session, store *timeline.Store, head *timeline.Head) *string {
	own, err := app.OwnWorktree(store, head)
	if err != nil {
		s.Warn(err)
	}
	return own
}
