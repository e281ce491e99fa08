package engine

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tries counts the failed tries of nodes.
type tries struct {
	journal journal
	anew    bool                     // the run had ended before, so earlier failures do not count
	spent   map[workflow.NodeKey]int // failed tries by node; a missing node has not been counted
}

// of returns how many tries of a node have failed, including tries in earlier processes. n is the node, and t is its
// task. A node has as many tries as its task has retries, and one more.
//
// After the run has failed or been cancelled, a resume gives every task all its tries again. Interrupted attempts do
// not count, because the machine failed and not the task. If the journal cannot be read, the error is recorded in d,
// and the result is 0.
func (c *tries) of(d *draft, t *workflow.Task, n snapshot.Node) int {
	key := workflow.NodeKey{ID: n.NodeID, Iteration: n.Iteration}
	spent, known := c.spent[key]
	if !known {
		var err error
		if spent, err = c.count(t, key, n); err != nil {
			d.fail(err)
		}
		c.spent[key] = spent
	}
	return spent
}

// count returns the number of a node's failed tries by the journal. It returns 0 if c.anew is set or the node has no
// attempt. Otherwise it counts failures back from the node's last attempt to an attempt that is missing, finished or
// cancelled. If a task used up all its tries, the run failed, and a resume gave the task all its tries again. These
// tries therefore do not count: the result is the remainder.
func (c *tries) count(t *workflow.Task, key workflow.NodeKey, n snapshot.Node) (int, error) {
	if c.anew || n.LastAttempt == nil {
		return 0, nil
	}
	failures := 0
	for number := *n.LastAttempt; number > 0; number-- {
		a, ok, err := c.journal.attempt(key, number)
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

// ofTries returns the number of a try in words: "(attempt 2 of 3)".
func ofTries(t *workflow.Task, number int) string {
	return fmt.Sprintf("(attempt %d of %d)", number, t.Retries+1)
}
