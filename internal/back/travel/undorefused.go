package travel

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	passedNamed = 3  // the maximal number of groups of operations that an error describes
	runsInLine  = 20 // the maximal number of runs in a command of a hint
)

// refuseOlder returns undo_refused for an undo without a run. passed has the operations of this clone that the
// undo cannot take back, newest first. older is the next older operation, which undo can take back, or nil. The
// hints name the commands that take these operations back.
func refuseOlder(passed []PassedOver, older *undoable) error {
	groups := groupPrunes(passed)
	err := fault.New(fault.UndoRefused, "undo cannot take back the last operation of this clone: %s", describePassed(groups[0]))
	for i, group := range groups[:min(len(groups), passedNamed)] {
		hint := takesBack(group)
		if i > 0 {
			// If no command takes the group back, the hint is the description alone.
			hint = strings.TrimSuffix("before that, "+describePassed(group)+": "+hint, ": ")
		}
		if hint != "" {
			err = err.Hint("%s", hint)
		}
	}
	if more := len(groups) - passedNamed; more > 0 {
		err = err.Hint("undo cannot take back %s either", plain.Count(more, "older operation"))
	}
	if older != nil {
		err = hintUndo(err, older.PassedOver).Detail("runId", older.Run).Detail("op", older.Op.Number)
	}
	return err.Detail("passedOver", passedDetails(passed))
}

// hintUndo adds to err the command that takes back an older operation.
func hintUndo(err *fault.Error, older PassedOver) *fault.Error {
	return err.Hint("`git smithers undo %s` takes back an older operation: op %d of run %q, %s",
		fault.Word(older.Run), older.Op.Number, older.Run, describeOp(older.Op))
}

// mostLandings is how many older landings hintOlder checks. Every check runs git.
const mostLandings = 10

// hintOlder adds to refused, the error of an undo without a run, the command that takes back the next older operation. It
// passes over landings that were committed or cannot be taken back for another reason: otherwise, nothing would lead to
// the operations before them. older has the older operations, newest first.
func hintOlder(ctx context.Context, s *timeline.Store, refused *fault.Error, older []PassedOver) *fault.Error {
	landings := 0
	for _, one := range older {
		if one.Op.Kind == snapshot.OpLand {
			if landings++; landings > mostLandings {
				return refused
			}
			head, err := s.Head(ctx, one.Run)
			if err == nil {
				_, err = land.NewTakeBack(ctx, s, head, one.Op)
			}
			if err != nil {
				continue
			}
		}
		return hintUndo(refused, one)
	}
	return refused
}

// nothingToUndo returns nothing_to_undo for an undo without a run, if this clone has no op to undo. passed has the
// operations that the undo leaves alone: first those of this clone, newest first, and then those of other clones. The
// hints describe the first operation, and count the others.
func nothingToUndo(passed []PassedOver) error {
	err := fault.New(fault.NothingToUndo, "this clone has no operation to undo")
	if len(passed) == 0 {
		return err.Hint("undo takes back a travel, reset, revert, restore, landing or fork")
	}
	groups := groupPrunes(passed)
	hint := describePassed(groups[0])
	if back := takesBack(groups[0]); back != "" {
		hint += ": " + back
	}
	err = err.Hint("%s", hint)
	if more := len(groups) - 1; more > 0 {
		err = err.Hint("without a run, undo cannot take back %s either", plain.Count(more, "other operation"))
	}
	return err.Detail("passedOver", passedDetails(passed))
}

// isPruned reports whether p is a prune that prune --undo can take back.
func (p PassedOver) isPruned() bool { return p.Why == PassedPruned }

// groupPrunes splits passed into groups: consecutive prunes with the same reason are one group, and every op
// is its own group.
func groupPrunes(passed []PassedOver) [][]PassedOver {
	var groups [][]PassedOver
	for i, one := range passed {
		last := len(groups) - 1
		// A prune is not an op, so its number is 0.
		if i > 0 && one.Op.Number == 0 && one.Why == passed[i-1].Why {
			groups[last] = append(groups[last], one)
			continue
		}
		groups = append(groups, []PassedOver{one})
	}
	return groups
}

// describePassed returns a clause that describes a group of operations and the reason why an undo without a run leaves
// these operations alone.
func describePassed(group []PassedOver) string {
	one := group[0]
	switch one.Why {
	case PassedHasRun:
		return fmt.Sprintf("op %d of run %q is a fork that has run", one.Op.Number, one.Run)
	case PassedFetched:
		return fmt.Sprintf("run %q is a fork that a fetch made", one.Run)
	case PassedByEngine:
		return fmt.Sprintf("op %d of run %q was made by the engine that executes the run", one.Op.Number, one.Run)
	case PassedElsewhere:
		return fmt.Sprintf("op %d of run %q was not made in this clone", one.Op.Number, one.Run)
	}
	what := "pruned"
	if !one.isPruned() {
		what = "pruned and collected, for good"
	}
	if len(group) == 1 {
		return fmt.Sprintf("run %q was %s", one.Run, what)
	}
	return fmt.Sprintf("%d runs were %s", len(group), what)
}

// takesBack returns a hint with the command that takes a group of operations back, or "" if no command takes the
// group back. For prunes, the command names at most runsInLine runs.
func takesBack(group []PassedOver) string {
	switch one := group[0]; {
	case one.Why == PassedElsewhere:
		return fmt.Sprintf("`git smithers undo %s` takes back op %d of run %q", fault.Word(one.Run), one.Op.Number, one.Run)
	case !one.isPruned():
		return ""
	}
	words := []string{"git smithers prune --undo"}
	for _, run := range group[:min(len(group), runsInLine)] {
		words = append(words, fault.Word(run.Run))
	}
	command := strings.Join(words, " ")
	switch {
	case len(group) > runsInLine:
		return fmt.Sprintf("`%s` brings the last %d runs back", command, runsInLine)
	case len(group) > 1:
		return "`" + command + "` brings the runs back"
	}
	return "`" + command + "` brings the run back"
}

// passedDetails returns the operations that an undo leaves alone, for the JSON of an error.
func passedDetails(passed []PassedOver) []map[string]any {
	out := make([]map[string]any, len(passed))
	for i, one := range passed {
		out[i] = map[string]any{"runId": one.Run, "reason": one.Why}
		if one.Op.Number > 0 {
			out[i]["op"] = one.Op.Number
		}
	}
	return out
}
