package dbrow

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
)

func realValue(f float64) source.Value { return source.Value{Kind: source.Real, Real: f} }

func blobValue(b string) source.Value { return source.Value{Kind: source.Blob, Bytes: b} }

// keyedTable has the primary key (run_id, k) and a column v.
var keyedTable = source.Table{Name: "unknown", Columns: []source.Column{
	{Name: "run_id", Type: "TEXT", Key: 1}, {Name: "k", Key: 2}, {Name: "v"},
}}

// roundTrip is what comes back of rows, and the kept rows.
func roundTrip(t require.TestingT, table source.Table, rows []source.Row, at Root) ([]source.Row, []KeptRow) {
	kept, err := Keep(table, rows, at)
	require.NoError(t, err)
	back, err := Restore(table, kept, "r", at)
	require.NoError(t, err)
	return back, kept
}

func TestEveryKindOfValueComesBackAsItIsStored(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]source.Value{
		"NULL": {}, "an empty text": Text(""), "text": Text("ünï \x00 \u2028 \"q\" \\ \x7f"),
		"text that is not UTF-8": Text("a\xffb"), "half of a surrogate": Text("\xed\xa0\x80"), "the replacement character": Text("\uFFFD"),
		"0": Int(0), "beyond doubles": Int(1<<53 + 1), "the greatest": Int(math.MaxInt64), "the least": Int(math.MinInt64),
		"1.0": realValue(1), "-0": realValue(math.Copysign(0, -1)), "a tenth": realValue(0.1), "tiny": realValue(5e-324),
		"infinite": realValue(math.Inf(-1)), "an empty blob": blobValue(""), "a blob": blobValue("\x00\xff"), "a blob of digits": blobValue("12"),
		"text like an object": Text(`{"real":"1"}`), "text like null": Text("null"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := source.Row{"run_id": Text("r"), "k": Text("a"), "v": v}
			rows, _ := roundTrip(t, keyedTable, []source.Row{row}, "")
			requireRows(t, name, rows, []source.Row{row})
			one, err := KeepOne(keyedTable, row, "")
			require.NoError(t, err)
			back, err := RestoreOne(keyedTable, one, "r", "")
			require.NoError(t, err)
			requireRows(t, name, []source.Row{back}, []source.Row{row})
			row = source.Row{"run_id": Text("r"), "k": v, "v": Int(1)}
			rows, _ = roundTrip(t, keyedTable, []source.Row{row}, "")
			requireRows(t, name, rows, []source.Row{row})
		})
	}
}

func TestAKeptRowHasItsColumnsThatAreNotNull(t *testing.T) {
	t.Parallel()
	kept, err := Keep(keyedTable, []source.Row{
		{"k": Text("real"), "v": realValue(1)},
		{"k": Text("null")},
		{"k": Text("new"), "v": Int(2), "run_id": Text("r")},
	}, "")
	require.NoError(t, err)
	require.Equal(t, []KeptRow{{`["real"]`, `{"v":{"real":"1"}}`}, {`["null"]`, "{}"}, {`["new"]`, `{"v":2}`}}, kept)
	one, err := KeepOne(keyedTable, source.Row{"k": Text("new"), "v": Int(2), "run_id": Text("r")}, "")
	require.NoError(t, err)
	require.JSONEq(t, `{"k":"new","v":2}`, string(one))
}

func TestColumnsOfProcessesStayBehind(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "_smithers_runs", Columns: []source.Column{{Name: "run_id", Key: 1}, {Name: "status"}, {Name: "runtime_owner_id"}}}
	row := source.Row{"run_id": Text("r"), "status": Text("running"), "runtime_owner_id": Text("pid:4711:host")}
	rows, kept := roundTrip(t, table, []source.Row{row}, "")
	require.Equal(t, []KeptRow{{"[]", `{"status":"running"}`}}, kept)
	require.Equal(t, source.Value{}, rows[0]["runtime_owner_id"])
}

func TestPathsGoToTheRootThatRowsAreRestoredFor(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "_smithers_runs", Columns: []source.Column{{Name: "run_id", Key: 1}, {Name: "vcs_root"}, {Name: "workflow_path"}, {Name: "config_json"}}}
	row := source.Row{
		"run_id": Text("r"), "vcs_root": Text("/home/dev/project"), "workflow_path": Text("/home/dev/project/workflow.tsx"),
		"config_json": Text(`{"rootDir":"/home/dev/project"}`),
	}
	kept, err := Keep(table, []source.Row{row}, "/home/dev/project")
	require.NoError(t, err)
	require.NotContains(t, kept[0].Value, "/home/dev")
	for _, at := range []Root{"/srv/elsewhere", `/srv/with "quotes"`, `C:\work`} {
		rows, err := Restore(table, kept, "r", at)
		require.NoError(t, err)
		require.Equal(t, string(at), rows[0]["vcs_root"].Bytes)
		require.Equal(t, string(at)+"/workflow.tsx", rows[0]["workflow_path"].Bytes)
		var config map[string]string
		require.NoError(t, json.Unmarshal([]byte(rows[0]["config_json"].Bytes), &config))
		require.Equal(t, string(at), config["rootDir"])
	}
}

