package travel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// PassedOver is an op or a prune that an undo without a run does not take back.
type PassedOver struct {
	Run string
	Op  snapshot.Op // the run's newest op that is not undone; for a prune only its AtMs is set
	Why string      // one of the constants below
}

// The reasons of PassedOver.
const (
	PassedHasRun    = "has_run"   // a fork that has run
	PassedFetched   = "fetched"   // a fork that a fetch made from existing entries
	PassedByEngine  = "engine"    // done by the run's own engine
	PassedElsewhere = "elsewhere" // not done in this clone; an undo that names the run takes it back
	PassedPruned    = "pruned"    // a prune; prune --undo takes it back
	PassedCollected = "collected" // a prune whose objects were collected; no command takes it back
)

// undoable is an op that an undo without a run may take back, or an operation that it leaves alone for the reason in
// Why.
type undoable struct {
	PassedOver     // Why is "" for an op that can be taken back
	line       int // the run's newest line in timeline.DoneHere; 0 if it has none
}

// runToUndo returns the run whose newest op was done last in this clone, if undo can take that op back. passed has
// the newer ops, newest first, that were done elsewhere. Runs that cannot be read are left out, with a warning.
//
// If another operation was done here since that op, the error is undo_refused, because the user would expect that
// operation to be taken back. If no op can be taken back, the error is nothing_to_undo, or undo_refused if a pruned
// run can be brought back.
func runToUndo(ctx context.Context, s *timeline.Store) (run string, passed []PassedOver, err error) {
	lines, err := s.Here().Lines()
	if err != nil {
		return "", nil, timeline.Explain(err)
	}
	all, err := undoableOps(ctx, s, lines)
	if err != nil {
		return "", nil, err
	}
	pruned, err := prunedHere(ctx, s, lines)
	if err != nil {
		return "", nil, timeline.Explain(err)
	}
	all = append(all, pruned...)
	slices.SortStableFunc(all, func(a, b undoable) int {
		return cmp.Or(cmp.Compare(b.line, a.line), cmp.Compare(b.Op.AtMs, a.Op.AtMs))
	})
	var here, elsewhere []PassedOver
	var found *undoable
	for i, one := range all {
		switch {
		case one.line == 0:
			elsewhere = append(elsewhere, one.PassedOver)
		case one.Why == "" && found == nil:
			found = &all[i]
		case found == nil:
			here = append(here, one.PassedOver)
		}
	}
	switch {
	case found == nil && slices.ContainsFunc(here, PassedOver.isPruned), found != nil && len(here) > 0:
		return "", nil, refuseOlder(here, found)
	case found == nil:
		return "", nil, nothingToUndo(append(here, elsewhere...))
	}
	newer := func(one PassedOver) bool { return one.Op.AtMs > found.Op.AtMs }
	return found.Run, slices.DeleteFunc(elsewhere, func(one PassedOver) bool { return !newer(one) }), nil
}

// undoableOps returns the newest op that is not undone of every run with such an op.
func undoableOps(ctx context.Context, s *timeline.Store, lines map[string]int) ([]undoable, error) {
	tips, err := s.Refs().Tips(ctx)
	if _, err = timeline.BrokenRefs(err); err != nil {
		return nil, timeline.Explain(err)
	}
	var out []undoable
	for _, tip := range tips {
		if ctx.Err() != nil {
			return nil, timeline.Explain(ctx.Err())
		}
		one, err := undoableAt(s, tip, lines)
		if err != nil {
			s.Warn(fmt.Errorf("left out: run %s: %w", tip.Component, err))
			continue
		}
		if one.Op.Number > 0 {
			out = append(out, one)
		}
	}
	return out, nil
}

// undoableAt returns the newest op at a tip. Its number is 0 if there is none.
func undoableAt(s *timeline.Store, tip refs.TipRef, lines map[string]int) (undoable, error) {
	entry, err := snapshot.ReadEntry(s.Objects(), tip.ID)
	if err != nil {
		return undoable{}, err
	}
	ops, err := timeline.OpsAt(entry)
	if err != nil {
		return undoable{}, err
	}
	op, ok := newestOp(ops)
	out := undoable{PassedOver: PassedOver{Run: entry.Run, Op: op}}
	if !ok {
		return out, nil
	}
	for _, one := range ops {
		if one.Kind != snapshot.OpUndo && one.UndoneBy == 0 {
			out.line = max(out.line, lines[timeline.OpMark(entry.Run, one)])
		}
	}
	out.Why, err = whyPassed(entry, op)
	if out.Why == "" && lines[timeline.OpMark(entry.Run, op)] == 0 {
		out.Why = PassedElsewhere
	}
	return out, err
}

// whyPassed returns the reason why the newest op of a run cannot be taken back in any clone, or "" if it can.
func whyPassed(entry *snapshot.Entry, op snapshot.Op) (string, error) {
	if op.ByEngine() {
		return PassedByEngine, nil
	}
	if op.Kind != snapshot.OpFork {
		return "", nil
	}
	row, err := entry.RunRow()
	switch {
	case err != nil:
		return "", err
	case row.Parent != nil && !row.Parent.Extension.IsZero():
		return PassedFetched, nil
	case row.StartedAtMs != nil:
		return PassedHasRun, nil
	}
	return "", nil
}

// prunedHere returns the runs that were pruned in this clone and have not been brought back.
func prunedHere(ctx context.Context, s *timeline.Store, lines map[string]int) ([]undoable, error) {
	stones, err := s.Refs().Gone(ctx)
	if _, err = timeline.BrokenRefs(err); err != nil {
		return nil, err
	}
	list, err := s.Refs().Held(ctx)
	if _, err = timeline.BrokenRefs(err); err != nil {
		return nil, err
	}
	held := make(map[string]bool, len(list))
	for _, ref := range list {
		held[ref.Component] = true
	}
	var out []undoable
	for _, stone := range stones {
		line := lines[stone.ID.String()]
		if line == 0 {
			continue
		}
		tombstone, err := snapshot.ReadTombstone(s.Objects(), stone.ID)
		if err != nil {
			s.Warn(fmt.Errorf("left out: tombstone %s: %w", stone.Component, err))
			continue
		}
		one := undoable{PassedOver{Run: tombstone.Run, Op: snapshot.Op{AtMs: tombstone.AtMs}, Why: PassedCollected}, line}
		if held[stone.Component] {
			one.Why = PassedPruned
		}
		out = append(out, one)
	}
	return out, nil
}
