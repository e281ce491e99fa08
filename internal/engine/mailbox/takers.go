package mailbox

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// fits returns nil if a decoded payload fits the schema of at least one task that takes the signal. It also accepts
// the payload in these cases: no task takes the signal; a task without a schema takes the signal; or the run has no
// workflow of this engine.
//
// Otherwise fits returns the error of the first task that takes the signal. If a later check exceeds the limit, fits
// returns the error of this check instead. All checks together may take schema.MaxWork steps.
func (in *Intake) fits(ctx context.Context, signal snapshot.Signal, payload any) error {
	if err := in.readWorkflow(); err != nil || in.wf == nil {
		return err
	}
	takers, err := in.takers(signal)
	if err != nil {
		return err
	}
	var refused error // the first misfit, or a later check that exceeds the limit
	// left counts the steps that the remaining checks may take.
	left, seen := int64(schema.MaxWork), make(map[*schema.Schema]bool)
	for _, t := range takers {
		wanted := in.wf.Schema(t.Output)
		if wanted == nil {
			return nil
		}
		if seen[wanted] {
			continue
		}
		seen[wanted] = true
		err := ctx.Err()
		if err != nil {
			return err
		}
		if err = wanted.Validate("payload", payload, &left); err == nil {
			return nil
		}
		if _, limited := errors.AsType[*schema.LimitError](err); refused == nil || limited {
			refused = schema.Misfit(err).
				Hint("send a payload that fits the schema of task %s of run %s: %s",
					fault.Word(t.ID), fault.Word(in.rec.Row().ID), schema.Brief(wanted.Text)).
				Detail("nodeId", t.ID)
		}
	}
	return refused
}

// Workflow returns the definition at the run's tip, or nil if the run has no definition or a definition of another
// engine.
func (in *Intake) Workflow() (*workflow.Workflow, error) {
	err := in.readWorkflow()
	return in.wf, err
}

// readWorkflow sets in.wf to the definition at the tip, unless in.wf already has that definition. It sets in.wf to nil
// if the run has no definition or a definition of another engine.
func (in *Intake) readWorkflow() error {
	entry := in.rec.Entry()
	id, err := entry.WorkflowID()
	if err != nil || id == in.kept {
		return timeline.Explain(err)
	}
	kept, err := entry.Workflow()
	if err != nil {
		return timeline.Explain(err)
	}
	in.kept, in.wf = id, nil
	if kept == nil {
		return nil
	}
	// A definition that does not parse belongs to another engine, which is not an error.
	if wf, err := workflow.Stored("the workflow of "+in.rec.Row().ID, kept.Definition); err == nil {
		in.wf = wf
	}
	return nil
}

// takers returns the tasks that wait for the signal now. If there are none, takers returns the tasks that may wait for
// the signal later.
func (in *Intake) takers(signal snapshot.Signal) ([]*workflow.Task, error) {
	var waiting, later []*workflow.Task
	for _, t := range in.wf.Tasks {
		if t.WaitFor == nil || t.WaitFor.Signal != signal.Name {
			continue
		}
		now, then, err := takes(in.rec.State(), in.wf, t, signal)
		switch {
		case err != nil:
			return nil, err
		case now:
			waiting = append(waiting, t)
		case then:
			later = append(later, t)
		}
	}
	if len(waiting) > 0 {
		return waiting, nil
	}
	return later, nil
}

// takes reports whether the task t waits for signal now, and if not, whether t may wait for signal later. signal must
// have the name that t waits for. later is false in these cases:
//   - t waits already, for this or another signal;
//   - t is finished or skipped, and its loops, if any, are done;
//   - t wants a correlation id and signal has none, or the reverse. This does not apply if t accepts any
//     correlation id;
//   - the state has no row of t or of its loops.
func takes(state *snapshot.State, wf *workflow.Workflow, t *workflow.Task, signal snapshot.Signal) (now, later bool, err error) {
	over, lacks := t.Loop == "", false
	key := wf.Newest(t, func(id string) snapshot.Loop {
		loop, ok, readErr := ReadRow(state.Loops(), id, snapshot.DecodeLoop)
		err, lacks = errors.Join(err, readErr), lacks || !ok
		if _, _, nested := snapshot.OuterLoop(id); !nested {
			over = loop.Done
		}
		return loop
	})
	if err != nil || lacks {
		return false, false, err
	}
	n, ok, err := ReadRow(state.Nodes(), snapshot.Key(key.ID, key.Iteration), snapshot.DecodeNode)
	if err != nil || !ok {
		return false, false, err
	}
	if n.State == snapshot.NodeWaitingEvent { // the wait's filter is known
		w, ok, err := ReadWait(state, key.ID, key.Iteration)
		if err != nil || !ok {
			return false, false, err
		}
		wants := filterOf(w)
		// The wait takes the signal if it accepts any correlation id, or exactly the signal's correlation id or lack of
		// one.
		return wants.any && wants.name == signal.Name || wants == correlated(signal.Name, false, signal.CorrelationID), false, nil
	}
	if done := n.State == snapshot.NodeFinished || n.State == snapshot.NodeSkipped; done && over {
		return false, false, nil
	}
	// The correlation id of a later wait is not known yet. Only its presence can be compared.
	return false, t.WaitFor.AnyCorrelation || (t.WaitFor.Correlation == nil) == (signal.CorrelationID == nil), nil
}
