package engine

import (
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// restsUntil returns when the next try of a pending node may start; zero if it may start at once. It depends on the journal alone, so
// another process of the run waits for the same moment.
func (r *runner) restsUntil(t *workflow.Task, key workflow.NodeKey) (time.Time, error) {
	n := r.nodes[key]
	if t.Backoff.First == 0 || n.LastAttempt == nil {
		return time.Time{}, nil
	}
	tries := r.tries.of(r.next, t, n)
	if tries == 0 {
		return time.Time{}, nil // the first try, or the first of a new round of tries
	}
	a, ok, err := r.journal.attempt(key, *n.LastAttempt)
	if err != nil || !ok || a.State != snapshot.AttemptFailed || a.FinishedAtMs == nil || strings.HasPrefix(a.Error, reasonInterrupted+":") {
		return time.Time{}, err
	}
	return time.UnixMilli(*a.FinishedAtMs).Add(r.restAfter(t, key, a.Attempt, tries)), nil
}

// restAfter returns how long a node rests after a failed attempt. tries is the number of its failed tries.
func (r *runner) restAfter(t *workflow.Task, key workflow.NodeKey, attempt, tries int) time.Duration {
	return t.Backoff.Pause(tries, r.runID+" "+snapshot.AttemptKey(key.ID, key.Iteration, attempt))
}

// rests reports whether a pending node that is ready rests, and notes when the first such rest ends. The frame in which a task starts
// after a rest has the time of its end or later.
func (r *runner) rests(t *workflow.Task, key workflow.NodeKey) (bool, error) {
	until, err := r.restsUntil(t, key)
	if err != nil || until.IsZero() {
		return false, err
	}
	if now := r.opts.Now(); !until.After(now) {
		r.next.atMs = max(r.next.atMs, now.UnixMilli())
		return false, nil
	}
	if r.rest.IsZero() || until.Before(r.rest) {
		r.rest = until
	}
	return true, nil
}

// resting reports whether the run goes on when a rest ends.
func (r *runner) resting() bool { return !r.rest.IsZero() && !r.stopping }
