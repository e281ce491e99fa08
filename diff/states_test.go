package diff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// countingStore counts reads.
type countingStore struct {
	objstoretest.Memory
	reads map[objstore.ID]int
}

func (s *countingStore) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if s.reads != nil {
		s.reads[id]++
	}
	return s.Memory.Get(id)
}

// rows are what a state is made of: JSON by collection and key, "collection key".
// The input is "input ". The key of a signal follows from the signal.
type rows map[string]string

func (r rows) changes() []snapshot.Change {
	var changes []snapshot.Change
	for _, name := range slices.Sorted(maps.Keys(r)) {
		collection, key, _ := strings.Cut(name, " ")
		if collection == snapshot.CollectionSignals {
			key = ""
		}
		changes = append(changes, snapshot.Change{
			Op: snapshot.OpSet, Collection: collection, Key: key, Value: json.RawMessage(r[name]),
		})
	}
	return changes
}

// changesTo returns the changes that make next of r.
func (r rows) changesTo(next rows) []snapshot.Change {
	var changes []snapshot.Change
	for name, value := range r {
		collection, key, _ := strings.Cut(name, " ")
		if next[name] == value {
			continue
		}
		// A signal cannot change its number: the old signal is removed and the new one is set.
		if _, stays := next[name]; stays && collection != snapshot.CollectionSignals {
			continue
		}
		if collection == snapshot.CollectionSignals {
			var signal snapshot.Signal
			if err := json.Unmarshal([]byte(value), &signal); err != nil {
				panic(err)
			}
			key = signal.Digest()
		}
		changes = append(changes, snapshot.Change{Op: snapshot.OpRemove, Collection: collection, Key: key})
	}
	added := rows{}
	for name, value := range next {
		if r[name] != value {
			added[name] = value
		}
	}
	return append(changes, added.changes()...)
}

func state(t require.TestingT, w objstore.Writer, r rows) *snapshot.State {
	s, err := snapshot.EmptyState().Edit(w, r.changes())
	require.NoError(t, err)
	return s
}

// with is r with other rows set, and those that are "" removed.
func (r rows) with(edit rows) rows {
	next := maps.Clone(r)
	for name, value := range edit {
		if value == "" {
			delete(next, name)
		} else {
			next[name] = value
		}
	}
	return next
}

