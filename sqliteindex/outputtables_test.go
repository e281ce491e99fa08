package sqliteindex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// object is a schema of an object with these properties, "name:type" or "name:{schema}".
func object(properties ...string) string {
	var members []string
	for _, p := range properties {
		name, of, _ := strings.Cut(p, ":")
		if !strings.HasPrefix(of, "{") {
			of = fmt.Sprintf(`{"type":%q}`, of)
		}
		text, err := json.Marshal(name)
		if err != nil {
			panic(err)
		}
		members = append(members, string(text)+":"+of)
	}
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `}}`
}

// columnsOf are the columns of a table with their kinds, bookkeeping left out.
func columnsOf(tb testing.TB, x *sqliteindex.Index, table string) (columns []string) {
	tb.Helper()
	answer, err := x.Query(tb.Context(), `SELECT * FROM "`+table+`"`)
	require.NoError(tb, err)
	last := len(answer.Columns) - 1
	for _, c := range answer.Columns[3:last] {
		columns = append(columns, c.Name+" "+c.Kind)
	}
	require.Equal(tb, sqliteindex.Column{Name: "_json", Kind: "json"}, answer.Columns[last], "every table has the whole output, too")
	require.Equal(tb, []sqliteindex.Column{{Name: "run_id"}, {Name: "node_id"}, {Name: "iteration"}}, answer.Columns[:3])
	return columns
}

func TestASchemaBecomesATable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, schema string
		columns      []string
		output       string
		row          []any
	}{
		{
			"types are those of the properties", object("summary:string", "steps:array", "urgent:boolean", "score:number", "n:integer", "o:object"),
			[]string{"n number", "o json", "score number", "steps json", "summary string", "urgent boolean"},
			`{"summary":"s","steps":["a", 1],"urgent":false,"score":1,"n":3,"o":{"b": 1,"a":2}}`,
			[]any{int64(3), json.RawMessage(`{"b": 1,"a":2}`), 1.0, json.RawMessage(`["a", 1]`), "s", false},
		},
		{
			"columns are in snake_case", object("decidedBy:string", "HTMLBody:string", "a-b:string"),
			[]string{"a_b string", "decided_by string", "html_body string"},
			`{"decidedBy":"x","HTMLBody":"y","a-b":"z"}`,
			[]any{"z", "x", "y"},
		},
		{
			"what has the name of another column gets another", object("runId:string", "node_id:string", "aB:string", "a_b:string", "A_B:string"),
			[]string{"a_b string", "a_b_ string", "a_b__ string", "node_id_ string", "run_id_ string"},
			`{"runId":"1","node_id":"2","aB":"3","a_b":"4","A_B":"5"}`,
			[]any{"4", "5", "3", "2", "1"},
		},
		{
			"null is nothing, whatever else a value may be", object(`a:{"type":["string","null"]}`, `b:{"anyOf":[{"type":"boolean"},{"type":"null"}]}`, `c:{"enum":["x",null]}`, `d:{"const":1.5}`, `e:{"oneOf":[{"type":"integer"},{"type":"number"}]}`),
			[]string{"a string", "b boolean", "c string", "d number", "e number"},
			`{"a":null,"c":"x","e":2}`,
			[]any{nil, nil, "x", nil, 2.0},
		},
		{
			"what may be of several kinds is JSON", object(`a:{"type":["string","number"]}`, `b:{"anyOf":[{"type":"boolean"},{"type":"string"}]}`, `c:{"enum":["x",1]}`, `d:{}`, `e:{"$ref":"#/$defs/e"}`),
			[]string{"a json", "b json", "c json", "d json", "e json"},
			`{"a":"x","b":true,"c":1,"d":[],"e":"y"}`,
			[]any{json.RawMessage(`"x"`), json.RawMessage(`true`), json.RawMessage(`1`), json.RawMessage(`[]`), json.RawMessage(`"y"`)},
		},
		{"payload alone is the whole output", object("payload:string"), []string{"payload json"}, `{"payload": "x"}`, []any{json.RawMessage(`{"payload": "x"}`)}},
		{"and so is what is no object", `{"type":"array"}`, []string{"payload json"}, `[1, 2]`, []any{json.RawMessage(`[1, 2]`)}},
		{"or an object of which nothing is known", `{"type":"object"}`, []string{"payload json"}, `{"x": 1}`, []any{json.RawMessage(`{"x": 1}`)}},
		{"or anything", `true`, []string{"payload json"}, `null`, []any{json.RawMessage(`null`)}},
		{"payload among others is a column", object("payload:string", "n:number"), []string{"n number", "payload string"}, `{"payload":"x","n":2}`, []any{2.0, "x"}},
		{
			"numbers beyond what SQLite holds stay text", object("i:integer", "n:number", "b:boolean"),
			[]string{"b boolean", "i number", "n number"},
			`{"i":12345678901234567890,"n":1e999,"b":5}`,
			[]any{"5", "12345678901234567890", "1e999"},
		},
		{"integers may be spelled as numbers", object("i:integer", "j:integer"), []string{"i number", "j number"}, `{"i":1e3,"j":-9223372036854775808}`, []any{int64(1000), int64(-9223372036854775808)}},
		{"what has the name of the whole output gets another", object("_json:string", "_JSON:number"), []string{"_json_ string", "_json__ number"}, `{"_json":"x","_JSON":1}`, []any{"x", 1.0}},
		{"what the schema does not say is in the whole output", object("a:string"), []string{"a string"}, `{"a":"x", "more":[1, 2]}`, []any{"x"}},
		{"an output that is no object has no columns", object("a:string"), []string{"a string"}, `null`, []any{nil}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"out": tc.schema}), stateDraft(setOutput("out", "n", 2, tc.output)))
			x := w.detailed(t)

			assert.Equal(t, tc.columns, columnsOf(t, x, "out"))
			row := append(append([]any{"a", "n", int64(2)}, tc.row...), json.RawMessage(tc.output))
			assert.Equal(t, [][]any{row}, ask(t, x, "SELECT * FROM out"))
		})
	}
}

func TestTheTableOfColumnsOfSmithersIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"flakyOut": object("ok:boolean", "tries:number")}))
	x := w.detailed(t)
	assert.Equal(t, [][]any{{"flaky_out", "ok", "boolean"}, {"flaky_out", "tries", "number"}},
		ask(t, x, "SELECT table_name, column_name, kind FROM _smithers_output_schema_columns ORDER BY 2"))
}

func TestBothTheKeyAndTheNameFindATable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := object("x:string")
	w.run(t, "a", w.workflowDraft("a", "w", map[string]string{
		"flakyOut": schema, "Plan": schema, "check": schema, `odd "name"`: schema, "input": schema, "sqlite_x": schema, "_smithers_runs": schema,
	}), stateDraft(
		setOutput("flakyOut", "n", 0, `{"x":"1"}`), setOutput("Plan", "n", 0, `{"x":"2"}`), setOutput("check", "n", 0, `{"x":"3"}`),
		setOutput(`odd "name"`, "n", 0, `{"x":"4"}`), setOutput("input", "n", 0, `{"x":"5"}`), setOutput("sqlite_x", "n", 0, `{"x":"6"}`),
		setOutput("_smithers_runs", "n", 0, `{"x":"7"}`), setOutput("no schema", "n", 0, `8`),
	))
	x := w.detailed(t)
	for name, want := range map[string]any{
		"flakyOut": "1", "flaky_out": "1", "FLAKY_OUT": "1", "Plan": "2", "plan": "2", `"check"`: "3", `"odd ""name"""`: "4", "odd__name_": "4",
		"output_input": "5", "output_sqlite_x": "6", "output__smithers_runs": "7",
	} {
		assert.Equal(t, [][]any{{want}}, ask(t, x, "SELECT x FROM "+name), name)
	}
	assert.Equal(t, [][]any{{json.RawMessage("8")}}, ask(t, x, `SELECT payload FROM "no schema"`))
	assert.Equal(t, [][]any{{json.RawMessage("8")}}, ask(t, x, `SELECT payload FROM no_schema`))
}

func TestKeysThatSpellAlikeHaveTablesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := object("x:string")
	w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"flakyOut": schema, "flaky_out": schema, "FlakyOut": schema, "flaky-out": schema}), stateDraft(
		setOutput("flakyOut", "n", 0, `{"x":"camel"}`), setOutput("flaky_out", "n", 0, `{"x":"snake"}`),
		setOutput("FlakyOut", "n", 0, `{"x":"pascal"}`), setOutput("flaky-out", "n", 0, `{"x":"kebab"}`),
	))
	x := w.detailed(t)
	for name, want := range map[string]string{
		"flaky_out": "snake", `"flaky-out"`: "kebab", "flaky_out_": "pascal", "flaky_out__": "kebab", "flaky_out___": "camel",
	} {
		assert.Equal(t, [][]any{{want}}, ask(t, x, "SELECT x FROM "+name), name)
	}
	assert.Equal(t, [][]any{{"pascal"}}, ask(t, x, "SELECT x FROM FlakyOut"), "which SQLite does not tell from flakyOut")
}

func TestASchemaThatGainsAFieldGainsAColumn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.run(t, "old", w.workflowDraft("old", "w", map[string]string{"out": object("a:string", "lost:string")}),
		stateDraft(setOutput("out", "n", 0, `{"a":"1","lost":"x","gained":"not said by its schema"}`)))
	x := w.detailed(t)
	w.run(t, "new", w.workflowDraft("new", "w", map[string]string{"out": object("a:string", "gained:string")}),
		stateDraft(setOutput("out", "n", 0, `{"a":"2","gained":"y"}`)))
	require.NoError(t, x.SyncDetails(t.Context()))

	assert.Equal(t, []string{"a string", "gained string", "lost string"}, columnsOf(t, x, "out"))
	assert.Equal(t, [][]any{{"new", "2", "y", nil}, {"old", "1", nil, "x"}}, ask(t, x, "SELECT run_id, a, gained, lost FROM out ORDER BY 1"))

	changed := stateDraft(setOutput("out", "m", 0, `{"a":"3","gained":"z"}`))
	changed.Workflow = definition(map[string]string{"out": object("a:string", "gained:string")})
	w.extend(t, old, changed)
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Equal(t, [][]any{{"m", "3", "z", nil}, {"n", "1", "not said by its schema", "x"}},
		ask(t, x, "SELECT node_id, a, gained, lost FROM out WHERE run_id = 'old' ORDER BY 1"), "a run that goes on with another definition keeps what it had")
	assert.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))
}

// TestAForkHasTheColumnsOfTheDefinitionsBeforeIt since its outputs may be as old.
func TestAForkHasTheColumnsOfTheDefinitionsBeforeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.write(t, nil, w.workflowDraft("a", "w", map[string]string{"out": object("lost:string")}), stateDraft(setOutput("out", "n", 0, `{"lost":"x"}`)))
	second := frameDraft()
	second.Workflow = definition(map[string]string{"out": object("gained:string")})
	point := w.write(t, first, second)
	w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 2}, point, false)
	x := w.detailed(t)
	assert.Equal(t, [][]any{{"x", nil}}, ask(t, x, "SELECT lost, gained FROM out WHERE run_id = 'child'"))
}

func TestWorkflowsWhoseSchemasConflictHaveTablesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"Triage", "review"}, {"review", "Triage"}} {
		t.Run(strings.Join(order, " first, then "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.index(t)
			schemas := map[string]string{"Triage": object("score:number", "note:string"), "review": object("score:string")}
			outputs := map[string]string{"Triage": `{"score":1,"note":"n"}`, "review": `{"score":"A"}`}
			for _, workflow := range order {
				w.run(t, workflow, w.workflowDraft(workflow, workflow, map[string]string{"planOut": schemas[workflow], "same": object("x:string")}),
					stateDraft(setOutput("planOut", "n", 0, outputs[workflow]), setOutput("same", "n", 0, `{"x":"y"}`)))
				require.NoError(t, x.SyncDetails(t.Context()))
			}

			assert.Equal(t, []string{"note string", "score number"}, columnsOf(t, x, "triage_plan_out"))
			assert.Equal(t, [][]any{{"Triage", 1.0, "n"}}, ask(t, x, "SELECT run_id, score, note FROM triage_plan_out"))
			assert.Equal(t, [][]any{{"review", "A"}}, ask(t, x, "SELECT run_id, score FROM review_plan_out"))
			assert.Len(t, ask(t, x, "SELECT * FROM same"), 2, "what they agree about is one table")
			for _, name := range []string{"plan_out", "planOut", `"planOut"`} {
				_, err := x.Query(t.Context(), "SELECT * FROM "+name)
				require.ErrorIs(t, err, sqliteindex.ErrQuery)
				assert.ErrorContains(t, err, `the schemas of "planOut" differ between workflows, so each workflow has its own table: review_plan_out, triage_plan_out`)
			}
			_, err := x.Query(t.Context(), "SELECT * FROM absent")
			assert.NotContains(t, err.Error(), "differ")
			assert.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))

			w.dropTip(t, "review")
			require.NoError(t, x.SyncDetails(t.Context()))
			assert.Len(t, ask(t, x, "SELECT * FROM planOut"), 1, "where nobody differs any more, there is one again")
			assert.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))
		})
	}
}