func TestRowsOfATableWithoutAPrimaryKeyAreKnownByTheirPlaces(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "log", Columns: []source.Column{{Name: "RUN_ID"}, {Name: "line"}}}
	var actual []source.Row
	for _, line := range []string{"b", "a", "b", "b", "c", "d", "e", "f", "g", "h", "i", "b"} {
		actual = append(actual, source.Row{"RUN_ID": Text("r"), "line": Text(line)})
	}
	rows, over := roundTrip(t, table, actual, "")
	requireRows(t, "log", rows, actual)
	require.Contains(t, over, KeptRow{"[11]", `{"line":"b"}`})

	more, err := Keep(table, append(actual, source.Row{"line": Text("new")}), "")
	require.NoError(t, err)
	require.Len(t, more, 13)
	require.Subset(t, more, over, "a row more leaves the others as they are")
}

func TestRowsWithTheSamePrimaryKeyWhichNullAllowsAllComeBack(t *testing.T) {
	t.Parallel()
	actual := []source.Row{
		{"run_id": Text("r"), "k": {}, "v": Int(2)},
		{"run_id": Text("r"), "k": {}, "v": Int(1)},
		{"run_id": Text("r"), "k": {}, "v": Int(2)},
	}
	rows, over := roundTrip(t, keyedTable, actual, "")
	requireRows(t, "rows", rows, actual)
	require.Equal(t, []KeptRow{{"[null]", `{"v":2}`}, {`[null,{"place":1}]`, `{"v":1}`}, {`[null,{"place":2}]`, `{"v":2}`}}, over)
}

func TestATableWhoseWholePrimaryKeyIsTheRunHasOneRow(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "input", Columns: []source.Column{{Name: "run_id", Key: 1}, {Name: "topic"}}}
	actual := []source.Row{{"run_id": Text("r"), "topic": Text("t")}}
	rows, over := roundTrip(t, table, actual, "")
	requireRows(t, "rows", rows, actual)
	require.Equal(t, []KeptRow{{"[]", `{"topic":"t"}`}}, over)
}

func TestRowsWithoutARunAreKeptToo(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "notes", Columns: []source.Column{{Name: "id", Key: 1}, {Name: "text"}}}
	actual := []source.Row{{"id": Int(9), "text": Text("a")}, {"id": Int(10), "text": Text("b")}}
	rows, _ := roundTrip(t, table, actual, "")
	requireRows(t, "rows", rows, actual)
}

func TestALongPrimaryKeyFitsIntoACollection(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 1<<16)
	actual := []source.Row{
		{"run_id": Text("r"), "k": Text(long), "v": Int(1)},
		{"run_id": Text("r"), "k": Text(long + "2"), "v": Int(2)},
		{"run_id": Text("r"), "k": Text("sha256:"), "v": Int(3)},
	}
	rows, over := roundTrip(t, keyedTable, actual, "")
	requireRows(t, "rows", rows, actual)
	for _, o := range over {
		require.LessOrEqual(t, len(o.Key), page.MaxKey)
	}
}

func TestRowsComeBackInTheOrderOfTheirPrimaryKey(t *testing.T) {
	t.Parallel()
	var want []source.Row
	for _, k := range []source.Value{
		{}, Int(-1), Int(2), realValue(2.5), Int(10), Text(""), Text("10"), Text("B"), Text("a"), blobValue(""),
	} {
		want = append(want, source.Row{"run_id": Text("r"), "k": k, "v": {}})
	}
	rows, _ := roundTrip(t, keyedTable, want, "")
	requireRows(t, "rows", rows, want)
}

func TestOnlyWholePathsAreTakenForTheRoot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/a/b": {"", ""}, "/a/b/c": {"", "/c"}, "/a/bc": {"/a/bc"}, "x/a/b": {"x/a/b"}, "/a": {"/a"}, "": {""},
	} {
		require.Equal(t, want, Root("/a/b/").Split(text, false), text)
	}
	for text, want := range map[string][]string{
		`{"d":"/a/b"}`: {`{"d":"`, `"}`}, `{"d":"/a/b/c","e":"/a/b"}`: {`{"d":"`, `/c","e":"`, `"}`},
		`{"d":"/a/bc","e":"/a/b"}`: {`{"d":"/a/bc","e":"`, `"}`}, `{"d":"see /a/b"}`: {`{"d":"see /a/b"}`},
	} {
		require.Equal(t, want, Root("/a/b").Split(text, true), text)
	}
	for _, none := range []Root{"", "/", "//", "\xff\xff\xff"} {
		require.Equal(t, []string{"/a/b"}, none.Split("/a/b", false), none)
	}
}

