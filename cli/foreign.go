package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// foreignEngine is the engine whose run a run is: it keeps something of its own with it, and the
// run has no workflow of ours. "" for a run of ours.
func foreignEngine(head *timeline.Head) (string, error) {
	engines, err := head.Entry().ExtEngines()
	if err != nil || len(engines) == 0 {
		return "", timeline.Explain(err)
	}
	if ours, err := keptWorkflow(head); err != nil || ours != nil {
		return "", err
	}
	return engines[0], nil
}

// engineName is an engine as people call it.
func engineName(engine string) string {
	if engine == engineSmithers {
		return "Smithers"
	}
	return engine
}

// refuseForeign is foreign_run for a run that another engine runs.
func refuseForeign(head *timeline.Head) error {
	engine, err := foreignEngine(head)
	if err != nil || engine == "" {
		return err
	}
	row := head.Row()
	refused := fault.New(fault.ForeignRun, "run %q is run by %s, with a workflow of its own", row.ID, engineName(engine)).
		Detail("runId", row.ID).Detail("engine", engine)
	newestFrame := fault.Word(timeline.Address{Run: row.ID, Frame: row.Frame}.String())
	if engine == engineSmithers {
		refused = refused.
			Hint("`%s replay WORKFLOW.tsx %s --engine smithers` has Smithers run a fork of it", program, newestFrame).
			Hint("`%s export %s --to SMITHERS.db` hands it to Smithers, whose `up --resume` goes on with it", program, fault.Word(row.ID))
	}
	return refused.Hint("`%s replay WORKFLOW.yaml %s` runs a fork of it by a workflow of ours", program, newestFrame)
}

// refuseForeignCancel is foreign_run for a run that another engine runs, which would go on with it all the same.
func refuseForeignCancel(store *timeline.Store, head *timeline.Head) error {
	engine, err := foreignEngine(head)
	if err != nil || engine == "" {
		return err
	}
	known, err := smithers.ReadUntold(store, head)
	if err != nil {
		return err
	}
	id := head.Row().ID
	refused := fault.New(fault.ForeignRun, "run %q is run by %s, and cancelled there", id, engineName(engine)).
		Detail("runId", id).Detail("engine", engine)
	if engine == engineSmithers && !known.Imported {
		refused = refused.Hint("`%s prune %s` takes it away where it was not exported yet", program, fault.Word(id))
	}
	if engine == engineSmithers {
		refused = refused.Hint("`smithers %s` cancels it, and `%s import` brings that here", commandLine("cancel", id), program)
	}
	return refused
}

// isCaptured reports whether a run has no workflow of ours and is no other engine's that we know: its frames come from a
// program that calls capture.
func isCaptured(head *timeline.Head) (bool, error) {
	engines, err := head.Entry().ExtEngines()
	if err != nil || len(engines) > 0 {
		return false, timeline.Explain(err)
	}
	kept, err := keptWorkflow(head)
	return kept == nil, err
}

// captureNext returns the command that appends to a captured run, in a sentence.
func captureNext(run string) string {
	return fmt.Sprintf("`%s capture %s` takes its next frame from the program that captures it", program, fault.Word(run))
}

// noWorkflow returns the error about a run without a workflow: why, or what to type if another program captures the
// run.
func noWorkflow(head *timeline.Head, why error) error {
	captured, err := isCaptured(head)
	if err != nil || !captured {
		return errors.Join(why, err)
	}
	row := head.Row()
	return fault.New(fault.Usage, "run %q does not know its workflow file: another program captures it", row.ID).
		Hint("%s", captureNext(row.ID)).
		Hint("`%s` runs a fork of it by a workflow of ours",
			commandLine(program, "replay", "WORKFLOW", timeline.Address{Run: row.ID, Frame: row.Frame}.String()))
}

// nextCommand returns the command that continues the run, in a sentence: `resume` followed by does, the command of
// the engine that owns the run, or `capture`.
func nextCommand(head *timeline.Head, does string) (string, error) {
	engine, err := foreignEngine(head)
	if err != nil {
		return "", err
	}
	row := head.Row()
	if engine != "" {
		return fmt.Sprintf("`%s export %s --to DATABASE` hands it to %s", program, fault.Word(row.ID), plain(engineName(engine))), nil
	}
	if captured, err := isCaptured(head); err != nil || captured {
		return captureNext(row.ID), err
	}
	return fmt.Sprintf("`%s resume %s`%s", program, fault.Word(row.ID), does), nil
}

// commandLine is a command, or the part of one that begins with name, as a shell takes it.
func commandLine(name string, args ...string) string {
	words := []string{name}
	for _, arg := range args {
		words = append(words, fault.Word(arg))
	}
	return strings.Join(words, " ")
}

// warnForeign warns that another engine is not told of what was decided, answered or sent here,
// and says by which of Smithers' commands it is. It tells whether there is such an engine.
func (s *session) warnForeign(head *timeline.Head, command string) bool {
	engine, err := foreignEngine(head)
	if err != nil {
		s.warn(err)
	}
	if err != nil || engine == "" {
		return false
	}
	text := engineName(engine) + " is not told of this: it does not read this repository"
	if engine == engineSmithers {
		text += fmt.Sprintf("; `smithers %s` tells it, and `%s import` brings back what it makes of it", command, program)
	}
	s.warn(errors.New(text))
	return true
}
