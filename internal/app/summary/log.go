package summary

import (
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// StoredLog returns the stored log of an attempt as it is, with all its control characters. ok is false if there is none.
func (sum *Summary) StoredLog(a *Attempt) (text string, ok bool, err error) {
	logs, err := sum.Entry.Logs()
	if err != nil {
		return "", false, timeline.Explain(err)
	}
	key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt.Attempt)
	value, ok, err := logs.Get(key)
	if err != nil || !ok {
		return "", false, timeline.Explain(err)
	}
	text, err = snapshot.DecodeLog(page.Row{Key: key, Value: value})
	return text, err == nil, timeline.Explain(err)
}
