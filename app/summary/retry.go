package summary

import (
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Retry says how the steps that failed are tried again in a fork.
type Retry struct {
	// Frame is the number of the frame to replay.
	Frame int64
	// Denied reports whether people denied an approval, and no other step failed. A replay would only ask them again.
	Denied bool
}

// RetryArguments returns the arguments of the command that tries the failed steps of the run again in a fork, with the files of the
// frame if the run has captured files. The result is nil if the run has no Retry, or if a replay would only ask for an approval again.
func (sum *Summary) RetryArguments() []string {
	if sum.Failure == nil || sum.Failure.Retry == nil || sum.Failure.Retry.Denied {
		return nil
	}
	args := []string{"replay", timeline.Address{Run: sum.Row.ID, Frame: sum.Failure.Retry.Frame}.String()}
	if sum.VCS != nil && sum.VCS.Pointer() != "" {
		args = append(args, "--restore-vcs")
	}
	return args
}

// entriesSearched is the largest number of entries that RetryOf reads.
const entriesSearched = 200

// RetryOf chooses the frame from which the failed steps of a run are tried again: the newest frame before their last attempts began. If
// no other step has finished between their tries, it is the newest frame before their first try. So the replay repeats nothing that
// succeeded, and begins with the files from before the failure. If no step failed, as when a loop reached its maximum, it is the newest
// frame before the run failed. tip is the newest entry of the run. The result is nil if the run has not failed, has no workflow of git
// smithers, or has no such frame among its newest entries.
func RetryOf(store *timeline.Store, tip *snapshot.Entry) (*Retry, error) {
	row, err := tip.RunRow()
	if err != nil || row.Status != snapshot.RunFailed {
		return nil, timeline.Explain(err)
	}
	if workflow, err := tip.Workflow(); err != nil || workflow == nil {
		return nil, timeline.Explain(err)
	}
	search := retrySearch{}
	if err := search.readFailed(tip); err != nil {
		return nil, timeline.Explain(err)
	}
	read := 0
	for entry, err := range store.Chain(tip) {
		if read++; err != nil || read > entriesSearched {
			return search.best, timeline.Explain(err)
		}
		if entry.Frame == snapshot.NoFrame { // such as a claim
			continue
		}
		if over, err := search.look(entry, entry.Frame); err != nil || over {
			return search.best, timeline.Explain(err)
		}
	}
	if row.Parent != nil { // the fork may have its parent's frame as frame 0
		entry, err := store.FrameInChain(row, tip, 0)
		if err == nil {
			_, err = search.look(entry, 0)
		}
		if err != nil {
			return search.best, timeline.Explain(err)
		}
	}
	return search.best, nil
}

// A retrySearch looks for the frame of a Retry from the newest entry to older ones.
type retrySearch struct {
	failed   []snapshot.Node // at the newest entry
	denied   bool
	best     *Retry      // so far; nil for none
	tries    int         // of the failed steps at best
	finished int         // steps at best
	workflow objstore.ID // of best
}

// readFailed sets failed and denied.
func (s *retrySearch) readFailed(tip *snapshot.Entry) error {
	state, err := tip.State()
	if err != nil {
		return err
	}
	denied := 0
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		if n.State != snapshot.NodeFailed {
			continue
		}
		s.failed = append(s.failed, n)
		a, ok, err := mailbox.ReadRow(state.Approvals(), snapshot.Key(n.NodeID, n.Iteration), snapshot.DecodeApproval)
		if err != nil {
			return err
		}
		if ok && a.Status == snapshot.ApprovalDenied {
			denied++
		}
	}
	s.denied = denied > 0 && denied == len(s.failed)
	return nil
}

// look considers the entry of a frame. over reports whether no older entry can be better.
func (s *retrySearch) look(entry *snapshot.Entry, frame int64) (over bool, err error) {
	before, tries, err := s.before(entry)
	if err != nil || !before || s.best != nil && tries >= s.tries {
		return false, err
	}
	workflow, err := entry.WorkflowID()
	if err != nil {
		return false, err
	}
	finished := 0
	if s.best != nil || tries > 0 {
		if finished, err = finishedIn(entry); err != nil {
			return false, err
		}
	}
	if s.best != nil && (finished != s.finished || workflow != s.workflow) {
		return true, nil
	}
	s.best, s.tries, s.finished, s.workflow = &Retry{frame, s.denied}, tries, finished, workflow
	return tries == 0, nil
}

// before reports whether the last attempts of the failed steps began after the entry. tries is the number of their attempts before.
func (s *retrySearch) before(entry *snapshot.Entry) (before bool, tries int, err error) {
	row, err := entry.RunRow()
	if err != nil || len(s.failed) == 0 {
		return err == nil && row.Status != snapshot.RunFailed, 0, err
	}
	state, err := entry.State()
	if err != nil {
		return false, 0, err
	}
	for _, last := range s.failed {
		n, ok, err := mailbox.ReadRow(state.Nodes(), snapshot.Key(last.NodeID, last.Iteration), snapshot.DecodeNode)
		switch {
		case err != nil:
			return false, 0, err
		case !ok:
			continue
		case number(n) >= number(last) && n.State != snapshot.NodePending:
			return false, 0, nil
		}
		tries += number(n)
	}
	return true, tries, nil
}

// number returns the number of the last attempt of a node, or 0 if it has none.
func number(n snapshot.Node) int {
	if n.LastAttempt == nil {
		return 0
	}
	return *n.LastAttempt
}

// finishedIn returns the number of steps that are done at an entry.
func finishedIn(entry *snapshot.Entry) (done int, err error) {
	state, err := entry.State()
	if err != nil {
		return 0, err
	}
	for n, err := range state.AllNodes() {
		if err != nil {
			return 0, err
		}
		if n.State == snapshot.NodeFinished || n.State == snapshot.NodeSkipped {
			done++
		}
	}
	return done, nil
}