// TestASplitNameIsNobodys, not even of another key that SQLite takes for the same.
func TestASplitNameIsNobodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for workflow, schema := range map[string]string{"one": object("x:string"), "two": object("x:number")} {
		w.run(t, workflow, w.workflowDraft(workflow, workflow, map[string]string{"plan": schema, "PLAN": object("x:string")}))
	}
	x := w.detailed(t)
	_, err := x.Query(t.Context(), "SELECT * FROM plan")
	require.ErrorContains(t, err, "one_plan, two_plan")
	assert.Empty(t, ask(t, x, "SELECT * FROM plan_"))
}

// TestAValueKeepsItsSpellingWhateverOtherRunsBring: a fetched run of the same workflow changes no answer of mine.
func TestAValueKeepsItsSpellingWhateverOtherRunsBring(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := map[string]string{"out": object("s:string", "i:integer", "f:number", "b:boolean", "j:array", "k:string")}
	for i, output := range []string{`{"s":"ok","i":9007199254740993,"f":9.5,"b":true,"j":[1, 2],"k":"5"}`, `{"s":"no","i":10,"f":10,"b":false,"j":[],"k":"x"}`} {
		w.run(t, fmt.Sprintf("mine-%d", i), w.workflowDraft(fmt.Sprintf("mine-%d", i), "w", mine), stateDraft(setOutput("out", "n", 0, output)))
	}
	w.run(t, "other", w.workflowDraft("other", "another", mine))
	x := w.detailed(t)
	queries := []string{
		"SELECT count(*) FROM out WHERE run_id LIKE 'mine-%' AND s = 'ok'",
		"SELECT count(*), sum(i) FROM out WHERE run_id LIKE 'mine-%' AND i > 9",
		"SELECT i, f FROM out WHERE run_id LIKE 'mine-%' ORDER BY f",
		"SELECT max(f) FROM out WHERE run_id LIKE 'mine-%' AND f > 9.7",
		"SELECT count(*) FROM out WHERE run_id LIKE 'mine-%' AND b",
		"SELECT count(*) FROM out WHERE run_id LIKE 'mine-%' AND json_array_length(j) = 2",
		"SELECT s, j, k FROM out WHERE run_id LIKE 'mine-%' ORDER BY s",
	}
	var before [][][]any
	for _, query := range queries {
		before = append(before, ask(t, x, query))
	}
	for i, schema := range []string{
		object("s:number", "i:string", "f:string", "b:string", "j:string", "k:integer"),
		object("s:array", "i:number", "f:integer", "b:array", "j:number", "k:array"),
	} {
		run := fmt.Sprintf("fetched-%d", i)
		w.run(t, run, w.workflowDraft(run, "w", map[string]string{"out": schema}),
			stateDraft(setOutput("out", "n", 0, `{"s":1,"i":"1","f":"1","b":"1","j":"1","k":1}`)))
		require.NoError(t, x.SyncDetails(t.Context()))
		for i, query := range queries {
			assert.Equal(t, before[i], ask(t, x, query), query)
		}
		assert.Equal(t, []string{"b json", "f json", "i json", "j json", "k json", "s json"}, columnsOf(t, x, "out"))
		assert.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))
	}
}

