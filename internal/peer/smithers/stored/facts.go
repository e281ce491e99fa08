package stored

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// FactsAt returns the facts of a run at entry, one of the run's entries: the run's row, state, tool calls and scores. It
// leaves Root, Events and Frames unset.
func FactsAt(entry *snapshot.Entry) (*tables.Facts, error) {
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
	if f.Calls, err = ToolCallsAt(entry); err != nil {
		return nil, err
	}
	f.Scores, err = ScoresAt(entry)
	return f, err
}

// LogsAt returns the logs in the journal of entry, by the key of the attempt.
func LogsAt(entry *snapshot.Entry) (map[string]string, error) {
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

// ScoresAt returns the scores in the journal of entry, sorted by key.
func ScoresAt(entry *snapshot.Entry) (all []snapshot.Score, err error) {
	for s, err := range entry.AllScores() {
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// ToolCallsAt returns the tool calls in the journal of entry, sorted by key.
func ToolCallsAt(entry *snapshot.Entry) (all []snapshot.ToolCall, err error) {
	for c, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// AttemptsAt returns the attempts in the journal of entry, sorted by key.
func AttemptsAt(entry *snapshot.Entry) ([]snapshot.Attempt, error) {
	var all []snapshot.Attempt
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// EventsTo returns the events of entry's run up to entry, sorted by number. It leaves out the events of a fork's
// parent.
func EventsTo(s *timeline.Store, entry *snapshot.Entry) ([]snapshot.Event, error) {
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
