package timeline

import (
	"bytes"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// maxLateRows is the largest number of rows that came late and that a fork takes over.
	maxLateRows = 10_000
	// maxLaterRows is the largest number of rows after a frame in which lateRows looks for tool calls and logs that came late.
	maxLaterRows = 20_000
)

// lateRows returns changes that set rows which came after a frame of the run and belong to attempts that had ended in the frame: their scores,
// tool calls and logs. A fork of the frame has the attempts, so it has these rows, too. tip is the newest entry of the run. A row with
// a secret that the frame's run did not know, or beyond limits, is left out.
func lateRows(frame, tip *snapshot.Entry, limits snapshot.Limits) ([]snapshot.Change, error) {
	if frame.ID == tip.ID {
		return nil, nil
	}
	attempts, err := frame.Attempts()
	if err != nil {
		return nil, err
	}
	now, err := tip.Attempts()
	if err != nil {
		return nil, err
	}
	known, err := sameSecrets(frame, tip)
	if err != nil {
		return nil, err
	}
	same := make(map[string]bool) // by attempt: it had ended in the frame, and is still the same
	ended := func(key string) (bool, error) {
		if is, asked := same[key]; asked {
			return is, nil
		}
		was, found, err := attempts.Get(key)
		if err != nil || !found {
			return false, err
		}
		is, _, err := now.Get(key)
		if err != nil {
			return false, err
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: was})
		same[key] = err == nil && a.FinishedAtMs != nil && bytes.Equal(was, is)
		return same[key], err
	}
	var changes []snapshot.Change
	for name, attemptOf := range lateCollections {
		before, err := frame.Rows(name)
		if err != nil {
			return nil, err
		}
		after, err := tip.Rows(name)
		if err != nil {
			return nil, err
		}
		if name != snapshot.CollectionScores && after.Len()-before.Len() > maxLaterRows {
			continue
		}
		keys, err := page.NewKeys(before, after)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if len(changes) == maxLateRows {
				return changes, nil
			}
			of, ok := attemptOf(key)
			if !ok {
				continue
			}
			if ok, err = ended(of); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			value, _, err := after.Get(key)
			if err != nil {
				return nil, err
			}
			fits := limits.CheckKey(key) == nil && limits.CheckValue(value) == nil // another clone may take in larger ones
			if fits && (known || !bytes.Contains(value, []byte("secret:"))) {
				changes = append(changes, snapshot.Change{Op: snapshot.OpSet, Collection: name, Key: key, Value: value, Redacted: true})
			}
		}
	}
	return changes, nil
}

// lateCollections are the collections whose rows may come after their attempt has ended, with the functions that return the key of a row's
// attempt.
var lateCollections = map[string]func(key string) (string, bool){
	snapshot.CollectionScores: func(key string) (string, bool) {
		node, iteration, attempt, _, _, err := snapshot.SplitScoreKey(key)
		return snapshot.AttemptKey(node, iteration, attempt), err == nil
	},
	snapshot.CollectionToolCalls: func(key string) (string, bool) {
		node, iteration, attempt, _, err := snapshot.SplitToolCallKey(key)
		return snapshot.AttemptKey(node, iteration, attempt), err == nil
	},
	snapshot.CollectionLogs: func(key string) (string, bool) { return key, true },
}

// sameSecrets reports whether two entries of a run know the same secrets.
func sameSecrets(a, b *snapshot.Entry) (bool, error) {
	was, err := a.RunRow()
	if err != nil {
		return false, err
	}
	is, err := b.RunRow()
	return is.Secrets == was.Secrets, err
}