// TestRowsOfOutputsGoBackWithTheState, and a fork has its own.
func TestRowsOfOutputsGoBackWithTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frame1 := w.write(t, nil, w.workflowDraft("a", "w", map[string]string{"out": object("v:string")}), stateDraft(setOutput("out", "n", 0, `{"v":"0"}`)))
	frame2 := w.write(t, frame1, stateDraft(setOutput("out", "n", 1, `{"v":"1"}`), setOutput("out", "m", 0, `{"v":"m"}`)))
	w.setTip(t, "a", frame2.ID)
	w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 2}, frame2, false)
	x := w.detailed(t)
	rows := "SELECT node_id, iteration, v FROM out WHERE run_id = '%s' ORDER BY 1, 2"
	all := [][]any{{"m", int64(0), "m"}, {"n", int64(0), "0"}, {"n", int64(1), "1"}}
	assert.Equal(t, all, ask(t, x, fmt.Sprintf(rows, "a")))
	assert.Equal(t, all, ask(t, x, fmt.Sprintf(rows, "child")))

	state, err := frame1.State()
	require.NoError(t, err)
	back := w.extend(t, frame2, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: state, Based: new(int64(1)), Silent: true}})
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Equal(t, [][]any{{"n", int64(0), "0"}}, ask(t, x, fmt.Sprintf(rows, "a")))
	assert.Equal(t, all, ask(t, x, fmt.Sprintf(rows, "child")))

	w.extend(t, back, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: snapshot.EmptyState(), Based: new(int64(0)), Silent: true}})
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Empty(t, ask(t, x, fmt.Sprintf(rows, "a")))
}

// TestAnySchemaIsTaken: keys, properties and workflows are anybody's.
func TestAnySchemaIsTaken(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.quick = true
		name := rapid.OneOf(rapid.StringN(1, 20, 60), rapid.SampledFrom([]string{"a", "A", "a_", "aB", "a_b", "input", "sqlite_a", "_index_state", "payload", "run_id", "select", `"`, `'; DROP TABLE x`, "ÄÖ", "ǅ", "\x00"}))
		schemas := func() map[string]string {
			out := map[string]string{}
			for range rapid.IntRange(1, 4).Draw(rt, "keys") {
				properties := map[string]json.RawMessage{}
				for range rapid.IntRange(0, 5).Draw(rt, "properties") {
					kind := rapid.SampledFrom([]string{"string", "number", "integer", "boolean", "array"}).Draw(rt, "type")
					properties[name.Draw(rt, "property")] = json.RawMessage(`{"type":"` + kind + `"}`)
				}
				text, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
				require.NoError(t, err)
				out[name.Draw(rt, "key")] = string(text)
			}
			return out
		}
		value := rapid.SampledFrom([]string{`{"a":1,"A":"x","payload":true}`, `[]`, `{"run_id":{},"aB":1e999}`})
		x := w.index(t)
		for i := range rapid.IntRange(1, 3).Draw(rt, "runs") {
			run := fmt.Sprintf("run-%d", i)
			wanted := schemas()
			var outputs []snapshot.Change
			for key := range wanted {
				outputs = append(outputs, setOutput(key, "n", 0, value.Draw(rt, "output")))
			}
			w.run(t, run, w.workflowDraft(run, name.Draw(rt, "workflow"), wanted), stateDraft(outputs...))
			require.NoError(t, x.SyncDetails(t.Context()))
			require.NoError(t, x.Degraded())
		}
		require.Empty(t, x.Problems())
		require.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())))
	})
}

func TestALargeSchemaIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := func(prefix string, n int) string {
		var properties []string
		for i := range n {
			properties = append(properties, fmt.Sprintf("%s%d:string", prefix, i))
		}
		return object(properties...)
	}
	x := w.index(t)
	for i := range 5 {
		run := fmt.Sprintf("run-%d", i)
		w.run(t, run, w.workflowDraft(run, "w", map[string]string{
			"wide": many(fmt.Sprintf("p%d_", i), 450), "wider": many("p", 501), "long": object(strings.Repeat("x", 201)+":string", "y:string"),
		}), stateDraft(setOutput("wide", "n", 0, fmt.Sprintf(`{"p%d_0":"x"}`, i)), setOutput("wider", "n", 0, `{"p0":"x"}`)))
		require.NoError(t, x.SyncDetails(t.Context()))
	}
	assert.Len(t, columnsOf(t, x, "wide"), 1900)
	assert.Equal(t, []string{"payload json"}, columnsOf(t, x, "wider"))
	assert.Equal(t, []string{"y string"}, columnsOf(t, x, "long"))
	assert.Equal(t, [][]any{{"x"}}, ask(t, x, "SELECT p0_0 FROM wide WHERE run_id = 'run-0'"))
}
