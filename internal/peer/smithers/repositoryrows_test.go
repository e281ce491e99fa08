package smithers_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allResults reads everything that a database has of cached results.
const allResults = `SELECT * FROM _smithers_cache ORDER BY cache_key`

func TestTheCacheOfSmithersIsImportedAndComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{"cache-git.db", "cache-jj.db"} {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			cacheComesAndGoes(t, fixture)
		})
	}
}

// cacheComesAndGoes imports a database with cached results, and exports it again.
func cacheComesAndGoes(t *testing.T, fixture string) {
	t.Helper()
	w := newWorld(t, fixture)
	imported, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, left := range imported.Left {
		assert.NotEqual(t, "_smithers_cache", left.Table)
	}

	index, err := w.store.Details(t.Context())
	require.NoError(t, err)
	for range 2 { // the second time, the table is up to date
		require.NoError(t, cache.Of(w.store).Index(t.Context(), index))
		shown, err := index.Query(t.Context(), `SELECT cache_key, created_at_ms, workflow_name, node_id, output_table, schema_sig, agent_sig,
			tools_sig, jj_pointer, payload_json FROM _smithers_cache ORDER BY cache_key`)
		require.NoError(t, err)
		require.Len(t, shown.Rows, len(query(t, w.source, allResults)))
	}

	to := filepath.Join(t.TempDir(), "smithers.db")
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/w"})
	require.NoError(t, err)
	assert.Equal(t, query(t, w.source, allResults), query(t, to, allResults))
	cached := `SELECT run_id, node_id, iteration, attempt, cached FROM _smithers_attempts ORDER BY run_id, node_id, iteration, attempt`
	assert.Equal(t, query(t, w.source, cached), query(t, to, cached))
	assertSound(t, to)

	before, err := cache.Of(w.store).Peer().All(t.Context())
	require.NoError(t, err)
	w.importAll()
	after, err := cache.Of(w.store).Peer().All(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, after, "the same database again changes nothing")
}

func TestResultsOfOursAreExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	_, err := w.store.Create(t.Context(), snapshot.Run{ID: "ours", Status: snapshot.RunFinished, CreatedAtMs: 1, Workflow: "flow"}, snapshot.Draft{})
	require.NoError(t, err)
	e := &cache.Entry{
		Key: cache.Key{cache.PartWorkflow: "flow", cache.PartNode: "n"}, Run: "ours", Attempt: 1, CreatedAtMs: 7, Table: "sum", SchemaSig: "s",
		Output: json.RawMessage(`{"n":1}`),
	}
	require.NoError(t, cache.Of(w.store).Put(context.Background(), e))
	to, _ := w.export("ours")
	assert.Equal(t, [][]string{{e.Sum, "7", "flow", "n", "sum", "s", "", `{"n":1}`}}, query(t, to,
		`SELECT cache_key, created_at_ms, workflow_name, node_id, output_table, schema_sig, agent_sig, payload_json FROM _smithers_cache`))
	assertSound(t, to)
}

func TestSchedulesOfSmithersAreImportedDisabledAndComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "cron.db")
	imported, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, left := range imported.Left {
		assert.NotEqual(t, "_smithers_cron", left.Table)
	}
	all, err := cron.Of(w.store).All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 5)
	for _, s := range all {
		assert.False(t, s.Fires(), "%s was not enabled here", s.ID)
	}
	assert.Contains(t, all[1].Error, "Invalid characters")
	index, err := w.store.Details(t.Context())
	require.NoError(t, err)
	require.NoError(t, cron.Of(w.store).Index(t.Context(), index))
	shown, err := index.Query(t.Context(), `SELECT cron_id, pattern, enabled FROM _smithers_cron WHERE cron_id = 'missed'`)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"missed", "0 * * * *", int64(0)}}, shown.Rows)

	own := &cron.Schedule{ID: "ours", Pattern: "@daily", Zone: "UTC", Workflow: "w.yaml", Missed: cron.MissedOnce, Overlap: cron.OverlapSkip, CreatedAtMs: 7}
	require.NoError(t, cron.Of(w.store).Add(t.Context(), own))
	to := filepath.Join(t.TempDir(), "smithers.db")
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/w"})
	require.NoError(t, err)
	const theirs = `SELECT * FROM _smithers_cron WHERE cron_id <> 'ours' ORDER BY cron_id`
	assert.Equal(t, query(t, w.source, theirs), query(t, to, theirs))
	assert.Equal(t, [][]string{{"ours", "@daily", "w.yaml", "0", "7", "", "", ""}}, query(t, to, `SELECT * FROM _smithers_cron WHERE cron_id = 'ours'`),
		"Smithers cannot run it")
	assertSound(t, to)
}

func TestVectorsOfSmithersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	require.NoError(t, sourcetest.Exec(t.Context(), w.source, `INSERT INTO _smithers_vectors VALUES ('v1', 'ns', 'text', x'0000803f000000ff', 2, '{"a":1}', 'doc', 0, 5), ('v2', 'ns', 'more', x'', 0, NULL, NULL, NULL, 6)`))
	imported, err := smithers.Import(t.Context(), w.store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	for _, left := range imported.Left {
		assert.NotEqual(t, "_smithers_vectors", left.Table)
	}
	index, err := w.store.Details(t.Context())
	require.NoError(t, err)
	require.NoError(t, treeref.VectorsOf(w.store).Index(t.Context(), index))
	shown, err := index.Query(t.Context(), `SELECT id, hex(embedding), chunk_index FROM _smithers_vectors ORDER BY id`)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"v1", "0000803F000000FF", int64(0)}, {"v2", "", nil}}, shown.Rows)
	to := filepath.Join(t.TempDir(), "smithers.db")
	_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/w"})
	require.NoError(t, err)
	const all = `SELECT id, namespace, content, hex(embedding), typeof(embedding), dimensions, metadata_json, document_id, chunk_index, created_at_ms FROM _smithers_vectors ORDER BY id`
	assert.Equal(t, query(t, w.source, all), query(t, to, all))
	assertSound(t, to)
}
