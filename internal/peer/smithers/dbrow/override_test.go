package dbrow

import (
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

// roundTrip is what comes back of rows, and their overrides.
func roundTrip(t require.TestingT, table source.Table, predicted, actual []source.Row, at Root) ([]source.Row, []Override) {
	over, err := Differences(table, predicted, actual, at)
	require.NoError(t, err)
	rows, err := Restore(table, predicted, over, "r", at)
	require.NoError(t, err)
	return rows, over
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
			for _, predicted := range [][]source.Row{nil, {{"k": Text("a"), "v": Text("other")}}, {{"k": Text("a"), "v": v}}} {
				rows, _ := roundTrip(t, keyedTable, predicted, []source.Row{row}, "")
				requireRows(t, name, rows, []source.Row{row})
			}
			row = source.Row{"run_id": Text("r"), "k": v, "v": Int(1)}
			rows, _ := roundTrip(t, keyedTable, nil, []source.Row{row}, "")
			requireRows(t, name, rows, []source.Row{row})
		})
	}
}

func TestNumbersThatAreEqualButStoredOtherwiseAreNotAsPredicted(t *testing.T) {
	t.Parallel()
	minus := realValue(math.Copysign(0, -1))
	for _, pair := range [][2]source.Value{{realValue(0), minus}, {minus, realValue(0)}, {Int(0), realValue(0)}, {Text("a"), blobValue("a")}} {
		actual := []source.Row{{"run_id": Text("r"), "k": Int(1), "v": pair[1]}}
		rows, _ := roundTrip(t, keyedTable, []source.Row{{"k": Int(1), "v": pair[0]}}, actual, "")
		requireRows(t, "rows", rows, actual)
	}
}

func TestAnOverrideHasOnlyWhatIsNotAsPredicted(t *testing.T) {
	t.Parallel()
	predicted := []source.Row{
		{"k": Text("same"), "v": Int(1)},
		{"k": Text("other"), "v": Int(1)},
		{"k": Text("gone"), "v": Int(1)},
		{"k": Text("null"), "v": Int(1)},
	}
	actual := []source.Row{
		{"k": Text("same"), "v": Int(1)},
		{"k": Text("other"), "v": realValue(1)},
		{"k": Text("null")},
		{"k": Text("new"), "v": Int(2)},
		{"k": Text("new and empty")},
	}
	over, err := Differences(keyedTable, predicted, actual, "")
	require.NoError(t, err)
	require.Equal(t, []Override{
		{`["gone"]`, "null"},
		{`["new and empty"]`, "{}"},
		{`["new"]`, `{"v":2}`},
		{`["null"]`, `{"v":null}`},
		{`["other"]`, `{"v":{"real":"1"}}`},
	}, over)
}

func TestAnEditThatAnEarlierVersionStoredIsRead(t *testing.T) {
	t.Parallel()
	predicted := []source.Row{{"k": Int(1), "v": Text("one long text")}}
	rows, err := Restore(keyedTable, predicted, []Override{{`[1]`, `{"v":{"edit":[4,5," short"]}}`}}, "r", "")
	require.NoError(t, err)
	requireRows(t, "edited", rows, []source.Row{{"run_id": Text("r"), "k": Int(1), "v": Text("one  short text")}})
}

func TestRowsOfATableWithoutAPrimaryKeyAreKnownByTheirPlaces(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "log", Columns: []source.Column{{Name: "RUN_ID"}, {Name: "line"}}}
	var actual []source.Row
	for _, line := range []string{"b", "a", "b", "b", "c", "d", "e", "f", "g", "h", "i", "b"} {
		actual = append(actual, source.Row{"RUN_ID": Text("r"), "line": Text(line)})
	}
	rows, over := roundTrip(t, table, nil, actual, "")
	requireRows(t, "log", rows, actual)
	require.Contains(t, over, Override{"[11]", `{"line":"b"}`})

	more, err := Differences(table, nil, append(actual, source.Row{"line": Text("new")}), "")
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
	rows, over := roundTrip(t, keyedTable, nil, actual, "")
	requireRows(t, "rows", rows, actual)
	require.Equal(t, []Override{{`[null,{"place":1}]`, `{"v":1}`}, {`[null,{"place":2}]`, `{"v":2}`}, {"[null]", `{"v":2}`}}, over)
}

func TestATableWhoseWholePrimaryKeyIsTheRunHasOneRow(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "input", Columns: []source.Column{{Name: "run_id", Key: 1}, {Name: "topic"}}}
	actual := []source.Row{{"run_id": Text("r"), "topic": Text("t")}}
	rows, over := roundTrip(t, table, nil, actual, "")
	requireRows(t, "rows", rows, actual)
	require.Equal(t, []Override{{"[]", `{"topic":"t"}`}}, over)
}

