package cli

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// signalNames knows the signals that the tasks of a run wait for, until the run's workflow changes.
type signalNames struct {
	hash  string // of the workflow that names belongs to
	wf    *engine.Workflow
	names []string // sorted
}

// read reads the workflow of a run, unless it is the one read before. wf is nil if the run keeps no workflow of ours.
func (n *signalNames) read(head *timeline.Head) error {
	hash := head.Row().WorkflowHash
	if n.wf != nil && n.hash == hash {
		return nil
	}
	wf, err := keptWorkflow(head)
	if err != nil {
		return err
	}
	*n = signalNames{hash: hash, wf: wf}
	if wf == nil {
		return nil
	}
	for _, t := range wf.Tasks {
		if t.WaitFor != nil {
			n.names = append(n.names, t.WaitFor.Signal)
		}
	}
	slices.Sort(n.names)
	n.names = slices.Compact(n.names)
	return nil
}

// warnUnknownSignal warns if no task of the run waits for signals of that name. The run has the signal all the same: its
// workflow may change.
func (s *session) warnUnknownSignal(to *signalSender, name string) {
	if err := to.names.read(to.head); err != nil {
		s.warn(err)
		return
	}
	if to.names.wf == nil || slices.Contains(to.names.names, name) {
		return
	}
	text := fmt.Sprintf("no task of %s waits for signal %q", to.head.Row().ID, name)
	if len(to.names.names) > 0 {
		text += "; the workflow waits for " + listNames(to.names.names)
	}
	s.warn(fault.New(fault.InvalidInput, "%s", text))
}

// noteWaitsOn notes what a run still waits for, and how that comes about. It reports whether the run does not go on yet.
func (s *session) noteWaitsOn(to *signalSender) bool {
	if to.names.wf == nil {
		return false
	}
	_, err := engine.Check(to.head, to.names.wf, engine.Options{Now: s.Now})
	if fault.CodeOf(err) != fault.RunWaiting {
		return false
	}
	waits := s.describe(err)
	s.note("the signal is kept; %s", plain(waits.Msg))
	for _, hint := range waits.Hints[:len(waits.Hints)-1] { // the last one is resume, for afterwards
		s.note("  %s", plain(hint))
	}
	return true
}
