package engine

import (
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// journal reads the attempts in the journal of a run's tip.
type journal struct{ rec Recorder }

// attempt returns the attempt of a node with the given number. key is the node's key. If the journal has no such
// attempt, or an error occurs, ok is false.
func (j journal) attempt(key workflow.NodeKey, number int) (a snapshot.Attempt, ok bool, err error) {
	a, ok, err = j.rec.Entry().Attempt(key.ID, key.Iteration, number)
	return a, ok, timeline.Explain(err)
}

// errorOf returns the error of an attempt with its secrets, or nil if the attempt has no error or is not in the journal.
func (j journal) errorOf(key workflow.NodeKey, number int) (*string, error) {
	a, ok, err := j.attempt(key, number)
	if err != nil || !ok || a.Error == "" {
		return nil, err
	}
	at := snapshot.Place{Collection: snapshot.CollectionAttempts, Key: snapshot.AttemptKey(key.ID, key.Iteration, number), Member: "error"}
	return revealText(j.rec.Reveal, at, &a.Error)
}

// lastIsCaptured reports whether the shared files were captured after the newest attempt of n in the journal. t is n's
// task, or nil if the workflow no longer has the task. If there is nothing to capture, lastIsCaptured also returns
// true:
//   - n has no attempt in the journal, or the attempt has not ended.
//   - t is nil, t is a waiting task, changes no files, or has a worktree of its own.
func (j journal) lastIsCaptured(n snapshot.Node, t *workflow.Task) (bool, error) {
	if n.LastAttempt == nil || t == nil || !t.Works() || t.Worktree != nil || !t.ChangesFiles() {
		return true, nil
	}
	// The journal may lack the newest attempts. The newest attempt in the journal then counts.
	for number := *n.LastAttempt; number > 0; number-- {
		a, ok, err := j.attempt(workflow.NodeKey{ID: n.NodeID, Iteration: n.Iteration}, number)
		if err != nil || ok {
			return a.Frame != nil || a.FinishedAtMs == nil, err
		}
	}
	return true, nil
}