func TestRowsWithoutARunAreKeptToo(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "notes", Columns: []source.Column{{Name: "id", Key: 1}, {Name: "text"}}}
	actual := []source.Row{{"id": Int(9), "text": Text("a")}, {"id": Int(10), "text": Text("b")}}
	rows, _ := roundTrip(t, table, nil, actual, "")
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
	for _, predicted := range [][]source.Row{nil, {{"k": Text(long), "v": Int(2)}, {"k": Text(long + "3")}}} {
		rows, over := roundTrip(t, keyedTable, predicted, actual, "")
		requireRows(t, "rows", rows, []source.Row{actual[0], actual[1], actual[2]})
		for _, o := range over {
			require.LessOrEqual(t, len(o.Key), page.MaxKey)
		}
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
	rows, _ := roundTrip(t, keyedTable, nil, want, "")
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

func TestAnOverrideThatNobodyWouldWriteIsDamage(t *testing.T) {
	t.Parallel()
	predicted := []source.Row{{"k": Int(1), "v": Text("text")}}
	for name, o := range map[string]Override{
		"a key that is no array":         {`{}`, `{}`},
		"a key with too many values":     {`[1,2]`, `{}`},
		"a key with too few":             {`[]`, `{}`},
		"a key with another value":       {`[true]`, `{}`},
		"no object":                      {`[1]`, `[]`},
		"not JSON":                       {`[1]`, `{`},
		"nothing":                        {`[1]`, ``},
		"a boolean":                      {`[1]`, `{"v":true}`},
		"an array":                       {`[1]`, `{"v":[]}`},
		"a number beyond integers":       {`[1]`, `{"v":9223372036854775808}`},
		"a fraction":                     {`[1]`, `{"v":1.5}`},
		"an unknown tag":                 {`[1]`, `{"v":{"what":"?"}}`},
		"a real that is no number":       {`[1]`, `{"v":{"real":"x"}}`},
		"a blob that is not base64":      {`[1]`, `{"v":{"blob":"*"}}`},
		"an edit beyond the text":        {`[1]`, `{"v":{"edit":[3,2,""]}}`},
		"an edit before the text":        {`[1]`, `{"v":{"edit":[-1,0,""]}}`},
		"an edit of too few":             {`[1]`, `{"v":{"edit":[1]}}`},
		"an edit of a row not predicted": {`[2]`, `{"v":{"edit":[0,0,""]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Restore(keyedTable, predicted, []Override{o}, "r", "")
			require.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
}

func TestATableWhoseColumnsCannotBeNamedIsRefused(t *testing.T) {
	t.Parallel()
	table := source.Table{Name: "t", Columns: []source.Column{{Name: "run_id"}, {Name: "\xff"}}}
	_, err := Differences(table, nil, []source.Row{{"\xff": Int(1)}}, "")
	require.ErrorIs(t, err, source.ErrDamaged)
}

func FuzzRestoreRows(f *testing.F) {
	f.Add("[1]", `{"v":{"edit":[1,1,"x"]}}`)
	f.Add(`["sha256:0"]`, `{"k":null,"v":{"root":["a","b"]}}`)
	f.Fuzz(func(_ *testing.T, key, value string) {
		_, _ = Restore(keyedTable, []source.Row{{"k": Int(1), "v": Text("text")}}, []Override{{key, value}}, "r", "/a")
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

func TestAnyRowsComeBackWhateverIsPredicted(t *testing.T) {
	t.Parallel()
	paths := source.Table{Name: "_smithers_runs", Columns: []source.Column{
		{Name: "run_id", Key: 1}, {Name: "k", Key: 2}, {Name: "config_json"}, {Name: "vcs_root"}, {Name: "v"},
	}}
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SampledFrom([]source.Table{keyedTable, paths}).Draw(rt, "table")
		actual, predicted := drawnRows(rt, table, "actual"), drawnRows(rt, table, "predicted")
		for i := range predicted { // most are nearly right
			if i < len(actual) && rapid.Bool().Draw(rt, "same key") {
				predicted[i]["k"] = actual[i]["k"]
			}
		}
		rows, over := roundTrip(rt, table, predicted, actual, "/a/b")
		require.Len(rt, rows, len(actual))
		_, again := roundTrip(rt, table, predicted, rows, "/a/b")
		require.Equal(rt, over, again)
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
