package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// passedDocument describes an operation that undo skipped, in the document of undo. Only an undo without a run skips
// operations.
type passedDocument struct {
	opDocument
	Reason string `json:"reason"`
}

func undoCommand() *arg.Command {
	return &arg.Command{
		Name:    "undo",
		Summary: "take back the newest travel, reset, restore, landing or fork",
		Usage:   []string{"[<run>] [--no-vcs | --yes] [--force]"},
		About: `Takes back the newest operation of the run that has not been taken back; without a run, the
newest operation in this clone. undo cannot take back a prune, a fork that has run, or a
fork made by a fetch: it changes nothing and names the command to use. Operations done
elsewhere and fetched are skipped and named. ops lists the operations of a run. undo makes a
new frame, so nothing is lost.

If the operation is a travel or reset, undo restores the state, attempts and files from
before it; the frames made since are dropped from the timeline. If it is a revert or
restore, undo restores only the files; for a landing, the files that it changed, the branch
and the index. Unsaved changes are saved as a frame first; at a terminal, undo asks before it
removes untracked files. A fork that has not run is cancelled and no longer listed below its
parent. A run is refused if a live process is running it, if another clone has claimed it and
its newest entry is less than an hour old (--force goes on), or if Smithers itself went back
in it last.

A second undo takes back the operation before. Prints the address of the new frame.`,
		MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "no-vcs", Usage: "leave the files of the working copy as they are"},
			requests.RemovalFlag(), requests.TrustFilesFlag(),
			forceFlag(""),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"take back the newest operation in this clone", "git smithers undo"},
			{"take back the newest operation of a run", "git smithers undo triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req := travel.UndoRequest{Run: c.Args().First(), NoFiles: c.Bool("no-vcs"), Force: c.Bool("force")}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runUndo(ctx, s, store, req, c.Bool("yes")) })
		},
	}
}

// runUndo takes an operation back and prints the address of the new frame. It also notes this operation, the newer
// operations that undo skipped, and how to continue the run. If yes is true, it removes untracked files without asking.
func runUndo(ctx context.Context, s *session.Session, store *timeline.Store, req travel.UndoRequest, yes bool) error {
	req.Confirm = requests.ConfirmRemoval(s, yes, requests.YesRemoves)
	done, err := requests.Open(s, store).Undo(ctx, req)
	if err != nil {
		return err
	}
	next, err := requests.AfterTravel(ctx, store, done)
	if err != nil {
		return err
	}
	notePassedOver(s, done.PassedOver)
	s.Note("taken back: op %d of %s, %s", done.Undone.Number, plain.Text(done.Run), plain.Text(display.Op(*done.Undone)))
	requests.TellTraveled(ctx, s, store, done, next)
	return requests.PrintTraveled(s, done, undoDocument(done))
}

// undoDocument returns the document of undo --json.
func undoDocument(done *travel.Result) any {
	var passedOver []passedDocument
	for _, passed := range done.PassedOver {
		passedOver = append(passedOver, passedDocument{opDocument{passed.Run, passed.Op}, passed.Why})
	}
	return term.Document("undo", term.Member("undone", opDocument{done.Run, *done.Undone}), requests.DescribeTraveled(done), term.Optional("passedOver", passedOver))
}

// mostPassed is how many operations notePassedOver lists before it only counts the others.
const mostPassed = 3

// notePassedOver notes each operation that undo skipped, with the reason. If undo skipped more than mostPassed+1
// operations, notePassedOver notes only the first mostPassed operations, and the number of the others.
func notePassedOver(s *session.Session, passed []travel.PassedOver) {
	for i, one := range passed {
		if i == mostPassed && len(passed) > mostPassed+1 {
			s.Note("skipped %d more operations", len(passed)-mostPassed)
			return
		}
		reason := "the fork has run"
		switch one.Why {
		case travel.PassedFetched:
			reason = "a fetch made the fork"
		case travel.PassedByEngine:
			reason = "the engine that runs the run made this operation"
		case travel.PassedElsewhere:
			reason = "not done in this clone; `git smithers undo " + fault.Word(one.Run) + "` takes it back"
		}
		s.Note("skipped op %d of %s, %s: %s", one.Op.Number, plain.Text(one.Run), plain.Text(display.Op(one.Op)), reason)
	}
}
