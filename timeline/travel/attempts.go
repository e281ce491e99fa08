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

// stepping is what becomes of the attempts of a journal when the run goes on from
// elsewhere. They all stay in it.
type stepping struct {
	store *timeline.Store
	tip   *snapshot.Entry
	why   string // for those that have no error of their own
	at    int64

	changes   []snapshot.Change // of the journal
	cancelled []string          // keys of attempts, sorted
	nodes     map[string]bool   // keys of nodes with an attempt that was not there then, and was not cancelled
	logs      []string          // keys of attempts whose logs are in the journal now
}

// stepOver begins to step over attempts of the run.
func (t *plan) stepOver(why string, at int64) *stepping {
	return &stepping{
		store: t.store, tip: t.head.Entry(), why: steppedOver + ": " + why, at: at,
		cancelled: []string{}, nodes: make(map[string]bool),
	}
}

// all cancels the attempts that which chooses.
func (p *stepping) all(which func(snapshot.Attempt) bool) error {
	return p.each(func(row page.Row, a snapshot.Attempt) error {
		if which(a) {
			p.cancel(row, a)
		}
		return nil
	})
}

// since makes attempts what they were at an entry, and cancels those that it does not
// know; with ended, also those that were in progress there, since nobody goes on with them.
func (p *stepping) since(then *snapshot.Entry, ended bool) error {
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

func (p *stepping) each(use func(page.Row, snapshot.Attempt) error) error {
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

// cancel marks an attempt cancelled. Why it failed, where it did, is kept, and so is what
// one that never ended has logged.
func (p *stepping) cancel(row page.Row, a snapshot.Attempt) {
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

func (p *stepping) set(row page.Row) {
	p.changes = append(p.changes, snapshot.Change{
		Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value,
	})
}

// forgetLogs removes the files of the logs that are in the journal now.
func (p *stepping) forgetLogs() {
	for _, key := range p.logs {
		claim.LiveLogsOf(p.store, p.tip.Run).Remove(key)
	}
}
