package smithers

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// journal is the journal of a run at the newest entry of its line.
type journal struct {
	attempts map[string]snapshot.Attempt // by their keys
	logs     map[string]string           // by the keys of their attempts
	calls    map[string]string           // the rows of tool calls, by their keys
	scores   map[string]string           // the rows of scores, by their keys
}

// readJournal returns the attempts, the logs, the tool calls and the scores in the journal of entry.
func readJournal(entry *snapshot.Entry) (j journal, err error) {
	attempts, err := stored.AttemptsAt(entry)
	if err != nil {
		return j, err
	}
	j.attempts = make(map[string]snapshot.Attempt, len(attempts))
	for _, a := range attempts {
		j.attempts[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)] = a
	}
	if j.logs, err = stored.LogsAt(entry); err != nil {
		return j, err
	}
	if j.calls, err = rowsOf(entry.ToolCalls()); err != nil {
		return j, err
	}
	j.scores, err = rowsOf(entry.Scores())
	return j, err
}

// rowsOf returns the rows of a collection by their keys.
func rowsOf(c *page.Collection, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	rows := make(map[string]string)
	for row, err := range c.Rows() {
		if err != nil {
			return nil, err
		}
		rows[row.Key] = string(row.Value)
	}
	return rows, nil
}

// scoresTo returns the changes that make the journal's scores those of the database, as they were at atMs.
func (j *journal) scoresTo(atMs int64, scores []snapshot.Score) []snapshot.Change {
	var changes []snapshot.Change
	for _, s := range scores {
		if change := snapshot.SetScore(s); s.ScoredAtMs <= atMs && j.scores[change.Key] != string(change.Value) {
			changes = append(changes, change)
		}
	}
	return changes
}

// callsTo returns the changes that make the journal's tool calls those of the database, as they were at atMs.
func (j *journal) callsTo(atMs int64, calls []snapshot.ToolCall) []snapshot.Change {
	var changes []snapshot.Change
	for _, call := range calls {
		then, begun := tables.ToolCallThen(call, atMs)
		if !begun {
			continue
		}
		if change := snapshot.SetToolCall(then); j.calls[change.Key] != string(change.Value) {
			changes = append(changes, change)
		}
	}
	return changes
}

// take adds the attempts, the tool calls and the scores in changes to j. The entry with these changes must be stored. take skips logs, which
// changesTo has added.
func (j *journal) take(changes []snapshot.Change) error {
	for _, c := range changes {
		if c.Collection == snapshot.CollectionToolCalls {
			j.calls[c.Key] = string(c.Value)
		}
		if c.Collection == snapshot.CollectionScores {
			j.scores[c.Key] = string(c.Value)
		}
		if c.Collection != snapshot.CollectionAttempts {
			continue
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: c.Key, Value: c.Value})
		if err != nil {
			return err
		}
		j.attempts[c.Key] = a
	}
	return nil
}

// leftMore reports whether any of rows is an attempt that may have left files which no entry has. Such an attempt has a
// commit, ended after sinceMs, and has not ended in the journal.
func (j *journal) leftMore(rows []dbrun.Attempt, sinceMs int64) bool {
	return slices.ContainsFunc(rows, func(row dbrun.Attempt) bool {
		a := row.Attempt
		had := j.attempts[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
		return a.CommitID != "" && a.FinishedAtMs != nil && *a.FinishedAtMs > sinceMs && had.FinishedAtMs == nil
	})
}

// attemptFiles sets the fields of ended attempts that name the files which the attempts left.
type attemptFiles struct {
	frame    int64            // the first frame after the new attempts ended; the newest frame if no frame follows
	before   *workcopy.Moment // the moment of Smithers' newest stored frame; nil if no frame is stored
	first    bool             // the repository had no entry of the run before this pass
	captured *snapshot.VCS    // the files captured for the newest frame, or nil
	copies   *workcopy.Run
}

// addTo sets the fields of a, an attempt, that name the files which the attempt left. had is the same attempt in
// the journal. known is false if the journal does not have the attempt.
//
// If had has the same start and end times and a frame, a gets the fields of had. Otherwise, addTo changes only an
// attempt that ended after the newest stored frame. In a new run without a stored frame, it changes every ended
// attempt.
//
// A changed attempt gets the captured files. If no files were captured, it gets the working copy that Smithers
// recorded, if any. An attempt with a recorded revision or its own worktree never gets the captured files.
func (f *attemptFiles) addTo(a *snapshot.Attempt, had snapshot.Attempt, known bool) {
	since := f.before == nil && f.first || f.before != nil && a.FinishedAtMs != nil && *a.FinishedAtMs > f.before.AtMs
	switch {
	case known && had.Frame != nil && sameEnd(had, *a):
		a.CommitID, a.Tree, a.Frame, a.Worktree, a.Beside = had.CommitID, had.Tree, had.Frame, had.Worktree, had.Beside
	case since && f.captured != nil && !f.copies.HasOwn(a):
		f.copies.PointAt(a, f.frame, f.captured)
	case since:
		f.copies.Point(a, f.frame)
	}
}

// changesTo returns the changes that make the journal have the attempts of rows as they were at atMs: the
// new and the changed attempts that began by atMs, and the new logs of ended attempts. files names the files that ended
// attempts left. changesTo adds the logs to j and sets the elements of done.
//
// done has one element for each row: see runLine.done. changesTo skips an attempt whose element is true, if the
// attempt ended by atMs and by the newest stored frame. The journal already has the whole attempt.
func (j *journal) changesTo(atMs int64, rows []dbrun.Attempt, done []bool, files attemptFiles) (changes []snapshot.Change) {
	for i := range rows {
		row := &rows[i]
		if done[i] && files.before != nil && row.EndedBy(min(atMs, files.before.AtMs)) {
			continue
		}
		a, begun := row.Then(atMs)
		if !begun {
			continue
		}
		key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)
		had, known := j.attempts[key]
		// An attempt is done if it ended by the time of the newest stored frame.
		done[i] = files.before != nil && row.EndedBy(files.before.AtMs)
		files.addTo(&a, had, known)
		a.Carried = had.Carried
		if change := setRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(a)); !known || string(snapshot.EncodeAttempt(had).Value) != string(change.Value) {
			changes = append(changes, change)
		}
		if row.Log != "" && a.FinishedAtMs != nil && j.logs[key] != row.Log {
			j.logs[key] = row.Log
			changes = append(changes, setRow(snapshot.CollectionLogs, snapshot.EncodeLog(a.NodeID, a.Iteration, a.Attempt, row.Log)))
		}
	}
	return changes
}

// sameEnd reports whether a and b, two states of one attempt, have both ended, with equal start and end times.
func sameEnd(a, b snapshot.Attempt) bool {
	return a.StartedAtMs == b.StartedAtMs && a.FinishedAtMs != nil && b.FinishedAtMs != nil && *a.FinishedAtMs == *b.FinishedAtMs
}

// setRow returns the change that adds row to collection, or replaces the row with the same key.
func setRow(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: row.Value}
}
