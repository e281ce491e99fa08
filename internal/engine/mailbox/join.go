package mailbox

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Join puts the decisions that only this repository has after the entries that only a remote has: approvals, denials, answers,
// signals and scores. The remote accepted its entries first. So a decision made here counts only if its row is in the remote's run as it
// was when the decision was made. Otherwise the decision is noted as late, by an event and a warning. An operation that the remote has is left out.
//
// Join returns nil if this repository added anything else to the run, such as a claim or a frame, or if a live process owns the run. Code:
// conflict if the local tip has moved.
func Join(ctx context.Context, s *timeline.Store, what share.Diverged) (*snapshot.Entry, error) {
	local, err := what.Since(s, what.Local)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	made, err := decisionsOf(local)
	if err != nil || len(made) == 0 {
		return nil, timeline.Explain(err)
	}
	remote, err := what.Since(s, what.Remote)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	head, err := s.Head(ctx, what.Run)
	if err != nil {
		return nil, err
	}
	if head.Entry().ID != what.Local.ID {
		return nil, fault.New(fault.Conflict, "run %q was continued meanwhile", what.Run)
	}
	if s.Owner(head.Row()).Live {
		return nil, nil //nolint:nilnil // the run is busy
	}
	series, err := timeline.SeriesOnto(ctx, head, what.Remote)
	if err != nil {
		return nil, err
	}
	defer series.Close()
	var late []string
	for _, d := range made {
		known := func(e *snapshot.Entry) bool { return e.Operation != "" && e.Operation == d.entry.Operation }
		if slices.ContainsFunc(remote, known) {
			continue
		}
		draft, isLate, err := d.onto(series.Entry())
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if _, err := series.Append(ctx, *draft); err != nil {
			return nil, err
		}
		if isLate {
			late = append(late, draft.Subject)
		}
	}
	joined, err := series.Commit(ctx)
	if err != nil {
		return nil, err
	}
	for _, subject := range late {
		s.Warn(fmt.Errorf("run %s: %s: the run had another decision before; `%s` shows both",
			what.Run, subject, fault.CommandLine(fault.Program, "events", what.Run, "--type", EventLate)))
	}
	return joined.Entry(), nil
}

// EventLate is the type of the event about a decision that came after another one.
const EventLate = "DecisionLate"

// decision is an entry that only decides, and the rows that it changes.
type decision struct {
	entry *snapshot.Entry
	rows  []decidedRow
}

// decidedRow is a row of the mailbox, or a score, that a decision changes.
type decidedRow struct {
	collection string
	page.Delta
}

// decisionsOf returns the decisions of the entries of a run, oldest first, without the first entry. It returns nil if one of the others does more than decide.
func decisionsOf(entries []*snapshot.Entry) (made []decision, err error) {
	for i := 1; i < len(entries); i++ {
		rows, only, err := decidedIn(entries[i-1], entries[i])
		if err != nil || !only {
			return nil, err
		}
		made = append(made, decision{entries[i], rows})
	}
	return made, nil
}

// decidedIn returns the rows that entry decides, compared with the entry before. only is false if entry changes anything else.
func decidedIn(before, entry *snapshot.Entry) (rows []decidedRow, only bool, err error) {
	changed, err := entry.Changed(before)
	others := func(part string) bool { return !slices.Contains(decidable, part) }
	if err != nil || entry.Frame != snapshot.NoFrame || slices.ContainsFunc(changed, others) {
		return nil, false, err
	}
	if same, err := sameRun(before, entry); err != nil || !same {
		return nil, false, err
	}
	for _, name := range decidable {
		was, err := before.Rows(name)
		if err != nil {
			return nil, false, err
		}
		is, err := entry.Rows(name)
		if err != nil {
			return nil, false, err
		}
		for delta, err := range page.Diff(was, is) {
			if err != nil || delta.To == nil {
				return nil, false, err
			}
			rows = append(rows, decidedRow{name, delta})
		}
	}
	if len(rows) > 0 {
		return rows, true, nil
	}
	events, err := entry.Events() // an earlier Join may have noted a late decision
	return nil, len(events) > 0 && !slices.ContainsFunc(events, func(e snapshot.Event) bool { return e.Type != EventLate }), err
}

