package sqliteindex_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestAnOverviewHasTheNewestRunsOfEachPartAndWhatFailedLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := w.run(t, "failed last", w.first("failed last"), eventDraft(snapshot.RunRunning))
	for _, run := range []struct {
		id     string
		status snapshot.RunStatus
	}{
		{"failed", snapshot.RunFailed},
		{"waits long", snapshot.RunWaitingApproval},
		{"waits", snapshot.RunWaitingTimer},
		{"runs", snapshot.RunRunning},
		{"old", snapshot.RunFinished},
		{"new", snapshot.RunFinished},
	} {
		w.run(t, run.id, w.first(run.id), eventDraft(run.status))
	}
	w.extend(t, late, eventDraft(snapshot.RunFailed))
	x := w.index(t)
	require.NoError(t, x.Sync(t.Context()))
	overview, err := sqliteindex.ReadOverview(t.Context(), x, 1)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"failed": 2, "waiting-approval": 1, "waiting-timer": 1, "running": 1, "finished": 2}, overview.Counts)
	var runs []string
	for _, run := range overview.Runs {
		runs = append(runs, run.RunID)
	}
	assert.ElementsMatch(t, []string{"new", "runs", "waits", "failed last"}, runs)
}
