package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
)

// allSandboxes reads everything but the heartbeats, which are of processes.
const allSandboxes = `SELECT run_id, sandbox_id, runtime, remote_run_id, workspace_id, container_id, config_json, status, shipped_at_ms, completed_at_ms, bundle_path FROM _smithers_sandboxes ORDER BY run_id, sandbox_id`

func TestSandboxesOfSmithersAreSeenAndComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sandboxes.db")
	w.importAll()
	index, err := w.store.Details(t.Context())
	require.NoError(t, err)
	answer, err := index.Query(t.Context(), `SELECT runtime, container_id, status, completed_at_ms - shipped_at_ms, bundle_path,
		config_json ->> '$.memoryLimit' FROM _smithers_sandboxes WHERE sandbox_id IN ('dk', 'pr', 'rej') ORDER BY sandbox_id`)
	require.NoError(t, err)
	assert.Equal(t, [][]any{
		{"docker", nil, "finished", int64(817), "/srv/model/sb/.smithers/sandboxes/s1/dk/result", "256m"},
		{"stubprov", "ct-1", "finished", int64(22), "/srv/model/sb/.smithers/sandboxes/s1/pr/result", nil},
		{"stubprov", nil, "failed", int64(10), nil, nil},
	}, answer.Rows)

	to := filepath.Join(t.TempDir(), "smithers.db")
	exported, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/sb"})
	require.NoError(t, err)
	for _, run := range exported.Runs {
		assert.True(t, run.Exact, run.RunID)
	}
	assert.Equal(t, query(t, w.source, allSandboxes), query(t, to, allSandboxes))
	assertSound(t, to)
}
