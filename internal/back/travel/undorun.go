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

// PassedOver is an op or a prune that an undo without a run leaves alone.
type PassedOver struct {
	Run string      // the run's id
	Op  snapshot.Op // the run's newest op that is not undone; for a prune, only AtMs is set
	Why string      // one of the constants below
}

// The reasons of PassedOver.
const (
	PassedHasRun    = "has_run"   // a fork that has run
	PassedFetched   = "fetched"   // a fork that a fetch made from existing entries
	PassedByEngine  = "engine"    // an op of the engine that executes the run
	PassedElsewhere = "elsewhere" // an op of another clone; an undo that names the run takes the op back
	PassedPruned    = "pruned"    // a prune; prune --undo takes the prune back
	PassedCollected = "collected" // a prune whose objects are collected; no command takes the prune back
)

// undoable is the newest op of a run, or a prune, with its place in the list of this clone.
type undoable struct {
	PassedOver     // Why is "" if an undo without a run may take the op back
	line       int // the run's last line in timeline.DoneHere; 0 if the list has no line of the run
}

// runToUndo returns the run with the op that an undo without a run takes back: the newest op of this clone.
// passed are newer ops of other clones, and older are the older ops of this clone that undo may take back, both newest
// first. runToUndo skips unreadable runs with a warning.
//
// If this clone has a newer operation that undo cannot take back, the error is undo_refused, because the user
// would expect the undo of that operation. If no op can be taken back, the error is nothing_to_undo, or
// undo_refused if prune --undo can restore a pruned run.
func runToUndo(ctx context.Context, s *timeline.Store) (run string, passed, older []PassedOver, err error) {
	lines, err := s.Here().Lines()
	if err != nil {
		return "", nil, nil, timeline.Explain(err)
	}
	all, err := undoableOps(ctx, s, lines)
	if err != nil {
		return "", nil, nil, err
	}
	pruned, err := prunedHere(ctx, s, lines)
	if err != nil {
		return "", nil, nil, timeline.Explain(err)
	}
	all = append(all, pruned...)
	slices.SortStableFunc(all, func(a, b undoable) int {
		return cmp.Or(cmp.Compare(b.line, a.line), cmp.Compare(b.Op.AtMs, a.Op.AtMs))
	})
	var here, elsewhere []PassedOver
	var found *undoable
	for i, one := range all {
		switch {
		case one.line == 0: // an operation of another clone
			elsewhere = append(elsewhere, one.PassedOver)
		case one.Why == "" && found == nil: // the newest op that undo can take back
			found = &all[i]
		case one.Why == "":
			older = append(older, one.PassedOver)
		case found == nil: // a newer operation that undo cannot take back
			here = append(here, one.PassedOver)
		}
	}
	switch {
	case found == nil && slices.ContainsFunc(here, PassedOver.isPruned), found != nil && len(here) > 0:
		return "", nil, nil, refuseOlder(here, found)
	case found == nil:
		return "", nil, nil, nothingToUndo(append(here, elsewhere...))
	}
	newer := func(one PassedOver) bool { return one.Op.AtMs > found.Op.AtMs }
	return found.Run, slices.DeleteFunc(elsewhere, func(one PassedOver) bool { return !newer(one) }), older, nil
}

// undoableOps returns, for every run with an op that is not undone, the newest such op. lines has the line numbers of
// the operations in the list of this clone; see timeline.DoneHere. undoableOps skips unreadable runs with a warning.
func undoableOps(ctx context.Context, s *timeline.Store, lines map[string]int) ([]undoable, error) {
	tips, err := s.Refs().Tips(ctx)
	if _, err = timeline.BrokenRefs(err); err != nil {
		return nil, timeline.Explain(err)
	}
	var out []undoable
	var problems []error
	for _, tip := range tips {
		if ctx.Err() != nil {
			return nil, timeline.Explain(ctx.Err())
		}
		one, err := undoableAt(s, tip, lines)
		if err != nil {
			problems = append(problems, fmt.Errorf("run %s: %w", tip.Component, err))
			continue
		}
		if one.Op.Number > 0 {
			out = append(out, one)
		}
	}
	s.WarnOf(problems)
	return out, nil
}

// undoableAt returns the newest op at tip that is not undone. If the run has no such op, the result's op has the
// number 0. lines has the line numbers of the operations in the list of this clone. The line of the result is the
// highest line number of the run's ops that are not undone. Why is the result of whyPassed. If whyPassed returns
// "" and the op is not in lines, Why is PassedElsewhere.
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

// whyPassed returns the reason why no clone can undo op, the newest op of the run of entry. The reason is
// PassedByEngine for an op of another engine, PassedFetched for a fork that a fetch made, and PassedHasRun for a
// fork that has run. whyPassed returns "" if undo can take the op back.
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

// prunedHere returns the prunes of this clone that are not taken back. Why is PassedPruned if the run is still
// held, and otherwise PassedCollected. lines has the line numbers of the operations in the list of this clone.
// prunedHere skips unreadable tombstones with a warning, and broken refs without a warning.
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
			s.Warn(fmt.Errorf("tombstone %s is unreadable and was left out: %w", stone.Component, err))
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
