package travel

import (
	"bytes"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
)

// steppedOver is the code of attempts that a travel, reset or undo has marked cancelled.
const steppedOver = "stepped_over"

// attemptChanges gathers the changes to a journal's attempts when the run continues from another place. No attempt is
// removed from the journal.
type attemptChanges struct {
	store *timeline.Store
	tip   *snapshot.Entry
	why   string // the error of cancelled attempts that have none of their own
	at    int64

	changes   []snapshot.Change // of the journal
	cancelled []string          // keys of attempts, sorted
	nodes     map[string]bool   // keys of nodes with newer attempts that were not cancelled yet
	logs      []string          // keys of attempts whose live logs the changes copy to the journal
}

// stepOver returns an empty set of changes to the attempts of the run. why says why attempts are cancelled.
func (t *plan) stepOver(why string, at int64) *attemptChanges {
	return &attemptChanges{
		store: t.store, tip: t.head.Entry(), why: steppedOver + ": " + why, at: at,
		cancelled: []string{}, nodes: make(map[string]bool),
	}
}

// all cancels every attempt for which the function which returns true.
func (p *attemptChanges) all(which func(snapshot.Attempt) bool) error {
	return p.each(func(row page.Row, a snapshot.Attempt) error {
		if which(a) {
			p.cancel(row, a)
		}
		return nil
	})
}

// since sets every attempt back to its row in an earlier entry, and cancels the attempts that the entry does not
// have. If ended is true, it also cancels the attempts that were in progress in the entry, since no process continues
// them.
func (p *attemptChanges) since(then *snapshot.Entry, ended bool) error {
	known, err := then.Attempts()
	if err != nil {
		return err
	}
	return p.each(func(row page.Row, a snapshot.Attempt) error {
		value, has, err := known.Get(row.Key)
		if err != nil {
			return err
		}
		if !has {
			if a.State != snapshot.AttemptCancelled {
				p.nodes[snapshot.Key(a.NodeID, a.Iteration)] = true
			}
			p.cancel(row, a)
			return nil
		}
		was, err := snapshot.DecodeAttempt(page.Row{Key: row.Key, Value: value})
		if err == nil {
			was, err = then.Renumber(was)
		}
		if err != nil {
			return err
		}
		before := snapshot.EncodeAttempt(was)
		switch {
		case ended && was.State == snapshot.AttemptInProgress:
			p.cancel(row, a)
		case !bytes.Equal(before.Value, row.Value):
			p.set(before)
		}
		return nil
	})
}

// each calls use for every attempt at the tip, and sorts the keys of the cancelled ones.
func (p *attemptChanges) each(use func(page.Row, snapshot.Attempt) error) error {
	attempts, err := p.tip.Attempts()
	if err != nil {
		return err
	}
	for row, err := range attempts.Rows() {
		if err != nil {
			return err
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return err
		}
		if err := use(row, a); err != nil {
			return err
		}
	}
	slices.Sort(p.cancelled)
	return nil
}

// cancel marks an attempt cancelled. An attempt that failed keeps its error. If the attempt never ended, its live log
// is copied to the journal.
func (p *attemptChanges) cancel(row page.Row, a snapshot.Attempt) {
	if a.State == snapshot.AttemptCancelled {
		return
	}
	if a.State == snapshot.AttemptInProgress {
		if text := claim.LiveLogsOf(p.store, p.tip.Run).Last(row.Key); text != "" {
			log := snapshot.EncodeLog(a.NodeID, a.Iteration, a.Attempt, text)
			p.changes = append(p.changes, snapshot.Change{
				Op: snapshot.OpSet, Collection: snapshot.CollectionLogs, Key: log.Key, Value: log.Value,
			})
			p.logs = append(p.logs, row.Key)
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
	p.cancelled = append(p.cancelled, row.Key)
}

// set changes the row of an attempt.
func (p *attemptChanges) set(row page.Row) {
	p.changes = append(p.changes, snapshot.Change{
		Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value,
	})
}

// forgetLogs removes the live log files that the journal has now.
func (p *attemptChanges) forgetLogs() {
	for _, key := range p.logs {
		claim.LiveLogsOf(p.store, p.tip.Run).Remove(key)
	}
}
