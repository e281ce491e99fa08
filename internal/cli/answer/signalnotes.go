package answer

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// warnUnknownSignal warns if no task of the run waits for signals with the given name. Such a signal is kept
// nevertheless, because the workflow of the run may change. If commands of the run are running, it notes instead that these can
// read the signal. If the run stores no workflow, warnUnknownSignal does nothing. If the workflow cannot be read, it warns about this error instead.
func (to *recipient) warnUnknownSignal(name string) {
	wf, err := to.intake.Workflow()
	if err != nil {
		to.Warn(err)
	}
	if wf == nil {
		return
	}
	names := wf.SignalNames()
	if slices.Contains(names, name) {
		return
	}
	text := fmt.Sprintf("no task of %s waits for signal %q", to.head.Row().ID, name)
	if len(names) > 0 {
		text += "; tasks of this run wait for " + display.List(names)
	}
	if running := to.running(wf); len(running) > 0 {
		to.Note("%s; running tasks can read the signal (SMITHERS_SIGNALS): %s", plain.Text(text), display.List(running))
		return
	}
	to.Warn(fault.New(fault.InvalidInput, "%s", text))
}

// running returns the tasks of the run whose commands are running, by name. If it cannot read them, it warns. wf is the run's workflow.
func (to *recipient) running(wf *workflow.Workflow) (names []string) {
	if !to.store.Owner(to.head.Row()).Live {
		return nil
	}
	for n, err := range to.head.State().AllNodes() {
		if err != nil {
			to.Warn(timeline.Explain(err))
			return nil
		}
		if t := wf.Task(n.NodeID); n.State == snapshot.NodeInProgress && t != nil && t.Run != "" {
			names = append(names, display.AttemptName(n.NodeID, n.Iteration))
		}
	}
	return names
}

// noteWaitsOn reports whether the run still waits after a signal. If it returns true, it has noted what the run
// waits for and how to end the wait. If the run does not wait any more, or if its workflow is unknown or cannot be
// read, noteWaitsOn notes nothing and returns false.
func (to *recipient) noteWaitsOn() bool {
	wf, err := to.intake.Workflow()
	if err != nil || wf == nil {
		return false
	}
	_, err = engine.Check(to.head, wf, engine.Options{Now: to.Now})
	if fault.CodeOf(err) != fault.RunWaiting {
		return false
	}
	waits := to.Describe(err)
	to.Note("the signal is kept; %s", plain.Text(waits.Msg))
	for _, hint := range waits.Hints[:len(waits.Hints)-1] { // the last hint is to resume, which is not possible yet
		to.Note("  %s", plain.Text(hint))
	}
	return true
}