func baseRows() rows {
	return rows{
		"nodes plan::0":            `{"state":"finished","lastAttempt":1,"outputTable":"plan"}`,
		"nodes write::0":           `{"state":"finished","lastAttempt":1,"outputTable":"draft","needs":["plan"]}`,
		"nodes verify::0":          `{"state":"pending"}`,
		"outputs/plan plan::0":     `{"steps":3}`,
		"outputs/draft write::0":   `{"text":"first","size":9007199254740993}`,
		"loops refine":             `{"iteration":0,"done":false}`,
		"input ":                   `{"ticket":"T-1"}`,
		"outputs/check verify::10": `true`,
		"outputs/log verify::0":    `"` + strings.Repeat("the same ", 100) + `before"`,
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit rows
		want string // JSON without the fields that are empty
	}{
		"of equal states is empty": {rows{}, `{}`},
		"lists added nodes by node and iteration": {
			rows{"nodes a::10": `{"state":"pending"}`, "nodes a::9": `{"state":"pending"}`},
			`{"nodesAdded":["a::9","a::10"]}`,
		},
		"lists removed nodes": {rows{"nodes verify::0": ""}, `{"nodesRemoved":["verify::0"]}`},
		"a node has changed when its state or attempt has": {
			rows{"nodes verify::0": `{"state":"in-progress","lastAttempt":1}`},
			`{"nodesChanged":[{"nodeId":"verify::0",
				"from":{"nodeId":"verify","iteration":0,"state":"pending","lastAttempt":null,"outputTable":"","label":null,"needs":[],"ralphId":null},
				"to":{"nodeId":"verify","iteration":0,"state":"in-progress","lastAttempt":1,"outputTable":"","label":null,"needs":[],"ralphId":null}}]}`,
		},
		"a changed output does not change its node": {
			rows{"outputs/plan plan::0": `{"steps":4}`},
			`{"outputsChanged":[{"table":"plan","nodeId":"plan","iteration":0,"from":{"steps":3},"to":{"steps":4}}]}`,
		},
		"an output changes with the spelling of its value": {
			rows{"outputs/draft write::0": `{"size":9007199254740993,"text":"first"}`},
			`{"outputsChanged":[{"table":"draft","nodeId":"write","iteration":0,
				"from":{"text":"first","size":9007199254740993},"to":{"size":9007199254740993,"text":"first"}}]}`,
		},
		"outputs are compared by rows, not by tables": {
			rows{"outputs/draft write::1": `{"text":"second"}`},
			`{"outputsAdded":[{"table":"draft","nodeId":"write","iteration":1}]}`,
		},
		"a table without rows is gone": {
			rows{"outputs/check verify::10": "", "outputs/new x::0": "1"},
			`{"outputsAdded":[{"table":"new","nodeId":"x","iteration":0}],"outputsRemoved":[{"table":"check","nodeId":"verify","iteration":10}]}`,
		},
		"loops change by iteration or done": {
			rows{"loops refine": `{"iteration":2,"done":true}`, "loops other": `{"iteration":0,"done":false}`},
			`{"ralphAdded":["other"],"ralphChanged":[{"ralphId":"refine",
				"from":{"ralphId":"refine","iteration":0,"done":false},"to":{"ralphId":"refine","iteration":2,"done":true}}]}`,
		},
		"loops are removed": {rows{"loops refine": ""}, `{"ralphRemoved":["refine"]}`},
		"the input changes": {
			rows{"input ": `{"ticket":"T-2"}`},
			`{"inputChanged":true,"input":{"from":{"ticket":"T-1"},"to":{"ticket":"T-2"}}}`,
		},
		"no input is not null": {
			rows{"input ": ""}, `{"inputChanged":true,"input":{"from":{"ticket":"T-1"}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			a, b := state(t, &store, baseRows()), state(t, &store, baseRows().with(tt.edit))
			result, err := diff.States(a, b)
			require.NoError(t, err)
			assert.Equal(t, tt.want == "{}", result.Empty())

			want := map[string]any{"inputChanged": false, "vcsPointerChanged": false}
			for _, list := range []string{"nodes", "outputs", "ralph", "approvals", "humanRequests", "waits"} {
				want[list+"Added"], want[list+"Removed"], want[list+"Changed"] = []any{}, []any{}, []any{}
			}
			want["signalsAdded"], want["signalsRemoved"] = []any{}, []any{}
			require.NoError(t, decode(tt.want, &want))
			var got map[string]any
			require.NoError(t, decode(encode(t, result), &got))
			assert.Equal(t, want, got)
		})
	}
}

// decode keeps numbers as they are spelled.
func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

func encode(t *testing.T, result *diff.Result) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(result))
	return out.String()
}

func TestSnapshotsComparesTheVCSPointer(t *testing.T) {
	t.Parallel()
	empty := snapshot.EmptyState()
	one, two := &snapshot.VCS{Type: "git", CommitID: "aaa"}, &snapshot.VCS{Type: "git", CommitID: "bbb"}
	tests := map[string]struct {
		from, to *snapshot.VCS
		want     *diff.PointerChange
	}{
		"none on either side":              {nil, nil, nil},
		"the same commit":                  {one, &snapshot.VCS{Type: "git", CommitID: "aaa", Branch: "b", Frame: 3}, nil},
		"another commit":                   {one, two, &diff.PointerChange{From: "aaa", To: "bbb"}},
		"a working copy that appears":      {nil, two, &diff.PointerChange{To: "bbb"}},
		"a working copy that is left out":  {one, nil, &diff.PointerChange{From: "aaa"}},
		"a jj change at the same revision": {one, &snapshot.VCS{Type: "jj", CommitID: "aaa", ChangeID: "kk"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := diff.Snapshots(diff.Snapshot{State: empty, VCS: tt.from}, diff.Snapshot{State: empty, VCS: tt.to})
			require.NoError(t, err)
			assert.Equal(t, tt.want, result.VCSPointer)
			assert.Equal(t, tt.want != nil, result.VCSPointerChanged)
			assert.Equal(t, tt.want == nil, result.Empty())
		})
	}
}

func TestEqualSubtreesAreNeverRead(t *testing.T) {
	t.Parallel()
	var store countingStore
	large := rows{"input ": `"` + strings.Repeat("x", 100_000) + `"`}
	for i := range 1000 {
		key := snapshot.Key("task-"+strconv.Itoa(i), 0)
		large["nodes "+key] = `{"state":"pending"}`
		large["outputs/result "+key] = `{"n":` + strconv.Itoa(i) + `}`
		large["outputs/other "+key] = `{"n":` + strconv.Itoa(i) + `}`
	}
	a := state(t, &store, large)
	b, err := a.Edit(&store, rows{"outputs/result task-7::0": `{"n":"seven"}`}.changes())
	require.NoError(t, err)

	store.reads = make(map[objstore.ID]int)
	result, err := diff.States(a, b)
	require.NoError(t, err)
	require.Len(t, result.OutputsChanged, 1)
	assert.Len(t, store.reads, 4, "of each side the page and the directory between it and the top")

	clear(store.reads)
	again, err := b.Edit(&store, rows{"outputs/result task-7::0": `{"n":7}`}.changes())
	require.NoError(t, err)
	clear(store.reads)
	result, err = diff.States(a, again)
	require.NoError(t, err)
	assert.True(t, result.Empty())
	assert.Empty(t, store.reads)
}

func TestMissingObjectsAreAnError(t *testing.T) {
	t.Parallel()
	var store lossyStore
	lines := baseRows()
	for i := range 40 { // so that there are several pages
		lines["nodes more-"+strconv.Itoa(i)+"::0"] = lines["nodes verify::0"]
	}
	a, b := state(t, &store, lines), state(t, &store, lines.with(rows{"nodes verify::0": ""}))
	entries, err := objstore.ReadTree(&store, b.Nodes().ID())
	require.NoError(t, err)
	had, err := objstore.ReadTree(&store, a.Nodes().ID())
	require.NoError(t, err)
	lost := entries[slices.IndexFunc(entries, func(e objstore.TreeEntry) bool { return !slices.Contains(had, e) })]
	store.lost = lost.ID
	result, err := diff.States(a, b)
	require.ErrorIs(t, err, objstore.ErrNotFound)
	assert.Nil(t, result)
}

// lossyStore is a store that has lost an object.
type lossyStore struct {
	objstoretest.Memory
	lost objstore.ID
}

func (s *lossyStore) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if id == s.lost {
		return 0, nil, fmt.Errorf("%w: %v", objstore.ErrNotFound, id)
	}
	return s.Memory.Get(id)
}

func TestApplyingTheChangesGivesTheOtherState(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]string{"a::0", "a::1", "b::0", "c::0", "d::12"})
	drawState := rapid.Custom(func(t *rapid.T) rows {
		r := rows{}
		for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, "nodes") {
			r["nodes "+key] = fmt.Sprintf(`{"state":%q}`, rapid.SampledFrom([]string{"pending", "finished"}).Draw(t, "state"))
		}
		for _, table := range []string{"x", "y.z"} {
			for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, table) {
				r["outputs/"+table+" "+key] = rapid.SampledFrom([]string{"1", "1.0", "null", "[\n]"}).Draw(t, "value")
			}
		}
		if rapid.Bool().Draw(t, "loop") {
			r["loops l"] = fmt.Sprintf(`{"iteration":%d,"done":false}`, rapid.IntRange(0, 3).Draw(t, "iteration"))
		}
		for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, "approvals") {
			r["approvals "+key] = rapid.SampledFrom([]string{requested, approved}).Draw(t, "approval")
			r["human-requests "+key] = pending
			r["waits "+key] = rapid.SampledFrom([]string{waiting, fired}).Draw(t, "wait")
		}
		for seq, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), rapid.ID[string]).Draw(t, "signals") {
			r["signals "+name] = fmt.Sprintf(`{"seq":%d,"name":%q,"payload":1,"receivedAtMs":5}`, seq, name)
		}
		if rapid.Bool().Draw(t, "has input") {
			r["input "] = rapid.SampledFrom([]string{"{}", "null"}).Draw(t, "input")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		var store objstoretest.Memory
		from, to := drawState.Draw(t, "from"), drawState.Draw(t, "to")
		a, b := state(t, &store, from), state(t, &store, to)
		changes := from.changesTo(to)
		got, err := a.Edit(&store, changes)
		require.NoError(t, err)
		require.Equal(t, b.ID(), got.ID())

		result, err := diff.States(a, b)
		require.NoError(t, err)
		require.Equal(t, a.ID() == b.ID(), result.Empty())
		require.Equal(t, len(changes) == 0, result.Empty())
		back, err := diff.States(b, a)
		require.NoError(t, err)
		require.Equal(t, result.NodesAdded, back.NodesRemoved)
		require.Equal(t, result.OutputsRemoved, back.OutputsAdded)
		require.Len(t, back.OutputsChanged, len(result.OutputsChanged))
		require.Equal(t, result.ApprovalsAdded, back.ApprovalsRemoved)
		require.Equal(t, result.SignalsAdded, back.SignalsRemoved)
	})
}
