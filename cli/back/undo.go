package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/travel"
)

// undoDocument is what undo prints with --json.
type undoDocument struct {
	Kind   string     `json:"kind"`
	Undone opDocument `json:"undone"`
	desk.TraveledDocument
	PassedOver []passedDocument `json:"passedOver,omitempty"`
}

// passedDocument is an op that undo without a run passed over.
type passedDocument struct {
	opDocument
	Reason string `json:"reason"`
}

func undoCommand() *arg.Command {
	return &arg.Command{
		Name:    "undo",
		Summary: "take back the newest travel, reset, revert, restore or fork",
		Usage:   []string{"[<run>] [--no-vcs | --yes]"},
		About: `Takes back the newest op of the run that was not taken back yet; without a run, the
newest that was done in this clone. If that is a prune, a fork that has run, or a fork
that a fetch made, undo takes nothing back, and says how the prune or the op before it
is taken back. What was done elsewhere and fetched is passed over and named. ops lists the
ops of a run. Nothing is lost by it either: it is a new frame.

A travel or reset is taken back with the state, attempts and files that were there before
it; what the run has done since is stepped over. A revert or restore is taken back with
the files alone. What is in the working copy and in no frame yet is captured first; at a
terminal, one is asked before untracked files are removed. A fork
is taken back as long as it has not run: it is cancelled, and not listed with its
parent's any more. A run that a live process is running is left alone. So is one
of Smithers in which Smithers itself went back last.

Called again, it takes back the op before. Prints the address of the new frame.`,
		MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "no-vcs", Usage: "leave the files of the working copy as they are"},
			desk.RemovalFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"take back what was done last", "git smithers undo"},
			{"take back what was done last to a run", "git smithers undo triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req := travel.UndoRequest{Run: c.Args().First(), NoFiles: c.Bool("no-vcs")}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runUndo(ctx, s, store, req, c.Bool("yes")) })
		},
	}
}

// runUndo takes an op back.
func runUndo(ctx context.Context, s *session.Session, store *timeline.Store, req travel.UndoRequest, yes bool) error {
	req.Confirm = desk.ConfirmRemoval(s, yes, desk.YesRemoves)
	done, err := desk.Open(s, store).Undo(ctx, req)
	if err != nil {
		return err
	}
	next, err := desk.AfterTravel(ctx, store, done)
	if err != nil {
		return err
	}
	notePassedOver(s, done.PassedOver)
	s.Note("taken back: op %d of %s, %s", done.Undone.Number, plain.Text(done.Run), plain.Text(display.Op(*done.Undone)))
	desk.TellTraveled(ctx, s, store, done, next)
	doc := undoDocument{Kind: "undo", Undone: opDocument{done.Run, *done.Undone}, TraveledDocument: desk.DescribeTraveled(done)}
	for _, passed := range done.PassedOver {
		doc.PassedOver = append(doc.PassedOver, passedDocument{opDocument{passed.Run, passed.Op}, passed.Why})
	}
	return desk.PrintTraveled(s, done, doc)
}

// mostPassed is how many ops people are told of one by one that undo passed over.
const mostPassed = 3

// notePassedOver names the newer ops that were passed over, which were not done here: the first, and the number of the
// others.
func notePassedOver(s *session.Session, passed []travel.PassedOver) {
	for i, one := range passed {
		if i == mostPassed && len(passed) > mostPassed+1 {
			s.Note("passed over: %d more ops", len(passed)-mostPassed)
			return
		}
		reason := "the fork has run"
		switch one.Why {
		case travel.PassedFetched:
			reason = "a fetch made the fork"
		case travel.PassedByEngine:
			reason = "its engine did that"
		case travel.PassedElsewhere:
			reason = "not done here; `git smithers undo " + fault.Word(one.Run) + "` takes it back"
		}
		s.Note("passed over: op %d of %s, %s: %s", one.Op.Number, plain.Text(one.Run), plain.Text(display.Op(one.Op)), reason)
	}
}