func TestAKeptRowThatNobodyWouldWriteIsDamage(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]KeptRow{
		"a key that is no array":     {`{}`, `{}`},
		"a key with too many values": {`[1,2]`, `{}`},
		"a key with too few":         {`[]`, `{}`},
		"a key with another value":   {`[true]`, `{}`},
		"no object":                  {`[1]`, `[]`},
		"not JSON":                   {`[1]`, `{`},
		"nothing":                    {`[1]`, ``},
		"a boolean":                  {`[1]`, `{"v":true}`},
		"an array":                   {`[1]`, `{"v":[]}`},
		"a number beyond integers":   {`[1]`, `{"v":9223372036854775808}`},
		"a fraction":                 {`[1]`, `{"v":1.5}`},
		"an unknown tag":             {`[1]`, `{"v":{"what":"?"}}`},
		"a real that is no number":   {`[1]`, `{"v":{"real":"x"}}`},
		"a blob that is not base64":  {`[1]`, `{"v":{"blob":"*"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Restore(keyedTable, []KeptRow{o}, "r", "")
			require.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
}

func TestATableWhoseColumnsCannotBeNamedIsRefused(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "t", Columns: []source.Column{{Name: "run_id"}, {Name: "\xff"}}}
	_, err := Keep(table, []source.Row{{"\xff": Int(1)}}, "")
	require.ErrorIs(t, err, source.ErrDamaged)
}

func FuzzRestoreRows(f *testing.F) {
	f.Add("[1]", `{"v":{"real":"1"}}`)
	f.Add(`["sha256:0"]`, `{"k":null,"v":{"root":["a","b"]}}`)
	f.Fuzz(func(_ *testing.T, key, value string) {
		_, _ = Restore(keyedTable, []KeptRow{{key, value}}, "r", "/a")
	})
}

// drawnValue is any value that a database can have.
func drawnValue() *rapid.Generator[source.Value] {
	return rapid.Custom(func(t *rapid.T) source.Value {
		switch source.Kind(rapid.IntRange(0, int(source.Blob)).Draw(t, "kind")) {
		case source.Int:
			return Int(rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64()).Draw(t, "int"))
		case source.Real:
			return realValue(rapid.Float64().Draw(t, "real"))
		case source.Text:
			text := rapid.OneOf(rapid.StringMatching(`(/a/b|"/a/b"|x|ü){0,60}`), rapid.Just("/a/b"), rapid.String()).Draw(t, "text")
			return Text(text + rapid.SampledFrom([]string{"", "", "\xff"}).Draw(t, "end"))
		case source.Blob:
			return blobValue(string(rapid.SliceOf(rapid.Byte()).Draw(t, "blob")))
		case source.Null:
		}
		return source.Value{}
	})
}

// drawnRows are rows of a table, each key once.
func drawnRows(t *rapid.T, table source.Table, label string) []source.Row {
	all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) source.Row {
		row := source.Row{}
		for _, c := range table.Columns {
			row[c.Name] = drawnValue().Draw(t, c.Name)
		}
		row["run_id"] = Text("r")
		return row
	}), 0, 6).Draw(t, label)
	var rows []source.Row
	for _, r := range keyRows(table, all) {
		if r.place == 0 {
			rows = append(rows, r.row)
		}
	}
	return rows
}

func TestAnyRowsComeBack(t *testing.T) {
	t.Parallel()
	paths := source.Table{Name: "_smithers_runs", Columns: []source.Column{
		{Name: "run_id", Key: 1}, {Name: "k", Key: 2}, {Name: "config_json"}, {Name: "vcs_root"}, {Name: "v"},
	}}
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SampledFrom([]source.Table{keyedTable, paths}).Draw(rt, "table")
		actual := drawnRows(rt, table, "actual")
		rows, kept := roundTrip(rt, table, actual, "/a/b")
		require.Len(rt, rows, len(actual))
		_, again := roundTrip(rt, table, rows, "/a/b")
		require.ElementsMatch(rt, kept, again)
		found := make(map[string]source.Row)
		for _, r := range keyRows(table, rows) {
			found[r.key] = r.row
		}
		for _, r := range keyRows(table, actual) {
			for name, v := range r.row {
				require.True(rt, Same(v, found[r.key][name]), "%s %s: %v, want %v", r.key, name, found[r.key][name], v)
			}
		}
	})
}

// requireRows compares rows, in their order.
func requireRows(t *testing.T, what string, got, want []source.Row) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		require.True(t, maps.EqualFunc(got[i], want[i], Same), "%s: row %d is\n%v, want\n%v", what, i, got[i], want[i])
	}
}
