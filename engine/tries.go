package engine

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// spentTries returns how many of a node's tries have failed. A node has one try more than its
// task's retries. The count includes all processes until the run ends: resuming a failed or
// cancelled run gives every task all its tries again. Interrupted attempts do not count,
// because the machine failed and not the task.
func (r *runner) spentTries(t *workflow.Task, key workflow.NodeKey) int {
	spent, known := r.spent[key]
	if !known {
		var err error
		if spent, err = r.countSpent(t, key); err != nil {
			r.next.fail(err)
		}
		r.spent[key] = spent
	}
	return spent
}

// countSpent counts failures in the journal, back from the node's last attempt. As many failures
// as the task has tries belong to an earlier end of the run.
func (r *runner) countSpent(t *workflow.Task, key workflow.NodeKey) (int, error) {
	n := r.nodes[key]
	if r.anew || n.LastAttempt == nil {
		return 0, nil
	}
	failures := 0
	for number := *n.LastAttempt; number > 0; number-- {
		a, ok, err := r.pastAttempt(key, number)
		if err != nil {
			return 0, err
		}
		switch {
		case !ok && number == *n.LastAttempt: // the attempt is about to start
			continue
		case !ok || a.State == snapshot.AttemptFinished || a.State == snapshot.AttemptCancelled:
			return failures % (t.Retries + 1), nil
		}
		if a.State == snapshot.AttemptFailed && !strings.HasPrefix(a.Error, reasonInterrupted+":") {
			failures++
		}
	}
	return failures % (t.Retries + 1), nil
}

func ofTries(t *workflow.Task, number int) string {
	return fmt.Sprintf("(attempt %d of %d)", number, t.Retries+1)
}
