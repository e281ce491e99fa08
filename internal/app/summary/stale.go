package summary

import (
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Stale reports whether the run of an entry has the status running, but no live process that owns the run. A run that another clone has
// claimed is not stale: nobody knows here whether its process is alive. A run of another engine is never
// stale: the processes of that engine claim no runs, and only a travel or a restore has claimed the run for a moment. If the entry cannot be
// read, Stale assumes that git smithers runs the run.
func Stale(s *timeline.Store, row snapshot.Run, entry *snapshot.Entry) bool {
	if row.Status != snapshot.RunRunning || row.Epoch == 0 {
		return false
	}
	if owner := s.Owner(row); owner.Live || owner.Elsewhere {
		return false
	}
	engine, err := ForeignEngine(entry)
	return err != nil || engine == ""
}

// StaleInfo is Stale for a run of a list, at the entry that the list knows. StaleInfo reads the entry only if the list leaves it open.
func StaleInfo(s *timeline.Store, run list.RunInfo) bool {
	if !list.Stale(s, run) {
		return false
	}
	head, err := list.HeadOf(s, run)
	return err != nil || Stale(s, head.Row(), head.Entry())
}

// ForeignEngine returns the name of the other engine that runs the run of an entry, or "" if git smithers runs it. The run belongs
// to another engine if that engine has stored data in the run, and the run stores no workflow of git smithers. If several engines have stored
// data, ForeignEngine returns the first of these engines.
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
		if _, err := workflow.Stored("", kept.Definition); err == nil {
			return "", nil
		}
	}
	return engines[0], nil
}
