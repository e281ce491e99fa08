package contents

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// comesBack takes a snapshot to a state and its shape, through what is stored of them, and back. It tells
// whether the snapshot is taken at all.
func comesBack(t require.TestingT, c source.Contents, l Layout) bool {
	w, err := Read(c, "", snapshot.Limits{})
	if err != nil {
		return false
	}
	var store objstoretest.Memory
	changes, err := snapshot.ChangesTo(snapshot.EmptyState(), w)
	require.NoError(t, err)
	state, err := snapshot.EmptyState().Edit(&store, changes)
	if err != nil {
		require.ErrorIs(t, err, snapshot.ErrInvalid) // such as a table whose name is too long
		return false
	}
	text, err := json.Marshal(ShapeOf("r", c, w, nil, l))
	require.NoError(t, err)
	var s Shape
	require.NoError(t, json.Unmarshal(text, &s))
	w, err = WholeOf(state)
	require.NoError(t, err)
	back, err := Write("r", w, nil, l, s)
	require.NoError(t, err)
	require.Equal(t, c, back)
	own, err := LayoutOf(c)
	require.NoError(t, err)
	back, err = Write("r", w, nil, own, ShapeOf("r", c, w, nil, own))
	require.NoError(t, err)
	require.Equal(t, c, back)
	return true
}

func FuzzContents(f *testing.F) {
	f.Add(minimal.Nodes, minimal.Outputs, minimal.Ralph, minimal.Input)
	f.Add(`[]`, `{}`, `[]`, `{}`)
	f.Add(`[ {"nodeId":"\ud800","state":"x"} ]`, `{"a":[],"a":[{"nodeId":"n","iteration":0,"v":1e999}],"b":1}`, `[{"ralphId":"l","ralphId":"m"}]`, `{"runId":"s","runId":1}`)
	f.Add(`[{"nodeId":"b","iteration":0,"state":"pending"},{"nodeId":"a","iteration":0,"state":"pending"}]`, `{"aB":[],"a_b":[],"__smithers":[1]}`, `[]`, `[1 ,2]`)
	l := Layout{Keys: []LayoutKey{{Name: "t"}, {Name: "a_b"}, {Name: "aB", Of: "a_b"}, {Name: horizonName}}}
	f.Fuzz(func(t *testing.T, nodes, outputs, ralph, input string) {
		comesBack(t, source.Contents{Nodes: nodes, Outputs: outputs, Ralph: ralph, Input: input}, l)
	})
}

// oddity draws one of several spellings, the usual one mostly.
func oddity(t *rapid.T, usual string, others ...string) string {
	if rapid.IntRange(0, 7).Draw(t, "odd") < 7 {
		return usual
	}
	return rapid.SampledFrom(others).Draw(t, "oddity")
}

// drawList draws an array of rows, mostly sorted and without white space.
func drawList(t *rapid.T, keys []string, row func(key string) string) string {
	if rapid.Bool().Draw(t, "shuffled") {
		keys = rapid.Permutation(keys).Draw(t, "order")
	}
	rows := make([]string, len(keys))
	for i, key := range keys {
		rows[i] = row(key)
	}
	return "[" + strings.Join(rows, oddity(t, ",", ", ", "\n,")) + "]"
}

func drawKeys(t *rapid.T) []string {
	return []string{"a", "b", "b::1", "c", "é", "z"}[:rapid.IntRange(0, 6).Draw(t, "rows")]
}

// drawContents draws a snapshot that is like those of Smithers, with what is odd here and there.
func drawContents(t *rapid.T) source.Contents {
	seq := 0
	table := func() string {
		return drawList(t, drawKeys(t), func(key string) string {
			seq++
			head := `"runId":"` + oddity(t, "r", "s") + `","nodeId":"` + key + `","iteration":` + strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "iteration"))
			return oddity(t,
				`{`+head+`,"v":`+oddity(t, "1", `"\ud800"`, "1e999", "[ ]", `{"a":1,"a":2}`)+`,"__smithersProvenanceSeq":`+strconv.Itoa(seq)+`}`,
				`{`+head+`}`, `{"v":1,`+head+`}`, `{ `+head+`}`, `{`+head+`,"nodeId":"n`+key+`"}`, `{`+head+`,"runId":null}`)
		})
	}
	named := func(name, value string) string { return `"` + name + `":` + value }
	flaky := table()
	outputs := []string{
		named("t", table()), named("flaky_out", flaky), named("flakyOut", oddity(t, flaky, "[]", table())),
		oddity(t, named("u", "[]"), named("t", "[]"), named("__smithersMore", "[1]"), named("v", "null")), named(horizonName, oddity(t, "-1", "7", "null")),
	}
	return source.Contents{
		Nodes: drawList(t, drawKeys(t), func(key string) string {
			return `{"nodeId":"` + oddity(t, key, `\u0061`+key) + `",` + oddity(t, `"iteration":0,"state":"finished"`, `"state":"pending","iteration":0`, `"iteration":1,"state":"waiting-quota"`) +
				`,"lastAttempt":` + oddity(t, "1", "null") + `,"outputTable":` + oddity(t, `"t"`, "null", `""`) + `,"label":` + oddity(t, "null", `"<é>"`, `"\u00e9"`) + oddity(t, "", `,"more":1`) + `}`
		}),
		Outputs: "{" + strings.Join(outputs, ",") + "}",
		Ralph: drawList(t, drawKeys(t), func(key string) string {
			return `{"ralphId":"` + key + `","iteration":0,"done":` + oddity(t, "false", "true", "1") + `}`
		}),
		Input: oddity(t, `{"runId":"`+oddity(t, "r", "s")+`","x":[1]}`, "{}", `{"x":1}`, "[1]", `{"x":1,"runId":"r"}`, `{"runId":"r","runId":2}`, "7", ` {}`),
	}
}

func TestAnySnapshotComesBackByteForByte(t *testing.T) {
	t.Parallel()
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		l := Layout{Keys: []LayoutKey{{Name: "t"}, {Name: "flaky_out"}, {Name: "flakyOut", Of: "flaky_out"}, {Name: "u"}, {Name: horizonName}}}
		if comesBack(t, drawContents(t), l) {
			taken++
		}
	})
	require.Greater(t, taken, 20, "most of them are states")
}

func TestTheRowsThatMoveAreTheFewest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}[:rapid.IntRange(0, 8).Draw(t, "rows")]).Draw(t, "order")
		var stay []int
		for i, stays := range rising(order) {
			if stays {
				stay = append(stay, order[i])
			}
		}
		require.IsIncreasing(t, append([]int{-1}, append(stay, 100)...))
		require.Len(t, stay, longestRising(order))
	})
}

// longestRising tries all subsequences.
func longestRising(order []int) int {
	longest := 0
	for set := range 1 << len(order) {
		length, last := 0, -1
		for i, n := range order {
			if set&(1<<i) == 0 {
				continue
			}
			if n < last {
				length = -1
				break
			}
			length, last = length+1, n
		}
		longest = max(longest, length)
	}
	return longest
}
