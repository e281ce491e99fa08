package sqliteindex_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// typed is a run with one output of every kind.
func (w *world) typed(tb testing.TB) *sqliteindex.Index {
	tb.Helper()
	w.run(tb, "a", w.workflowDraft("a", "w", map[string]string{"flakyOut": `{"type":"object","properties":{
		"text":{"type":"string"},"yes":{"type":"boolean"},"no":{"type":"boolean"},"n":{"type":"number"},"i":{"type":"integer"},"list":{"type":"array"}}}`}),
		stateDraft(setOutput("flakyOut", "n", 0, `{"text":"t","yes":true,"no":false,"n":1,"i":2,"list":[1, {"b":2,"a":1}]}`)))
	return w.detailed(tb)
}

func TestAnAnswerHasTheTypesThatOutputsHave(t *testing.T) {
	t.Parallel()
	x := newWorld(t).typed(t)
	list := json.RawMessage(`[1, {"b":2,"a":1}]`)
	for _, tc := range []struct {
		query string
		kinds []string
		row   []any
	}{
		{`SELECT text, yes, no, n, i, list FROM flaky_out`, []string{"string", "boolean", "boolean", "number", "number", "json"}, []any{"t", true, false, 1.0, int64(2), list}},
		{`SELECT yes AS ok, list AS l FROM flakyOut`, []string{"boolean", "json"}, []any{true, list}},
		{`SELECT o.yes, o.list, r.status, s.frame_no FROM _smithers_runs AS r JOIN flaky_out AS o USING (run_id) JOIN _smithers_snapshots AS s USING (run_id) ORDER BY s.frame_no LIMIT 1`, []string{"boolean", "json", "", ""}, []any{true, list, "running", int64(0)}},
		{`SELECT yes FROM (SELECT * FROM flaky_out)`, []string{"boolean"}, []any{true}},
		{`WITH o AS (SELECT no FROM flaky_out) SELECT no FROM o`, []string{"boolean"}, []any{false}},
		{`SELECT count(yes), NOT yes, max(n), 'x', x'00', NULL FROM flaky_out`, []string{"", "", "", "", "", ""}, []any{int64(1), int64(0), 1.0, "x", []byte{0}, nil}},
		{`SELECT iteration, node_id FROM flaky_out`, []string{"", ""}, []any{int64(0), "n"}},
		{`VALUES (1, 2.5)`, []string{"", ""}, []any{int64(1), 2.5}},
	} {
		answer, err := x.Query(t.Context(), tc.query)
		require.NoError(t, err, tc.query)
		var kinds []string
		for _, c := range answer.Columns {
			kinds = append(kinds, c.Kind)
		}
		assert.Equal(t, tc.kinds, kinds, tc.query)
		assert.Equal(t, [][]any{tc.row}, answer.Rows, tc.query)
	}
	answer, err := x.Query(t.Context(), "SELECT yes AS ok, run_id FROM flaky_out WHERE false")
	require.NoError(t, err)
	assert.Equal(t, &sqliteindex.Answer{Columns: []sqliteindex.Column{{Name: "ok", Kind: "boolean"}, {Name: "run_id"}}, Rows: [][]any{}}, answer)
}

func TestAQueryOnlyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.typed(t)
	before := tablesAt(t, detailsPath(w.indexPath()))
	other := filepath.Join(t.TempDir(), "other.db")
	for query, says := range map[string]string{
		"":                                  "no statement",
		" -- nothing\n;/* nothing */":       "no statement",
		"SELECT 1; SELECT 2":                "more than one statement",
		"SELECT 1; PRAGMA query_only = OFF": "more than one statement",
		"SELECT ';' /* ; */ -- ;\n, \";\" ; DROP TABLE flaky_out": "more than one statement",
		"SELECT 1;\x00DROP TABLE flaky_out":                       "NUL",
		"DELETE FROM flaky_out":                                   "only SELECT",
		"insert into flaky_out (run_id, node_id) values (1, 2)":   "only SELECT",
		"DROP TABLE flaky_out":                                    "only SELECT",
		"CREATE TABLE t (x)":                                      "only SELECT",
		"ATTACH '" + other + "' AS other":                         "only SELECT",
		"PRAGMA query_only = OFF":                                 "only SELECT",
		"EXPLAIN PRAGMA query_only = OFF":                         "only SELECT",
		"EXPLAIN QUERY PLAN ATTACH 'x' AS y":                      "only SELECT",
		"EXPLAIN":                                                 "no statement",
		"BEGIN":                                                   "only SELECT",
		"VACUUM":                                                  "only SELECT",
		"/* SELECT */ VACUUM INTO '" + other + "'":                "only SELECT",
		"WITH x AS (SELECT 1) DELETE FROM flaky_out":              "readonly",
		"WITH x AS (SELECT 1) UPDATE flaky_out SET n = 2":         "readonly",
		"SELECT absent FROM flaky_out":                            "no such column: absent",
		"SELECT \"absent\" FROM flaky_out":                        "no such column",
		"SELECT * FROM absent":                                    "no such table: absent",
		"SELECT FROM":                                             "syntax error",
		"SELECT json('{')":                                        "malformed JSON",
		"SELECT ?":                                                "parameter",
		"SELECT ?1, 2":                                            "parameter",
		"SELECT :name":                                            "parameter",
		"SELECT @name":                                            "parameter",
		"SELECT $name":                                            "parameter",
	} {
		_, err := x.Query(t.Context(), query)
		require.ErrorIs(t, err, sqliteindex.ErrQuery, query)
		assert.ErrorContains(t, err, says, query)
	}
	for _, query := range []string{
		"SELECT 1;", ";;SELECT 1", "select ';' ; -- end", "/* all */ WITH x AS (SELECT ';') SELECT * FROM x;;",
		"EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT * FROM flaky_out", "SELECT name FROM pragma_table_info('flaky_out')",
		`SELECT ";" FROM (SELECT 1 AS ";")`, "SELECT [;] FROM (SELECT 1 AS [;])", "SELECT `;` FROM (SELECT 1 AS `;`)", "SELECT 'it''s; fine'",
	} {
		_, err := x.Query(t.Context(), query)
		require.NoError(t, err, query)
	}

	assert.Equal(t, before, tablesAt(t, detailsPath(w.indexPath())))
	assert.NoFileExists(t, other)
	require.NoError(t, x.SyncDetails(t.Context()), "and the index still writes")
	w.run(t, "b", w.first("b"))
	require.NoError(t, x.SyncDetails(t.Context()))
}

func TestAQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	x := newWorld(t).typed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	_, err := x.Query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")

	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, sqliteindex.ErrQuery)
	assert.Len(t, ask(t, x, "SELECT * FROM flaky_out"), 1, "and the next one is answered")
	require.NoError(t, x.SyncDetails(t.Context()))
}

// TestAQueryOfAnIndexInMemoryOnlyReads as well, and leaves it there.
func TestAQueryOfAnIndexInMemoryOnlyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.run(t, "a", w.first("a"), eventDraft(snapshot.RunRunning))
	writeFile(t, filepath.Join(w.gitDir, "file"), "")
	x := w.indexAt(t, filepath.Join(w.gitDir, "file", "index.db"))
	require.Error(t, x.Degraded())
	require.NoError(t, x.SyncDetails(t.Context()))

	_, err := x.Query(t.Context(), "WITH x AS (SELECT 1) DELETE FROM _smithers_events")

	require.ErrorIs(t, err, sqliteindex.ErrQuery)
	w.extend(t, tip, eventDraft(snapshot.RunFinished))
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Len(t, ask(t, x, "SELECT * FROM _smithers_events"), 2)
}
