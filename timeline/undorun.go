package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// PassedOver is the newest op of a run that an undo without a run left alone, although it is newer than the op that was
// taken back.
type PassedOver struct {
	Run string
	Op  snapshot.Op
	Why string // PassedHasRun, PassedByEngine or PassedElsewhere
}

// The reasons of PassedOver.
const (
	PassedHasRun    = "has_run"   // a fork that has run
	PassedByEngine  = "engine"    // another engine's own
	PassedElsewhere = "elsewhere" // not done in this clone: an undo that names the run takes it back
)

// runToUndo returns the run with the newest op that was done here and can be taken back. passed has the newer ops that
// an undo leaves alone, the newest first. Runs that cannot be read are left out, with a warning.
func (s *Store) runToUndo(ctx context.Context) (run string, passed []PassedOver, err error) {
	tips, err := s.refs.Tips(ctx)
	if _, err = brokenRefs(err); err != nil {
		return "", nil, Explain(err)
	}
	here, err := s.opsHere()
	if err != nil {
		return "", nil, Explain(err)
	}
	var newest []PassedOver
	for _, tip := range tips {
		if ctx.Err() != nil {
			return "", nil, Explain(ctx.Err())
		}
		one, err := s.newestOpAt(tip)
		if err != nil {
			s.warn(fmt.Errorf("left out: run %s: %w", tip.Component, err))
			continue
		}
		if one.Why == "" && !here[opMark(one.Run, one.Op)] {
			one.Why = PassedElsewhere
		}
		if one.Op.Number > 0 {
			newest = append(newest, one)
		}
	}
	slices.SortStableFunc(newest, func(a, b PassedOver) int { return cmp.Compare(b.Op.AtMs, a.Op.AtMs) })
	for i, one := range newest {
		if one.Why == "" {
			return one.Run, newest[:i], nil
		}
	}
	return "", nil, nothingToUndo(newest)
}

// nothingToUndo is nothing_to_undo for a repository in which the newest op of no run can be taken back.
func nothingToUndo(passed []PassedOver) error {
	err := fault.New(fault.NothingToUndo, "nothing was done here to any run that could be taken back")
	if len(passed) == 0 {
		return err.Hint("travel, reset, revert, restore and fork can be")
	}
	first := passed[0]
	switch first.Why {
	case PassedHasRun:
		err = err.Hint("op %d of run %q is a fork that has run", first.Op.Number, first.Run)
	case PassedByEngine:
		err = err.Hint("op %d of run %q is its engine's own", first.Op.Number, first.Run)
	default:
		err = err.Hint("op %d of run %q was not done here: `git smithers undo %s` takes it back", first.Op.Number, first.Run, fault.Word(first.Run))
	}
	if more := len(passed) - 1; more > 0 {
		err = err.Hint("passed over, too: %d more", more)
	}
	return err
}

// newestOpAt returns the newest op at a tip that was not taken back, with the reason if it cannot be. Its number is 0 if
// there is none.
func (s *Store) newestOpAt(tip refs.TipRef) (PassedOver, error) {
	entry, err := snapshot.ReadEntry(s.objects, tip.ID)
	if err != nil {
		return PassedOver{}, err
	}
	ops, err := OpsAt(entry)
	if err != nil {
		return PassedOver{}, err
	}
	op, ok := newestOp(ops)
	out := PassedOver{Run: entry.Run, Op: op}
	switch {
	case !ok:
	case op.ByEngine():
		out.Why = PassedByEngine
	case op.Kind == snapshot.OpFork:
		row, err := entry.RunRow()
		if err != nil {
			return PassedOver{}, err
		}
		if row.StartedAtMs != nil {
			out.Why = PassedHasRun
		}
	}
	return out, nil
}
