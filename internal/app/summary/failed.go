package summary

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A FailedNode is a node that failed its run, and its last attempt.
type FailedNode struct {
	snapshot.Node

	Attempt snapshot.Attempt
}

// FailedNodes returns the nodes that failed a run and have an attempt, in the order in which they failed: the first is the cause. A node
// whose failure the workflow allows is not among them. tip is the newest entry of the run.
func FailedNodes(tip *snapshot.Entry) ([]FailedNode, error) {
	state, err := tip.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	attempts, err := tip.Attempts()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	allowed, err := allowedToFail(tip)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var all []FailedNode
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if n.State != snapshot.NodeFailed || n.LastAttempt == nil || allowed[n.NodeID] {
			continue
		}
		a, ok, err := mailbox.ReadRow(attempts, snapshot.AttemptKey(n.NodeID, n.Iteration, *n.LastAttempt), snapshot.DecodeAttempt)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if ok {
			all = append(all, FailedNode{n, a})
		}
	}
	row, err := tip.RunRow()
	slices.SortStableFunc(all, func(a, b FailedNode) int {
		return cmp.Or(cmp.Compare(endOf(a.Attempt), endOf(b.Attempt)), cmp.Compare(a.notCause(row.Error), b.notCause(row.Error)))
	})
	return all, timeline.Explain(err)
}

// notCause returns 0 if the run's error names the node as its cause, and otherwise 1. It orders nodes that ended in the same millisecond.
func (n *FailedNode) notCause(ofRun string) int {
	if strings.Contains("; "+ofRun, "; "+n.NodeID+": ") {
		return 0
	}
	return 1
}

// endOf returns when an attempt ended or, if that is unknown, when it began.
func endOf(a snapshot.Attempt) int64 {
	if a.FinishedAtMs != nil {
		return *a.FinishedAtMs
	}
	return a.StartedAtMs
}

// allowedToFail returns the ids of the tasks whose failure does not fail the run, by the definition that an entry has.
func allowedToFail(tip *snapshot.Entry) (map[string]bool, error) {
	stored, err := tip.Workflow()
	if err != nil || stored == nil || !bytes.Contains(stored.Definition, []byte("continue-on-error")) {
		return nil, err
	}
	wf, err := workflow.Stored("", stored.Definition)
	if err != nil {
		return nil, nil //nolint:nilerr // a definition of another version allows nothing that this version knows of
	}
	allowed := make(map[string]bool)
	for _, t := range wf.Tasks {
		if t.Allowed {
			allowed[t.ID] = true
		}
	}
	return allowed, nil
}
