package upkeep

import (
	"context"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
)

// dropDocument is the document of doctor --drop-version-1 --json.
type dropDocument struct {
	Kind   string `json:"kind"`
	Undo   bool   `json:"undo"`
	DryRun bool   `json:"dryRun"`
	*prune.Older
}

// dropOptions has the options of doctor --drop-version-1.
type dropOptions struct{ undo, dryRun bool }

// runDropOlder moves the runs of format 1 out of the way or, if opts.undo is true, back to their places. If opts.dryRun
// is true, it changes nothing, and prints the outcome that it would have. It prints a line for each run, including the
// runs that stay where they are. It then returns the error of the job, if any. If the job fails before it has a result,
// runDropOlder only returns the error.
func runDropOlder(ctx context.Context, s *session.Session, k *prune.Keeper, opts dropOptions) error {
	job := k.DropOlder
	if opts.undo {
		job = k.UndoDrop
	}
	older, err := job(ctx, opts.dryRun)
	if older == nil {
		return err
	}
	if s.JSON {
		if writeErr := s.WriteJSON(dropDocument{"dropVersion1", opts.undo, opts.dryRun, older}); writeErr != nil {
			return writeErr
		}
		return err
	}
	t := term.Table{Header: []string{"RUN", "REFS", "STATE", "NOTE"}}
	moved := 0
	for _, run := range older.Runs {
		state := run.State
		switch {
		case state == prune.OlderKept:
		case opts.dryRun:
			moved++
			state = "would be " + state
		default:
			moved++
		}
		t.Add(term.Cell{Text: run.RunID}, term.Cell{Text: strconv.Itoa(len(run.Refs))}, term.Cell{Text: state}, term.Cell{Text: plain.OneLine(run.Reason)})
	}
	if writeErr := t.Write(s.Terminal); writeErr != nil {
		return writeErr
	}
	noteOlder(s, opts, len(older.Runs), moved)
	return err
}

// noteOlder adds a note to the result of runDropOlder. all is the number of runs of format 1, and moved is the number
// of runs that were moved.
//   - If all is 0, it notes that there are no such runs.
//   - If runs were moved out of the way, it notes their number, the command that moves them back, and the command that
//     frees their space.
//   - Otherwise, for example with opts.dryRun or opts.undo, it notes nothing.
func noteOlder(s *session.Session, opts dropOptions, all, moved int) {
	switch {
	case all == 0 && opts.undo:
		s.Note("no run of format 1 was dropped")
	case all == 0:
		s.Note("no run is in format 1")
	case opts.dryRun || opts.undo || moved == 0:
	default:
		s.Note("dropped %s; `%s --undo` brings them back", plain.Count(moved, "run"), timeline.DropOlder)
		s.Note("`git smithers prune --collect` frees their space for good")
	}
}