// decidable are the collections that decisions change, in the order in which they are repeated.
var decidable = []string{
	snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals, snapshot.CollectionScores,
}

// sameRun reports whether two entries have the same row of the run. The secrets and events that the row counts do not matter, because an append counts them anew.
func sameRun(a, b *snapshot.Entry) (bool, error) {
	was, err := a.RunRow()
	if err != nil {
		return false, err
	}
	is, err := b.RunRow()
	was.Secrets, was.Marks, was.NextSeq = is.Secrets, is.Marks, is.NextSeq
	return reflect.DeepEqual(was, is), err
}

// onto returns the draft that repeats a decision after the entry tip. Rows that tip has in another form than the decision found become
// events about late decisions. late is true if the draft has only such events, and the entry of d has others.
func (d decision) onto(tip *snapshot.Entry) (draft *snapshot.Draft, late bool, err error) {
	row, err := tip.RunRow()
	if err != nil {
		return nil, false, err
	}
	draft = &snapshot.Draft{
		Subject: d.entry.Subject, AtMs: d.entry.AtMs, Operation: d.entry.Operation,
		Limits: snapshot.Limits{Depth: math.MaxInt, Key: math.MaxInt, Value: math.MaxInt}, // the rows are stored already
	}
	var signals, lates []snapshot.Event
	for _, r := range d.rows {
		there, err := tip.Rows(r.collection)
		if err != nil {
			return nil, false, err
		}
		has, _, err := there.Get(r.Key)
		if err != nil {
			return nil, false, err
		}
		isSignal := r.collection == snapshot.CollectionSignals
		if !bytes.Equal(has, r.From) || isSignal && row.Status == snapshot.RunFinished {
			event, err := r.late(row.ID, has, d.entry.AtMs)
			if err != nil {
				return nil, false, err
			}
			lates = append(lates, event)
			continue
		}
		if isSignal {
			event, err := r.renumber(row.ID, there.Len()+len(signals))
			if err != nil {
				return nil, false, err
			}
			signals = append(signals, event)
		}
		change := SetRow(r.collection, r.Key, r.To)
		if r.collection == snapshot.CollectionScores {
			draft.Journal = append(draft.Journal, change)
		} else {
			draft.Mailbox = append(draft.Mailbox, change)
		}
	}
	late = len(d.rows) > 0 && len(lates) == len(d.rows)
	if late {
		draft.Subject += ", too late"
	} else {
		events, err := d.entry.Events()
		if err != nil {
			return nil, false, err
		}
		draft.Events = slices.DeleteFunc(events, func(e snapshot.Event) bool { return e.Type == eventSignal })
	}
	draft.Events = slices.Concat(draft.Events, signals, lates)
	return draft, late, nil
}

// renumber gives the row of a signal the number seq, and returns the signal's event.
func (r *decidedRow) renumber(run string, seq int) (snapshot.Event, error) {
	signal, err := snapshot.DecodeSignal(page.Row{Key: r.Key, Value: r.To})
	if err != nil {
		return snapshot.Event{}, err
	}
	signal.Seq = int64(seq)
	r.To = snapshot.EncodeSignal(signal).Value
	return signalEvent(run, signal)
}

// late returns the event about a decision that does not count. first is the row that counts, or nil if the run has no such row.
func (r *decidedRow) late(run string, first []byte, atMs int64) (snapshot.Event, error) {
	about := Event{Collection: r.collection, Key: r.Key, Decision: r.To, First: first}
	node, iteration, err := snapshot.SplitKey(r.Key)
	switch r.collection {
	case snapshot.CollectionScores:
		node, iteration, about.Attempt, _, _, err = snapshot.SplitScoreKey(r.Key)
	case snapshot.CollectionSignals:
		return about.Encode(run, EventLate, atMs)
	}
	if err != nil {
		return snapshot.Event{}, err
	}
	return about.At(node, iteration, about.Attempt).Encode(run, EventLate, atMs)
}
