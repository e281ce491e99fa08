package summary

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Retry says how the steps that failed are tried again in a fork.
type Retry struct {
	// Frame is the number of the frame to replay.
	Frame int64
	// Nodes are the failed steps, as the flag --node of replay names them. The replay resets these steps.
	Nodes []string
	// Rest are the steps that have not run and that the replay runs after Nodes.
	Rest []string
	// Calls are the steps among Nodes that have called a workflow. The replay calls a new run, and repeats what succeeded in the old one.
	Calls []string
	// Denied reports whether people denied an approval, and no other step failed. A replay would only ask them again.
	Denied bool
}

// Arguments returns the arguments of replay for the frame and the failed steps of a run.
func (r *Retry) Arguments(run string) []string {
	args := []string{timeline.Address{Run: run, Frame: r.Frame}.String()}
	for _, node := range r.Nodes {
		args = append(args, "--node", node)
	}
	return args
}

// Does names the steps that the replay runs.
func (r *Retry) Does() string {
	if len(r.Calls) > 0 {
		return r.steps() + ", and again all that " + plain.Text(strings.Join(r.Calls, ", ")) + " called"
	}
	return r.steps()
}

// steps returns the verb and the steps of Does.
func (r *Retry) steps() string {
	const most = 3
	names := append(append([]string{}, r.Nodes...), r.Rest...)
	switch n := len(names); {
	case n == 0:
		return "goes on from before the failure"
	case n == 1:
		return "runs " + plain.Text(names[0])
	case n > most+1:
		return "runs " + plain.Text(strings.Join(names[:most], ", ")) + " and " + plain.Count(n-most, "other task")
	default:
		return "runs " + plain.Text(strings.Join(names[:n-1], ", ")+" and "+names[n-1])
	}
}

// RetryArguments returns the arguments of the command that tries the failed steps of the run again in a fork, with the files of the
// frame if the run has captured files. The result is nil if the run has no Retry, or if a replay would only ask for an approval again.
func (sum *Summary) RetryArguments() []string {
	if sum.Failure == nil || sum.Failure.Retry == nil || sum.Failure.Retry.Denied {
		return nil
	}
	args := append([]string{"replay"}, sum.Failure.Retry.Arguments(sum.Row.ID)...)
	if sum.VCS != nil && sum.VCS.Pointer() != "" {
		args = append(args, "--restore-vcs")
	}
	return args
}

// entriesSearched is the largest number of entries that RetryOf reads.
const entriesSearched = 200

// RetryOf returns how the failed steps of a run are tried again: from the newest frame, in which only these steps are reset. So the replay
// repeats nothing that succeeded, also if other steps ran beside the failed ones. If no step failed, as when a loop reached its maximum, it is the
// newest frame before the run failed. tip is the newest entry of the run. The result is nil if the run has not failed, has no workflow of git
// smithers, or has no such frame among its newest entries.
func RetryOf(store *timeline.Store, tip *snapshot.Entry) (*Retry, error) {
	row, err := tip.RunRow()
	if err != nil || row.Status != snapshot.RunFailed {
		return nil, timeline.Explain(err)
	}
	if workflow, err := tip.Workflow(); err != nil || workflow == nil {
		return nil, timeline.Explain(err)
	}
	retry := &Retry{Frame: row.Frame}
	if err := retry.readNodes(tip); err != nil || len(retry.Nodes) > 0 {
		return retry, timeline.Explain(err)
	}
	read := 0
	for entry, err := range store.Chain(tip) {
		if read++; err != nil || read > entriesSearched {
			return nil, timeline.Explain(err)
		}
		before, err := entry.RunRow()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if entry.Frame != snapshot.NoFrame && before.Status != snapshot.RunFailed {
			retry.Frame = entry.Frame
			return retry, nil
		}
	}
	return nil, nil //nolint:nilnil // no frame is known from before the failure
}

// readNodes sets Nodes, Rest and Denied.
func (r *Retry) readNodes(tip *snapshot.Entry) error {
	state, err := tip.State()
	if err != nil {
		return err
	}
	attempts, err := tip.Attempts()
	if err != nil {
		return err
	}
	allowed, err := allowedToFail(tip)
	if err != nil {
		return err
	}
	denied := 0
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		name := n.NodeID
		if n.Iteration > 0 { // the id alone means all iterations
			name = snapshot.Key(n.NodeID, n.Iteration)
		}
		switch {
		case n.State == snapshot.NodeFinished || n.State == snapshot.NodeSkipped || n.State == snapshot.NodeFailed && allowed[n.NodeID]:
			continue
		case n.State == snapshot.NodeFailed:
			r.Nodes = append(r.Nodes, name)
			if called, err := calls(attempts, n); err != nil {
				return err
			} else if called {
				r.Calls = append(r.Calls, name)
			}
		default:
			r.Rest = append(r.Rest, name)
			continue
		}
		a, ok, err := mailbox.ReadRow(state.Approvals(), snapshot.Key(n.NodeID, n.Iteration), snapshot.DecodeApproval)
		if err != nil {
			return err
		}
		if ok && a.Status == snapshot.ApprovalDenied {
			denied++
		}
	}
	r.Denied = denied > 0 && denied == len(r.Nodes)
	return nil
}

// calls reports whether the last attempt of a node called a workflow.
func calls(attempts *page.Collection, n snapshot.Node) (bool, error) {
	if n.LastAttempt == nil {
		return false, nil
	}
	a, _, err := mailbox.ReadRow(attempts, snapshot.AttemptKey(n.NodeID, n.Iteration, *n.LastAttempt), snapshot.DecodeAttempt)
	return a.Child != "", err
}
