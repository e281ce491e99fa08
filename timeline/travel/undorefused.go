package travel

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	passedNamed = 3  // how many groups of passed-over operations an error names
	runsInLine  = 20 // how many runs a hint's command line names
)

// refuseOlder returns undo_refused for an undo without a run. here has the operations, newest first, that were done
// in this clone since older, which is the op that undo could take back, or nil. The hints say how to take the newer
// ones back.
func refuseOlder(here []PassedOver, older *undoable) error {
	groups := groupPrunes(here)
	err := fault.New(fault.UndoRefused, "undo cannot take back the last operation here: %s", describePassed(groups[0]))
	for i, group := range groups[:min(len(groups), passedNamed)] {
		hint := takesBack(group)
		if i > 0 {
			hint = strings.TrimSuffix("before that, "+describePassed(group)+": "+hint, ": ")
		}
		if hint != "" {
			err = err.Hint("%s", hint)
		}
	}
	if more := len(groups) - passedNamed; more > 0 {
		err = err.Hint("before that, %d more operations that undo leaves alone", more)
	}
	if older != nil {
		err = err.Hint("`git smithers undo %s` takes back the operation before that: op %d of run %q, %s",
			fault.Word(older.Run), older.Op.Number, older.Run, describeOp(older.Op)).
			Detail("runId", older.Run).Detail("op", older.Op.Number)
	}
	return err.Detail("passedOver", passedDetails(here))
}

// nothingToUndo returns nothing_to_undo for a repository that has no op to take back.
func nothingToUndo(passed []PassedOver) error {
	err := fault.New(fault.NothingToUndo, "no run has an operation of this clone to undo")
	if len(passed) == 0 {
		return err.Hint("travel, reset, revert, restore and fork can be undone")
	}
	groups := groupPrunes(passed)
	hint := describePassed(groups[0])
	if back := takesBack(groups[0]); back != "" {
		hint += ": " + back
	}
	err = err.Hint("%s", hint)
	if more := len(groups) - 1; more > 0 {
		err = err.Hint("passed over: %d more", more)
	}
	return err.Detail("passedOver", passedDetails(passed))
}

// isPruned reports whether prune --undo brings the run back.
func (p PassedOver) isPruned() bool { return p.Why == PassedPruned }

// groupPrunes puts consecutive prunes into one group, and every other operation into a group of its own.
func groupPrunes(passed []PassedOver) [][]PassedOver {
	var groups [][]PassedOver
	for i, one := range passed {
		last := len(groups) - 1
		if i > 0 && one.Op.Number == 0 && one.Why == passed[i-1].Why {
			groups[last] = append(groups[last], one)
			continue
		}
		groups = append(groups, []PassedOver{one})
	}
	return groups
}

// describePassed describes a group of operations and why an undo without a run leaves them alone.
func describePassed(group []PassedOver) string {
	one := group[0]
	switch one.Why {
	case PassedHasRun:
		return fmt.Sprintf("op %d of run %q is a fork that has run", one.Op.Number, one.Run)
	case PassedFetched:
		return fmt.Sprintf("run %q is a fork that a fetch made", one.Run)
	case PassedByEngine:
		return fmt.Sprintf("op %d of run %q was done by its engine", one.Op.Number, one.Run)
	case PassedElsewhere:
		return fmt.Sprintf("op %d of run %q was not done here", one.Op.Number, one.Run)
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

// takesBack returns a hint with the command that takes a group of operations back, or "" if no command does.
func takesBack(group []PassedOver) string {
	switch one := group[0]; {
	case one.Why == PassedElsewhere:
		return fmt.Sprintf("`git smithers undo %s` takes it back", fault.Word(one.Run))
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
		return fmt.Sprintf("`%s` brings the last %d back", command, runsInLine)
	case len(group) > 1:
		return "`" + command + "` brings them back"
	}
	return "`" + command + "` brings it back"
}

// passedDetails returns the operations that an undo passed over, for the error's JSON.
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
