package travel

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	passedNamed = 3  // how many things that an undo passed over its error names
	runsInLine  = 20 // how many runs a hint's command line names
)

// refuseOlder is undo_refused for an undo without a run, with what was done here since the op that it would take back,
// the newest first; nil for no such op. The hints take back what can be taken back.
func refuseOlder(here []PassedOver, older *undoable) error {
	groups := groupPrunes(here)
	err := fault.New(fault.UndoRefused, "undo does not take back what was done here last: %s", describePassed(groups[0]))
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
		err = err.Hint("before that, %d more that undo leaves alone", more)
	}
	if older != nil {
		err = err.Hint("`git smithers undo %s` takes back what was done before: op %d of run %q, %s",
			fault.Word(older.Run), older.Op.Number, older.Run, describeOp(older.Op)).
			Detail("runId", older.Run).Detail("op", older.Op.Number)
	}
	return err.Detail("passedOver", passedDetails(here))
}

// nothingToUndo is nothing_to_undo for a repository in which nothing can be taken back.
func nothingToUndo(passed []PassedOver) error {
	err := fault.New(fault.NothingToUndo, "nothing was done here to any run that could be taken back")
	if len(passed) == 0 {
		return err.Hint("travel, reset, revert, restore and fork can be")
	}
	groups := groupPrunes(passed)
	hint := describePassed(groups[0])
	if back := takesBack(groups[0]); back != "" {
		hint += ": " + back
	}
	err = err.Hint("%s", hint)
	if more := len(groups) - 1; more > 0 {
		err = err.Hint("passed over, too: %d more", more)
	}
	return err.Detail("passedOver", passedDetails(passed))
}

// isPruned reports whether prune --undo brings the run back.
func (p PassedOver) isPruned() bool { return p.Why == PassedPruned }

// groupPrunes puts prunes that follow each other into one group, and everything else into groups of one.
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

// describePassed says what was done, and why an undo without a run leaves it alone.
func describePassed(group []PassedOver) string {
	one := group[0]
	switch one.Why {
	case PassedHasRun:
		return fmt.Sprintf("op %d of run %q is a fork that has run", one.Op.Number, one.Run)
	case PassedFetched:
		return fmt.Sprintf("run %q is a fork that a fetch made", one.Run)
	case PassedByEngine:
		return fmt.Sprintf("op %d of run %q is its engine's own", one.Op.Number, one.Run)
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

// takesBack says what to type to take something back that an undo without a run leaves alone; "" for what nothing does.
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

// passedDetails are what an undo passed over, for machines.
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
