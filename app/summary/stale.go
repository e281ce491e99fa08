package summary

import (
	"context"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// Stale reports whether the run of an entry has the status running, but no live process that owns it. A run of another engine is never
// stale, although a travel or a restore claims it for a moment: its own processes claim nothing. If the entry cannot be read, the
// run counts as ours.
func Stale(s *timeline.Store, row snapshot.Run, entry *snapshot.Entry) bool {
	if row.Status != snapshot.RunRunning || row.Epoch == 0 || s.Owner(row).Live {
		return false
	}
	engine, err := ForeignEngine(entry)
	return err != nil || engine == ""
}

// StaleInfo returns what Stale does of the newest entry of a run in a list. It reads the entry only if the run may be stale.
func StaleInfo(ctx context.Context, s *timeline.Store, run list.RunInfo) bool {
	if !list.Stale(s, run) {
		return false
	}
	head, err := s.Head(ctx, run.RunID)
	return err != nil || Stale(s, head.Row(), head.Entry())
}

// ForeignEngine returns the name of the other engine that runs the run of an entry, or "" if git smithers runs it. The run belongs
// to another engine if that engine has stored data in the run, and the run stores no workflow of git smithers. If several engines have stored
// data, the result is the first of them.
func ForeignEngine(entry *snapshot.Entry) (string, error) {
	engines, err := entry.ExtEngines()
	if err != nil || len(engines) == 0 {
		return "", timeline.Explain(err)
	}
	kept, err := entry.Workflow()
	if err != nil {
		return "", timeline.Explain(err)
	}
	if kept != nil {
		if _, err := workflow.Parse("", kept.Definition); err == nil {
			return "", nil
		}
	}
	return engines[0], nil
}
