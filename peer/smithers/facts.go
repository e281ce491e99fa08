package smithers

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// factsAt are the facts of a run at an entry of its, but for its frames and the events.
func factsAt(entry *snapshot.Entry) (*tables.Facts, error) {
	row, err := entry.RunRow()
	if err != nil {
		return nil, err
	}
	state, err := entry.State()
	if err != nil {
		return nil, err
	}
	f := &tables.Facts{Run: row}
	if f.Whole, err = contents.WholeOf(state); err != nil {
		return nil, err
	}
	if f.Attempts, err = attemptsAt(entry); err != nil {
		return nil, err
	}
	f.Logs, err = logsAt(entry)
	return f, err
}

// logsAt are the logs in an entry's journal, by the keys of their attempts.
func logsAt(entry *snapshot.Entry) (map[string]string, error) {
	rows, err := entry.Logs()
	if err != nil {
		return nil, err
	}
	logs := make(map[string]string)
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, err
		}
		if logs[row.Key], err = snapshot.DecodeLog(row); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// attemptsAt are the attempts in an entry's journal, in the order of their keys.
func attemptsAt(entry *snapshot.Entry) ([]snapshot.Attempt, error) {
	rows, err := entry.Attempts()
	if err != nil {
		return nil, err
	}
	var all []snapshot.Attempt
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, err
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// eventsTo are the run's own events up to an entry, in their order.
func eventsTo(s *timeline.Store, entry *snapshot.Entry) ([]snapshot.Event, error) {
	var all []snapshot.Event
	for entry, err := range s.Chain(entry) {
		if err != nil {
			return nil, err
		}
		events, err := entry.Events()
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(a, b snapshot.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

// setRow is the change that sets a row of a collection.
func setRow(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: row.Value}
}
