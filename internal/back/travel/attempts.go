package travel

import (
	"bytes"
	"slices"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// steppedOver is the error code at the start of the error of an attempt that a travel, reset or undo has cancelled.
const steppedOver = "stepped_over"

// attemptChanges collects the changes that a plan makes to the attempts in the journal. It removes no
// attempt.
type attemptChanges struct {
	store *timeline.Store
	tip   *snapshot.Entry
	why   string // the error of cancelled attempts that have no error of their own
	at    int64  // the time of the change, in milliseconds since 1970

	changes   []snapshot.Change // changes of the journal
	cancelled []string          // the keys of the attempts that the changes cancel, sorted
	nodes     map[string]bool   // the keys of the nodes of the later attempts that the method since cancelled
	logs      []string          // the keys of the attempts whose live logs are copied to the journal
}

// stepOver returns an attemptChanges for the attempts at the tip. It has no changes yet; its methods all and since add
// changes. why is the reason in the errors of cancelled attempts. at is the time of the change, in milliseconds since
// 1970.
func (t *plan) stepOver(why string, at int64) *attemptChanges {
	return &attemptChanges{
		store: t.store, tip: t.head.Entry(), why: steppedOver + ": " + why, at: at,
		cancelled: []string{}, nodes: make(map[string]bool),
	}
}

// all cancels every attempt for which wanted returns true.
func (p *attemptChanges) all(wanted func(snapshot.Attempt) bool) error {
	return p.each(func(a snapshot.Attempt) error {
		if wanted(a) {
			p.cancel(a)
		}
		return nil
	})
}

// since takes the attempts back to their state in earlier, an older entry. Every attempt that earlier has gets its row
// in earlier. Every later attempt is cancelled, and its node is added to p.nodes. If ended is true, since also cancels
// the attempts that were in progress in earlier, because no process continues them.
func (p *attemptChanges) since(earlier *snapshot.Entry, ended bool) error {
	known, err := earlier.Attempts()
	if err != nil {
		return err
	}
	return p.each(func(a snapshot.Attempt) error {
		row := snapshot.EncodeAttempt(a)
		value, has, err := known.Get(row.Key)
		if err != nil {
			return err
		}
		if !has {
			if a.State != snapshot.AttemptCancelled {
				p.nodes[snapshot.Key(a.NodeID, a.Iteration)] = true
			}
			p.cancel(a)
			return nil
		}
		was, err := snapshot.DecodeAttempt(page.Row{Key: row.Key, Value: value})
		if err == nil { // in a view of an extended run, the stored frame numbers are those of that run
			was, err = earlier.Renumber(was)
		}
		if err != nil {
			return err
		}
		before := snapshot.EncodeAttempt(was)
		switch {
		case ended && was.State == snapshot.AttemptInProgress:
			p.cancel(a)
		case !bytes.Equal(before.Value, row.Value):
			p.set(before)
		}
		return nil
	})
}

// each calls visit with every attempt at the tip, and then sorts p.cancelled.
func (p *attemptChanges) each(visit func(snapshot.Attempt) error) error {
	for a, err := range p.tip.AllAttempts() {
		if err != nil {
			return err
		}
		if err := visit(a); err != nil {
			return err
		}
	}
	slices.Sort(p.cancelled)
	return nil
}

// cancel adds the changes that mark the attempt a as cancelled. If the attempt has no error,
// its error is p.why. If it has no end time, its end time is p.at. If the attempt is in progress, cancel also
// copies its live log to the journal. An attempt that is already cancelled stays unchanged.
func (p *attemptChanges) cancel(a snapshot.Attempt) {
	if a.State == snapshot.AttemptCancelled {
		return
	}
	key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)
	if a.State == snapshot.AttemptInProgress {
		if text := claim.LiveLogsOf(p.store, p.tip.Run).Last(key); text != "" {
			log := snapshot.EncodeLog(a.NodeID, a.Iteration, a.Attempt, text)
			p.changes = append(p.changes, snapshot.Change{
				Op: snapshot.OpSet, Collection: snapshot.CollectionLogs, Key: log.Key, Value: log.Value, Redacted: true, // as people have seen it
			})
			p.logs = append(p.logs, key)
		}
	}
	a.State = snapshot.AttemptCancelled
	if a.Error == "" {
		a.Error = p.why
	}
	if a.FinishedAtMs == nil {
		a.FinishedAtMs = &p.at
	}
	p.set(snapshot.EncodeAttempt(a))
	p.cancelled = append(p.cancelled, key)
}

// set adds a change that replaces the row of an attempt. Its texts are those of a stored row, or ours.
func (p *attemptChanges) set(row page.Row) {
	p.changes = append(p.changes, snapshot.Change{
		Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value, Redacted: true,
	})
}

// forgetLogs removes the files of the live logs that p.changes copies to the journal. Call it after these
// changes are recorded.
func (p *attemptChanges) forgetLogs() {
	for _, key := range p.logs {
		claim.LiveLogsOf(p.store, p.tip.Run).Remove(key)
	}
}
