package app

import (
	"errors"
	"fmt"

	runsummary "github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// EngineSmithers is the name of Smithers' engine.
const EngineSmithers = "smithers"

// ForeignEngine returns the name of the other engine that runs the run of head, or "" if git smithers runs it. See summary.ForeignEngine.
func ForeignEngine(head *timeline.Head) (string, error) {
	return runsummary.ForeignEngine(head.Entry())
}

// EngineName returns the name of an engine for people: Smithers for EngineSmithers, LangGraph for a thread, a coding agent for a
// session, and any other name unchanged.
func EngineName(engine string) string {
	switch engine {
	case EngineSmithers:
		return "Smithers"
	case agent.EngineName:
		return "a coding agent"
	case langgraph.EngineName:
		return "LangGraph"
	}
	return engine
}

// refuseForeign returns the error foreign_run if another engine runs the run of head. The hints of this error are
// commands that continue the run or a fork of it. refuseForeign returns nil if no other engine runs the run. Any other
// error means that the run could not be read.
func refuseForeign(head *timeline.Head) error {
	engine, err := ForeignEngine(head)
	if err != nil || engine == "" {
		return err
	}
	row := head.Row()
	if engine == agent.EngineName {
		return ofSession(head.Entry(), timeline.Address{Run: row.ID, Frame: row.Frame}, "the agent itself continues it")
	}
	refused := fault.New(fault.ForeignRun, "run %q is run by %s, with a workflow of its own", row.ID, EngineName(engine)).
		Detail("runId", row.ID).Detail("engine", engine)
	newestFrame := fault.Word(timeline.Address{Run: row.ID, Frame: row.Frame}.String())
	if engine == langgraph.EngineName {
		refused = refused.Hint("%s", nextOfThread(row.ID))
	}
	if engine == EngineSmithers {
		refused = refused.
			Hint("`%s replay WORKFLOW.tsx %s --engine smithers` runs a fork with Smithers", fault.Program, newestFrame).
			Hint("`%s export %s --to SMITHERS.db` exports the run, and Smithers' `up --resume` continues it", fault.Program, fault.Word(row.ID))
	}
	return refused.Hint("`%s replay WORKFLOW.yaml %s` runs a fork with a workflow of git smithers", fault.Program, newestFrame)
}

// ofSession returns foreign_run for a command that makes no sense for a session of a coding agent. entry is the frame of the session
// at the address at, and why says what is so about sessions.
func ofSession(entry *snapshot.Entry, at timeline.Address, why string) *fault.Error {
	return fault.New(fault.ForeignRun, "run %q is a session of a coding agent: %s", at.Run, why).
		Detail("runId", at.Run).Detail("engine", agent.EngineName).
		Hint("%s", nextOfSession(entry, at))
}

// nextOfSession returns a sentence with the command that goes on from a frame of a session: with the agent if that is possible, and
// otherwise with a brief for any agent. entry is the frame at the address at.
func nextOfSession(entry *snapshot.Entry, at timeline.Address) string {
	if agent.CanGoOn(entry) {
		return fmt.Sprintf("`%s session what-if %s 'ANOTHER PROMPT'` takes another course from a frame", fault.Program, fault.Word(at.String()))
	}
	if vcs, err := entry.VCSRevision(); err != nil || vcs == nil || vcs.Tree.IsZero() {
		return fmt.Sprintf("`%s session replay %s --dry-run` prints a brief for another agent", fault.Program, fault.Word(at.String()))
	}
	return fmt.Sprintf("`%s session replay %s --to DIR` makes a working copy of a frame, and prints a brief for another agent", fault.Program,
		fault.Word(at.String()))
}

// RefuseSession returns foreign_run if the run of head is a session of a coding agent, and nil for any other run. why says what is so about
// sessions.
func RefuseSession(head *timeline.Head, why string) error {
	engine, err := ForeignEngine(head)
	if err != nil || engine != agent.EngineName {
		return err
	}
	row := head.Row()
	return ofSession(head.Entry(), timeline.Address{Run: row.ID, Frame: row.Frame}, why)
}

// refuseForeignCancel returns foreign_run if another engine runs the run, because that engine would not notice the
// cancellation. It returns nil if no other engine runs the run. Any other error means that the run could not be read.
//
// The hints of foreign_run for a run of Smithers are commands. One command cancels the run in Smithers. If the run was
// never imported, another command removes the run from this repository. For other engines, there are no hints.
func refuseForeignCancel(store *timeline.Store, head *timeline.Head) error {
	engine, err := ForeignEngine(head)
	if err != nil || engine == "" {
		return err
	}
	if engine == agent.EngineName {
		row := head.Row()
		return ofSession(head.Entry(), timeline.Address{Run: row.ID, Frame: row.Frame}, "it ends in the agent").
			Hint("a session without a hook for a day counts as ended")
	}
	id := head.Row().ID
	if engine == langgraph.EngineName {
		return fault.New(fault.ForeignRun, "run %q was not cancelled: a thread of LangGraph goes on only when a program invokes it", id).
			Detail("runId", id).Detail("engine", engine).
			Hint("`%s prune %s` deletes the thread", fault.Program, fault.Word(id))
	}
	known, err := smithers.ReadUntold(store, head)
	if err != nil {
		return err
	}
	refused := fault.New(fault.ForeignRun, "run %q was not cancelled: it is run by %s, and only %[2]s can cancel it", id, EngineName(engine)).
		Detail("runId", id).Detail("engine", engine)
	if engine == EngineSmithers && !known.Imported {
		refused = refused.Hint("`%s prune %s` removes the run if it was not exported yet", fault.Program, fault.Word(id))
	}
	if engine == EngineSmithers {
		refused = refused.Hint("`smithers %s` cancels the run, and `%s import` imports the new status", fault.CommandLine("cancel", id), fault.Program)
	}
	return refused
}

// nextOfThread returns a sentence with the call that continues a thread of LangGraph.
func nextOfThread(run string) string {
	return fmt.Sprintf("graph.invoke(null, { configurable: { thread_id: %q } }) continues the thread", plain.Text(run))
}

// RefuseThread returns foreign_run if the run of head is a thread of LangGraph, and nil for any other run. why is the reason, as a
// clause with the thread as "it".
func RefuseThread(head *timeline.Head, why string) error {
	engine, err := ForeignEngine(head)
	if err != nil || engine != langgraph.EngineName {
		return err
	}
	id := head.Row().ID
	return fault.New(fault.ForeignRun, "run %q is a thread of LangGraph: %s", id, why).Detail("runId", id).Detail("engine", engine)
}

// isCaptured reports whether the run of head belongs to another program, which stores its frames with the command
// `capture`. Such a run stores neither a workflow of git smithers nor data of another engine.
func isCaptured(head *timeline.Head) (bool, error) {
	engines, err := head.Entry().ExtEngines()
	if err != nil || len(engines) > 0 {
		return false, timeline.Explain(err)
	}
	kept, err := KeptWorkflow(head)
	return kept == nil, err
}

// captureNext returns a sentence with the command that appends a frame to a captured run. run is the id of the run.
func captureNext(run string) string {
	return fmt.Sprintf("`%s capture %s` appends the next frame, read from the program that captures the run", fault.Program, fault.Word(run))
}

// noWorkflow returns the error for a run without a workflow file. If another program captures the run, the error is
// usage, and its hints are commands to type. For any other run, noWorkflow returns the error why. If head cannot be
// read, noWorkflow returns why joined with the error of reading.
func noWorkflow(head *timeline.Head, why error) error {
	captured, err := isCaptured(head)
	if err != nil || !captured {
		return errors.Join(why, err)
	}
	row := head.Row()
	return fault.New(fault.Usage, "run %q has no workflow file: another program captures it", row.ID).
		Hint("%s", captureNext(row.ID)).
		Hint("`%s` runs a fork with a workflow of git smithers",
			fault.CommandLine(fault.Program, "replay", "WORKFLOW", timeline.Address{Run: row.ID, Frame: row.Frame}.String()))
}

// NextCommand returns a sentence with the command that continues the run of head. If Smithers runs the run, the command is
// `export`; for a thread of LangGraph it is a call. If another program captures the run, the command is `capture`. Otherwise the
// command is `resume`, and the sentence ends with the text in does. The caller must begin this text with a space or a comma.
func NextCommand(head *timeline.Head, does string) (string, error) {
	engine, err := ForeignEngine(head)
	if err != nil {
		return "", err
	}
	row := head.Row()
	switch engine {
	case agent.EngineName:
		return nextOfSession(head.Entry(), timeline.Address{Run: row.ID, Frame: row.Frame}), nil
	case langgraph.EngineName:
		return nextOfThread(row.ID), nil
	case EngineSmithers:
		return fmt.Sprintf("`%s export %s --to DATABASE` exports the run to %s", fault.Program, fault.Word(row.ID), plain.Text(EngineName(engine))), nil
	}
	if engine != "" {
		return plain.Text(engine) + " itself continues the run", nil
	}
	if captured, err := isCaptured(head); err != nil || captured {
		return captureNext(row.ID), err
	}
	return fmt.Sprintf("`%s resume %s`%s", fault.Program, fault.Word(row.ID), does), nil
}

// AfterFailure returns the hint with the command to type after the run of head has failed.
// AfterFailure returns "" if the run has not failed, if git smithers never ran it, or if another engine runs it.
func AfterFailure(store *timeline.Store, head *timeline.Head) (string, error) {
	row := head.Row()
	if row.Status != snapshot.RunFailed || row.Epoch == 0 { // git smithers never ran a run with epoch 0
		return "", nil
	}
	if other, err := ForeignEngine(head); err != nil || other != "" {
		return "", err
	}
	if retry, err := runsummary.RetryOf(store, head.Entry()); err != nil || retry != nil && retry.Denied {
		return engine.AskAgain(row.ID), err
	}
	return engine.TryAgain(row.ID), nil
}
