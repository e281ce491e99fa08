package sqliteindex_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
)

// peerDraft is a frame with an output, of a run of which Smithers' schema says that.
func peerDraft(schema, table, output string) snapshot.Draft {
	d := stateDraft(setOutput(table, "n", 0, output))
	d.Ext = &snapshot.ExtDraft{Engine: "smithers", Files: map[string][]byte{"schema": []byte(schema)}}
	return d
}

func TestOutputsOfSmithersHaveItsColumns(t *testing.T) {
	t.Parallel()
	const schema = `{"table":"other","sql":"…"}` + "\n" +
		`{"table":"ship_decision","sql":"…","columns":[["approved","boolean"],["decided_by","string"],["score","number"],["steps","json"],["odd","?"]]}` + "\n"
	const output = `{"approved":true,"decidedBy":"x","score":2,"steps":["a", 1],"odd":"o","__smithersProvenanceSeq":3}`
	for name, key := range map[string]string{"by the table's name": "ship_decision", "by the key": "shipDecision"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(t, "a", w.first("a"), peerDraft(schema, key, output))
			x := w.detailed(t)
			assert.Equal(t, []string{"approved boolean", "decided_by string", "odd json", "score number", "steps json"}, columnsOf(t, x, "ship_decision"))
			assert.Equal(t, [][]any{{true, "x", json.RawMessage(`"o"`), 2.0, json.RawMessage(`["a", 1]`)}},
				ask(t, x, "SELECT approved, decided_by, odd, score, steps FROM "+key))
		})
	}
}

func TestOutputsAreWholeWhereSmithersSchemaSaysNothing(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"of that table": `{"table":"other","sql":"","columns":[["a","string"]]}`,
		"of columns":    `{"table":"out","sql":""}`,
		"as JSON":       `{"table":"out"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(t, "a", w.first("a"), peerDraft(schema, "out", `{"a": "x"}`))
			assert.Equal(t, [][]any{{json.RawMessage(`{"a": "x"}`)}}, ask(t, w.detailed(t), "SELECT payload FROM out"))
		})
	}
}

func TestADefinitionOfOursGoesBeforeSmithersSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"out": object("a:string")}),
		peerDraft(`{"table":"out","sql":"","columns":[["b","string"]]}`, "out", `{"a":"x","b":"y"}`))
	assert.Equal(t, []string{"a string"}, columnsOf(t, w.detailed(t), "out"))
}

func TestRowsThatAreThereGetTheColumnsOfASchemaThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.run(t, "a", w.first("a"), stateDraft(setOutput("out", "m", 0, `{"aB":"x"}`)))
	w.detailed(t)
	w.extend(t, e, peerDraft(`{"table":"out","sql":"","columns":[["a_b","string"]]}`, "out", `{"aB":"y"}`))
	assert.Equal(t, [][]any{{"m", "x"}, {"n", "y"}}, ask(t, w.detailed(t), "SELECT node_id, a_b FROM out ORDER BY 1"))
}

func TestAForkThatHasNotRunHasTheColumnsOfWhatItWasForkedFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	point := w.run(t, "a", w.first("a"), peerDraft(`{"table":"out","sql":"","columns":[["a_b","string"]]}`, "out", `{"aB":"x"}`))
	child := w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 1}, point, true)
	w.extend(t, child, snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "smithers", Files: map[string][]byte{"schema": nil, "pass": []byte("{}")}}})
	assert.Equal(t, [][]any{{"x"}}, ask(t, w.detailed(t), "SELECT a_b FROM out WHERE run_id = 'child'"))
}

func TestAnIndexThatKnewNoColumnsOfSmithersIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.first("a"), peerDraft(`{"table":"out","sql":"","columns":[["a_b","string"]]}`, "out", `{"aB":"x"}`))
	require.NoError(t, w.detailed(t).Close())
	spoil(t, detailsPath(w.indexPath()), `
		DROP TABLE out;
		CREATE TABLE out (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL, payload TEXT);
		INSERT INTO out VALUES ('a', 'n', 0, '{"aB":"x"}');
		UPDATE _smithers_output_schema_columns SET column_name = 'payload', kind = 'json', property = NULL, json_type = '';
		PRAGMA user_version = 2`)
	assert.Equal(t, [][]any{{"x"}}, ask(t, w.detailed(t), "SELECT a_b FROM out"))
}
