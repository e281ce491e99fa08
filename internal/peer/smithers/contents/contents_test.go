package contents

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// realSnapshot is a snapshot that Smithers 0.32.0 made.
type realSnapshot struct {
	run      string
	frame    int64
	contents source.Contents
	tree     string
	signals  []SignalSeq // as far as the snapshot knows
}

// realSnapshots are all snapshots of the databases that Smithers made, each run's in the order of frames.
var realSnapshots = sync.OnceValues(func() ([]realSnapshot, error) {
	var all []realSnapshot
	for _, name := range []string{"git-run-fork-replay.db", "jj-pristine-31frames.db"} {
		ctx := context.Background()
		db, err := source.Open(ctx, filepath.Join("..", "..", "..", "..", "testdata", "smithers", name))
		if err != nil {
			return nil, err
		}
		err = db.Read(ctx, func(tx *source.Tx) error {
			runs, err := tx.Runs()
			for _, run := range runs {
				if err == nil {
					all, err = appendSnapshots(all, tx, run["run_id"].Bytes)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func appendSnapshots(all []realSnapshot, tx *source.Tx, run string) ([]realSnapshot, error) {
	trees := make(map[int64]string)
	tree := ""
	for row, err := range tx.Rows("_smithers_frames", run) {
		if err != nil {
			return nil, err
		}
		if tree, err = source.Inflate(tree, row["xml_json"].Bytes, row["encoding"].Bytes); err != nil {
			return nil, err
		}
		trees[row["frame_no"].Int] = tree
	}
	heads, err := tx.Heads(run)
	if err != nil {
		return nil, err
	}
	for _, head := range heads {
		s, err := tx.Snapshot(run, head.Frame)
		if err != nil {
			return nil, err
		}
		var hidden struct {
			Horizon int64 `json:"__smithersSignalProvenanceHorizon"`
		}
		if err := json.Unmarshal([]byte(s.Outputs), &hidden); err != nil {
			return nil, err
		}
		made := realSnapshot{run: run, frame: head.Frame, contents: s.Contents, tree: trees[head.Frame]}
		if hidden.Horizon >= 0 {
			made.signals = []SignalSeq{{Seq: 0, Peer: hidden.Horizon}}
		}
		all = append(all, made)
	}
	return all, nil
}

// snapshotsOf are the snapshots of one run, or of all ("").
func snapshotsOf(t *testing.T, run string) []realSnapshot {
	t.Helper()
	all, err := realSnapshots()
	require.NoError(t, err)
	var out []realSnapshot
	for _, s := range all {
		if run == "" || s.run == run {
			out = append(out, s)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// stored is what is left of a state once it was stored.
func stored(t *testing.T, w snapshot.Whole) snapshot.Whole {
	t.Helper()
	var store objstoretest.Memory
	changes, err := snapshot.ChangesTo(snapshot.EmptyState(), w)
	require.NoError(t, err)
	state, err := snapshot.EmptyState().Edit(&store, changes)
	require.NoError(t, err)
	w, err = WholeOf(state)
	require.NoError(t, err)
	return w
}

// throughJSON is a value as it comes back from where it is kept.
func throughJSON[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var back T
	require.NoError(t, json.Unmarshal(text, &back))
	return back
}

// requireBack takes a snapshot to a state and a shape, and back from what is stored of them, with
// each layout. It returns the shape for the first.
func requireBack(t *testing.T, s realSnapshot, layouts ...Layout) Shape {
	t.Helper()
	w, err := Read(s.contents, s.tree, snapshot.Limits{})
	require.NoError(t, err)
	kept := stored(t, w)
	var shapes []Shape
	for _, l := range layouts {
		difference := throughJSON(t, ShapeOf(s.run, s.contents, w, s.signals, l))
		back, err := Write(s.run, kept, s.signals, throughJSON(t, l), difference)
		require.NoError(t, err)
		require.Equal(t, s.contents, back)
		shapes = append(shapes, difference)
	}
	return shapes[0]
}

func TestEverySnapshotOfSmithersComesBackByteForByte(t *testing.T) {
	t.Parallel()
	for _, s := range snapshotsOf(t, "") {
		own, err := LayoutOf(s.contents)
		require.NoError(t, err)
		first, err := LayoutOf(snapshotsOf(t, s.run)[0].contents)
		require.NoError(t, err)
		requireBack(t, s, first, own, Layout{})
	}
}

func TestNeedsOfTheWorkflowThatTheDatabasesWereMadeWith(t *testing.T) {
	t.Parallel()
	run := snapshotsOf(t, "run-a")
	assert.Equal(t, map[string]tree.Place{
		"plan":      {},
		"flaky":     {Needs: []string{"plan"}},
		"p1":        {Needs: []string{"flaky"}},
		"p2":        {Needs: []string{"flaky"}},
		"p3":        {Needs: []string{"flaky"}},
		"write":     {Needs: []string{"p1", "p2", "p3"}, RalphID: "refine"},
		"verify":    {Needs: []string{"write"}, RalphID: "refine"},
		"ship":      {Needs: []string{"verify"}},
		"wait-ping": {Needs: []string{"ship"}},
		"final":     {Needs: []string{"wait-ping"}},
	}, tree.Places(run[len(run)-1].tree))
}

// What is not as predicted is the order of rows in a few frames, and who a fork's seed was made of.
func TestOnlyWhatIsNotAsPredictedIsInAShape(t *testing.T) {
	t.Parallel()
	const replay = "8805e8f3-364c-48f2-a529-c256b52b3593"
	unsorted := func(moved map[string]int) Shape { return Shape{Nodes: listShape{Moved: moved}} }
	swapped := Shape{Outputs: map[string]listShape{"report": {Moved: map[string]int{"p1::0": 0}}}}
	want := map[string]Shape{
		"run-a 2":      unsorted(map[string]int{"final::0": 7}),
		"run-a 9":      unsorted(map[string]int{"verify::1": 9}),
		"run-a 12":     unsorted(map[string]int{"verify::2": 11}),
		"run-j 2":      unsorted(map[string]int{"final::0": 7}),
		"run-j 9":      unsorted(map[string]int{"verify::1": 9}),
		"run-j 12":     unsorted(map[string]int{"verify::2": 11}),
		replay + " 0":  {RunID: "run-a", Nodes: listShape{Moved: map[string]int{"final::0": 7}}},
		replay + " 9":  unsorted(map[string]int{"verify::1": 9}),
		replay + " 12": unsorted(map[string]int{"verify::2": 11}),

		"34fd8fc8-b09b-4e88-84e0-d9efaa31224a 0": {RunID: "run-a"},
		"ba38fd8d-1122-41cc-9724-7a45a4438581 0": {RunID: "run-a"},
		"5b9a0ef2-e947-4ca3-bd10-c07cd33303e3 0": {RunID: replay},
	}
	for frame := 15; frame <= 31; frame++ {
		want["run-j "+strconv.Itoa(frame)] = swapped
	}
	for _, s := range snapshotsOf(t, "") {
		l, err := LayoutOf(snapshotsOf(t, s.run)[0].contents)
		require.NoError(t, err)
		w, err := Read(s.contents, s.tree, snapshot.Limits{})
		require.NoError(t, err)
		got := ShapeOf(s.run, s.contents, w, s.signals, l)
		name := s.run + " " + strconv.FormatInt(s.frame, 10)
		expected := want[name]
		assert.Equal(t, expected, got, name)
		assert.Equal(t, expected.IsZero(), got.IsZero(), name)
	}
}

func TestTheLayoutSaysWhichTablesHaveTwoNames(t *testing.T) {
	t.Parallel()
	run := snapshotsOf(t, "run-a")
	empty, err := LayoutOf(run[0].contents)
	require.NoError(t, err)
	full, err := LayoutOf(run[len(run)-1].contents)
	require.NoError(t, err)
	assert.Equal(t, full, empty, "also while all tables are empty")
	assert.Equal(t, []LayoutKey{
		{Name: "plan"},
		{Name: "draft"},
		{Name: "check"},
		{Name: "flaky_out"},
		{Name: "flakyOut", Of: "flaky_out"},
		{Name: "ship_decision"},
		{Name: "shipDecision", Of: "ship_decision"},
		{Name: "ping"},
		{Name: "report"},
		{Name: horizonName},
	}, full.Keys)
}

func TestRowsThatSmithersHasTwiceAreKeptOnceWithoutWhatTheKeySays(t *testing.T) {
	t.Parallel()
	s := snapshotsOf(t, "run-a")[6]
	w, err := Read(s.contents, s.tree, snapshot.Limits{})
	require.NoError(t, err)
	values := make(map[string]string)
	for _, o := range w.Outputs {
		values[o.Table+" "+snapshot.Key(o.NodeID, o.Iteration)] = string(o.Value)
	}
	assert.Equal(t, map[string]string{
		"plan plan::0":       `{"summary":"About git — ünïcödé ✓","steps":["a","b"],"urgent":true,"score":0.5,"__smithersProvenanceSeq":0}`,
		"draft write::0":     `{"text":"draft draft draft draft draft draft draft draft draft draft ","round":0,"__smithersProvenanceSeq":5}`,
		"flaky_out flaky::0": `{"ok":true,"tries":2,"__smithersProvenanceSeq":1}`,
		"report p1::0":       `{"body":"static one","__smithersProvenanceSeq":2}`,
		"report p2::0":       `{"body":"computed two","__smithersProvenanceSeq":3}`,
		"report p3::0":       `{"body":"computed three","__smithersProvenanceSeq":4}`,
	}, values)
	assert.JSONEq(t, `{"topic":"git","rounds":3,"flag":null}`, string(w.Input))
}

func TestWhatAStateCannotSayIsTheNearestThatItCan(t *testing.T) {
	t.Parallel()
	w, err := Read(source.Contents{
		Nodes: `[{"nodeId":"a","state":"waiting-quota","lastAttempt":null,"outputTable":null,"label":"\ud800"},` +
			`{"nodeId":"x","nodeId":"b","iteration":2,"state":"waiting-event"},{"nodeId":"c","iteration":null,"state":"waiting-human"}]`,
		Outputs: `{"t":[{"nodeId":"a","iteration":0,"v":1}],"__smithersMore":[{"nodeId":"a"}],"t":[{"nodeId":"a","iteration":0,"runId":"r","v":2,"w":[ ]}]}`,
		Ralph:   `[{"ralphId":"l","iteration":4,"done":1},{"ralphId":"m"}]`,
		Input:   ` "\udfff" `,
	}, "", snapshot.Limits{})
	require.NoError(t, err)
	assert.Equal(t, snapshot.Whole{
		Nodes: []snapshot.Node{
			{NodeID: "a", State: snapshot.NodePending, Label: new("\ufffd")},
			{NodeID: "b", Iteration: 2, State: snapshot.NodeWaitingEvent},
			{NodeID: "c", State: snapshot.NodePending},
		},
		Outputs: []snapshot.Output{{Table: "t", NodeID: "a", Value: json.RawMessage(`{"v":2,"w":[ ]}`)}},
		Loops:   []snapshot.Loop{{RalphID: "l", Iteration: 4, Done: true}, {RalphID: "m"}},
		Input:   json.RawMessage(`"\udfff"`),
	}, w)
}

func TestAWholeStateIsReadWithItsMailbox(t *testing.T) {
	t.Parallel()
	w := snapshot.Whole{
		Nodes:         []snapshot.Node{{NodeID: "a", State: snapshot.NodeFinished, Needs: []string{"b"}, RalphID: new("l")}},
		Outputs:       []snapshot.Output{{Table: "t", NodeID: "a", Value: json.RawMessage(`1`)}},
		Loops:         []snapshot.Loop{{RalphID: "l"}},
		Input:         json.RawMessage(`{}`),
		Approvals:     []snapshot.Approval{{NodeID: "a", Attempt: 1, Status: "requested", Title: "?", RequestedAtMs: 1}},
		HumanRequests: []snapshot.HumanRequest{{NodeID: "a", Attempt: 1, Kind: "ask", Status: "pending", Prompt: "?", RequestedAtMs: 1}},
		Signals:       []snapshot.Signal{{Name: "s", Payload: json.RawMessage(`null`)}},
		Waits:         []snapshot.Wait{{NodeID: "a", Attempt: 1, Kind: "timer", Status: "waiting", DueAtMs: new(int64(2))}},
	}
	assert.Equal(t, w, stored(t, w))
}

// minimal is a snapshot with nothing unusual in it.
var minimal = source.Contents{
	Nodes:   `[{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"t","label":null}]`,
	Outputs: `{"t":[{"runId":"r","nodeId":"a","iteration":0,"v":1,"__smithersProvenanceSeq":0}],"__smithersSignalProvenanceHorizon":-1}`,
	Ralph:   `[{"ralphId":"l","iteration":0,"done":false}]`,
	Input:   `{"runId":"r","x":1}`,
}

// withText is the minimal snapshot with one text in place of its own.
func withText(part, text string) realSnapshot {
	c := minimal
	switch part {
	case "nodes":
		c.Nodes = text
	case "outputs":
		c.Outputs = text
	case "ralph":
		c.Ralph = text
	case "input":
		c.Input = text
	}
	return realSnapshot{run: "r", contents: c}
}

func TestUnusualTextsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	const node = `{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"t","label":null}`
	tests := map[string]struct {
		part, text string
		want       string // the shape
	}{
		"nothing": {"nodes", "[]", `{}`},
		"a state that we do not have": {
			"nodes", `[{"nodeId":"a","iteration":0,"state":"waiting-quota","lastAttempt":1,"outputTable":"t","label":null}]`,
			`{"nodes":{"rows":{"a::0":"{\"nodeId\":\"a\",\"iteration\":0,\"state\":\"waiting-quota\",\"lastAttempt\":1,\"outputTable\":\"t\",\"label\":null}"}}}`,
		},
		"no table": {
			"nodes", `[{"nodeId":"a","iteration":0,"state":"pending","lastAttempt":null,"outputTable":"","label":null}]`, `{}`,
		},
		"members of a newer version": {"nodes", `[{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"t","label":null,"more":[1]}]`, "rows"},
		"members in another order":   {"nodes", `[{"state":"finished","nodeId":"a","iteration":0,"lastAttempt":1,"outputTable":"t","label":null}]`, "rows"},
		"a member given twice":       {"nodes", `[{"nodeId":"b","nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"t","label":null}]`, "rows"},
		"half a surrogate":           {"nodes", `[{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"t","label":"\ud800"}]`, "rows"},
		"white space":                {"nodes", `[ ` + node + ` ]`, "texts"},
		"white space around":         {"nodes", "[" + node + "]\n", "texts"},
		"another escape":             {"nodes", strings.Replace("["+node+"]", `"a"`, `"\u0061"`, 1), "rows"},
		"rows out of order":          {"nodes", "[" + strings.Replace(node, `"a"`, `"b"`, 1) + "," + node + "]", `{"nodes":{"moved":{"b::0":0}}}`},

		"a row without provenance": {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0,"v":1}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"a row of nothing":         {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"rows out of the order of provenance": {
			"outputs", `{"t":[{"runId":"r","nodeId":"b","iteration":0,"__smithersProvenanceSeq":7},{"runId":"r","nodeId":"a","iteration":0,"__smithersProvenanceSeq":6}],"__smithersSignalProvenanceHorizon":-1}`,
			`{"outputs":{"t":{"moved":{"b::0":0}}}}`,
		},
		"a row whose members come in another order": {"outputs", `{"t":[{"v":1,"runId":"r","nodeId":"a","iteration":0}],"__smithersSignalProvenanceHorizon":-1}`, "rows"},
		"a row of another run":                      {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0},{"runId":"s","nodeId":"b","iteration":0}],"__smithersSignalProvenanceHorizon":-1}`, "rows"},
		"numbers beyond doubles":                    {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0,"v":123456789012345678901234567890.10}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"a value's member given twice":              {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0,"v":1,"v":2}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"half a surrogate in a value":               {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0,"v":"\udc00"}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"no signal horizon":                         {"outputs", `{"t":[]}`, `keys`},
		"another signal horizon":                    {"outputs", `{"t":[],"__smithersSignalProvenanceHorizon":5}`, `{"keys":[{"name":"t"},{"name":"__smithersSignalProvenanceHorizon","value":"5"}]}`},
		"a hidden member of a newer version":        {"outputs", `{"t":[],"__smithersAgentCheckpointProvenance":[{"x":1}],"__smithersSignalProvenanceHorizon":-1}`, `keys`},
		"a table that is new":                       {"outputs", `{"t":[],"u":[{"runId":"r","nodeId":"a","iteration":0,"v":1}],"__smithersSignalProvenanceHorizon":-1}`, `{}`},
		"a table with two names that are not alike": {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0}],"other":[{"runId":"r","nodeId":"a","iteration":0}],"__smithersSignalProvenanceHorizon":-1}`, "keys"},
		"a table that is no array":                  {"outputs", `{"t":{"a":1}}`, "keys"},
		"a table given twice":                       {"outputs", `{"t":[{"runId":"r","nodeId":"a","iteration":0}],"t":[],"__smithersSignalProvenanceHorizon":-1}`, "texts"},
		"no outputs":                                {"outputs", `{}`, "keys"},

		"a loop that is done by a number": {"ralph", `[{"ralphId":"l","iteration":0,"done":1}]`, "rows"},
		"loops out of order":              {"ralph", `[{"ralphId":"m","iteration":0,"done":true},{"ralphId":"l","iteration":3,"done":false}]`, `{"ralph":{"moved":{"m":0}}}`},

		"an input without run":            {"input", `{"x":1}`, `{"bareInput":true}`},
		"no input":                        {"input", `{}`, `{"bareInput":true}`},
		"an input of nothing but its run": {"input", `{"runId":"r"}`, `{}`},
		"an input of another run":         {"input", `{"runId":"s","x":1}`, `texts`},
		"an input whose run comes last":   {"input", `{"x":1,"runId":"r"}`, `{"bareInput":true}`},
		"an input with two runs":          {"input", `{"runId":"r","runId":"s"}`, `texts`},
		"an input that is an array":       {"input", `[1]`, `{"bareInput":true}`},
		"an input that is a number":       {"input", `1e999`, `{"bareInput":true}`},
	}
	l := Layout{Keys: []LayoutKey{{Name: "t"}, {Name: horizonName}}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(requireBack(t, withText(tt.part, tt.text), l))
			require.NoError(t, err)
			if strings.HasPrefix(tt.want, "{") {
				assert.Equal(t, tt.want, string(got))
				return
			}
			assert.Contains(t, string(got), `"`+tt.want+`":`)
			if tt.want != "texts" {
				assert.NotContains(t, string(got), `"texts":`)
			}
		})
	}
}

func TestTextsThatAreNoStateAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ part, text, want string }{
		"truncated":                   {"nodes", `[{"nodeId":"a"`, "nodes: "},
		"empty":                       {"outputs", ``, "outputs: "},
		"not UTF-8":                   {"input", "\"\xff\"", "UTF-8"},
		"nodes that are no array":     {"nodes", `{}`, "not an array"},
		"a node that is no object":    {"nodes", `[1]`, "row 0"},
		"a node without an id":        {"nodes", `[{"nodeId":"","state":"pending"}]`, "nodeId: missing"},
		"a node without a state":      {"nodes", `[{"nodeId":"a"}]`, "state: missing"},
		"an id that is a number":      {"nodes", `[{"nodeId":1,"state":"pending"}]`, "nodeId: not a string"},
		"an iteration below 0":        {"nodes", `[{"nodeId":"a","iteration":-1,"state":"pending"}]`, "iteration: not a whole number"},
		"an iteration beyond doubles": {"nodes", `[{"nodeId":"a","iteration":9007199254740993,"state":"pending"}]`, "iteration: not a whole number"},
		"a fraction":                  {"nodes", `[{"nodeId":"a","lastAttempt":1.5,"state":"pending"}]`, "lastAttempt: not a whole number"},
		"a node given twice":          {"nodes", `[{"nodeId":"a","state":"pending"},{"nodeId":"a","state":"failed"}]`, `"a::0" is given twice`},
		"outputs that are no object":  {"outputs", `[]`, "not an object"},
		"a table of numbers":          {"outputs", `{"t":[1]}`, `"t": `},
		"an output given twice":       {"outputs", `{"t":[{"nodeId":"a","iteration":0},{"nodeId":"a","iteration":0,"v":1}]}`, `"a::0" is given twice`},
		"an output of no node":        {"outputs", `{"t":[{"runId":"r"}]}`, "nodeId: missing"},
		"a loop without an id":        {"ralph", `[{"iteration":0}]`, "ralphId: missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withText(tt.part, tt.text)
			_, err := Read(s.contents, "", snapshot.Limits{})
			require.ErrorIs(t, err, source.ErrDamaged)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTextsBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	deep := `{"t":[{"nodeId":"a","iteration":0,"v":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}]}`
	s := withText("outputs", deep)
	_, err := Read(s.contents, "", snapshot.Limits{})
	require.ErrorIs(t, err, snapshot.ErrLimit)
	requireFits := func(limits snapshot.Limits) error {
		_, err := Read(s.contents, "", limits)
		return err
	}
	require.NoError(t, requireFits(snapshot.Limits{Depth: 1003}))
	require.ErrorIs(t, requireFits(snapshot.Limits{Depth: 1003, Value: 100}), snapshot.ErrLimit)
	require.ErrorIs(t, requireFits(snapshot.Limits{Depth: 1003, Key: 2}), snapshot.ErrLimit)
}

// A state that Smithers never saw is written as Smithers would have.
func TestOurOwnStatesAreWrittenAsSmithersWould(t *testing.T) {
	t.Parallel()
	w := snapshot.Whole{
		Nodes: []snapshot.Node{
			{NodeID: "b", Iteration: 10, State: snapshot.NodeWaitingHuman, OutputTable: "t", Needs: []string{"a"}},
			{NodeID: "b", Iteration: 9, State: snapshot.NodePending},
			{NodeID: "a", State: snapshot.NodeFinished, LastAttempt: new(2), Label: new("A <\u2028>")},
		},
		Outputs: []snapshot.Output{
			{Table: "t", NodeID: "b", Iteration: 9, Value: json.RawMessage(`{"v":1}`)},
			{Table: "t", NodeID: "a", Value: json.RawMessage(`{}`)},
			{Table: "s", NodeID: "a", Value: json.RawMessage(`{"v":2}`)},
			{Table: "s", NodeID: "b", Value: json.RawMessage(`"text"`)},
			{Table: "s", NodeID: "c", Value: json.RawMessage(`{ }`)},
		},
		Loops: []snapshot.Loop{{RalphID: "m", Iteration: 1, Done: true}, {RalphID: "l"}},
		Input: json.RawMessage(`{"x":1}`),
	}
	c, err := Write("r", w, []SignalSeq{{0, 4}, {1, 3}}, Layout{}, Shape{})
	require.NoError(t, err)
	assert.Equal(t, source.Contents{
		Nodes: `[{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":2,"outputTable":"","label":"A <` + "\u2028" + `>"},` +
			`{"nodeId":"b","iteration":9,"state":"pending","lastAttempt":null,"outputTable":"","label":null},` +
			`{"nodeId":"b","iteration":10,"state":"waiting-approval","lastAttempt":null,"outputTable":"t","label":null}]`,
		Outputs: `{"s":[{"runId":"r","nodeId":"a","iteration":0,"v":2},` +
			`{"runId":"r","nodeId":"b","iteration":0,"value":"text"},{"runId":"r","nodeId":"c","iteration":0 }],` +
			`"t":[{"runId":"r","nodeId":"a","iteration":0},{"runId":"r","nodeId":"b","iteration":9,"v":1}],` +
			`"__smithersSignalProvenanceHorizon":4}`,
		Ralph: `[{"ralphId":"l","iteration":0,"done":false},{"ralphId":"m","iteration":1,"done":true}]`,
		Input: `{"runId":"r","x":1}`,
	}, c)
}

func TestAShapeOfAnotherSnapshotIsAnError(t *testing.T) {
	t.Parallel()
	w, err := Read(minimal, "", snapshot.Limits{})
	require.NoError(t, err)
	for name, s := range map[string]Shape{
		"a row that is not there": {Nodes: listShape{Rows: map[string]string{"z::0": "{}"}}},
		"a place of no row":       {Nodes: listShape{Moved: map[string]int{"z::0": 0}}},
		"a place beyond the end":  {Nodes: listShape{Moved: map[string]int{"a::0": 1}}},
		"a row of outputs":        {Outputs: map[string]listShape{"t": {Moved: map[string]int{"z::0": 0}}}},
		"a loop":                  {Loops: listShape{Rows: map[string]string{"z": "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Write("r", w, nil, Layout{}, s)
			require.ErrorIs(t, err, ErrShape)
		})
	}
}
