package snapshot_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, node string
		iteration int
	}{
		{"a::0", "a", 0}, {"a::12", "a", 12}, {"a::b::3", "a::b", 3}, {"::::1", "::", 1},
	} {
		node, iteration, err := snapshot.SplitKey(tc.key)
		require.NoError(t, err)
		assert.Equal(t, tc.node, node)
		assert.Equal(t, tc.iteration, iteration)
		assert.Equal(t, tc.key, snapshot.Key(node, iteration))
	}
	for _, key := range []string{"", "a", "::0", "a::", "a::01", "a::-1", "a::+1", "a::x", "a:0", "a::9007199254740992"} {
		_, _, err := snapshot.SplitKey(key)
		assert.ErrorIs(t, err, snapshot.ErrInvalid, "%q", key)
	}
}

func TestNodesAreStoredInOneForm(t *testing.T) {
	t.Parallel()
	full := `{"label":"L","lastAttempt":2,"needs":["a","b"],"outputTable":"t","ralphId":"r","state":"failed"}`
	least := `{"label":null,"lastAttempt":null,"needs":[],"outputTable":null,"ralphId":null,"state":"pending"}`
	for _, tc := range []struct{ name, given, want string }{
		{"canonical", full, full},
		{"members in any order, with space", `{ "state" : "failed", "needs":["b","a","b"], "ralphId":"r", "outputTable":"t", "lastAttempt":2, "label":"L" }`, full},
		{"with the key's parts", `{"nodeId":"n","iteration":3,"state":"pending"}`, least},
		{"what is optional left out", `{"state":"pending"}`, least},
		{"what is optional null", `{"state":"pending","label":null,"needs":null,"outputTable":null,"ralphId":null}`, least},
		{"no table is the empty table", `{"state":"pending","outputTable":""}`, least},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := stateWith(t, new(objstoretest.Memory), set("nodes", page.Row{Key: "n::3", Value: []byte(tc.given)}))
			value, found, err := s.Nodes().Get("n::3")
			require.NoError(t, err)
			require.True(t, found)
			assert.Equal(t, tc.want, string(value))
			n, err := snapshot.DecodeNode(page.Row{Key: "n::3", Value: value})
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(snapshot.EncodeNode(n).Value))
			canonical, err := jcs.Transform(value)
			require.NoError(t, err)
			assert.Equal(t, string(canonical), string(value), "as RFC 8785 has it")
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	for _, tc := range []struct {
		name   string
		change snapshot.Change
		says   string
		limit  bool
	}{
		{"an unknown collection", set("tables", page.Row{Key: "a::0", Value: []byte(`1`)}), "unknown collection", false},
		{"an unknown op", snapshot.Change{Op: "put", Collection: "nodes", Key: "a::0"}, "op", false},
		{"an unknown field", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"pending","stat":1}`)}), "stat: unknown field", false},
		{"a field of another case", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"State":"pending"}`)}), "State: unknown field", false},
		{"a field twice", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"pending","state":"pending"}`)}), "state: given twice", false},
		{"a field of another type", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":1}`)}), "state", false},
		{"a node without a state", set("nodes", page.Row{Key: "a::0", Value: []byte(`{}`)}), "state: missing", false},
		{"a node in an unknown state", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"done"}`)}), "state", false},
		{"a node that is no object", set("nodes", page.Row{Key: "a::0", Value: []byte(`[]`)}), "object", false},
		{"a node that is not JSON", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":`)}), "JSON", false},
		{"a node of another key", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"pending","nodeId":"b"}`)}), "nodeId", false},
		{"an attempt beyond 2^53", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"pending","lastAttempt":9007199254740992}`)}), "lastAttempt", false},
		{"an attempt that is no integer", set("nodes", page.Row{Key: "a::0", Value: []byte(`{"state":"pending","lastAttempt":1.5}`)}), "lastAttempt", false},
		{"a node's key without an iteration", set("nodes", page.Row{Key: "a", Value: []byte(`{"state":"pending"}`)}), "nodeId::iteration", false},
		{"an output's key without an iteration", set("outputs/t", page.Row{Key: "a", Value: []byte(`1`)}), "nodeId::iteration", false},
		{"an output that is not JSON", set("outputs/t", page.Row{Key: "a::0", Value: []byte(`{`)}), "JSON", false},
		{"an output with space around it", set("outputs/t", page.Row{Key: "a::0", Value: []byte(" 1")}), "space", false},
		{"an output without a value", snapshot.Change{Op: "set", Collection: "outputs/t", Key: "a::0"}, "value: missing", false},
		{"a table without a name", set("outputs/", page.Row{Key: "a::0", Value: []byte(`1`)}), "table", false},
		{"a table with a long name", set("outputs/"+strings.Repeat("é", 34), page.Row{Key: "a::0", Value: []byte(`1`)}), "table", false},
		{"a removal with a value", snapshot.Change{Op: "remove", Collection: "input", Value: []byte(`1`)}, "value", false},
		{"an input with a key", snapshot.Change{Op: "set", Collection: "input", Key: "k", Value: []byte(`1`)}, "key", false},
		{"an input that is not JSON", input(`{]`), "JSON", false},
		{"a loop without an id", set("loops", page.Row{Value: []byte(`{"iteration":0,"done":false}`)}), "ralphId", false},
		{"a loop with an unknown field", set("loops", page.Row{Key: "l", Value: []byte(`{"iterations":0}`)}), "iterations: unknown field", false},
		{"an output nested too deep", set("outputs/t", page.Row{Key: "a::0", Value: []byte(deep)}), "1000 levels deep", true},
		{"an input nested too deep", input(deep), "1000 levels deep", true},
		{"a key too long", set("outputs/t", page.Row{Key: strings.Repeat("a", 1024) + "::0", Value: []byte(`1`)}), "1024", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := snapshot.EmptyState().Edit(new(objstoretest.Memory), []snapshot.Change{tc.change})
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
			assert.ErrorContains(t, err, tc.says)
			assert.Nil(t, s)
			if tc.limit {
				assert.ErrorIs(t, err, snapshot.ErrLimit)
			} else {
				assert.NotErrorIs(t, err, snapshot.ErrLimit)
			}
		})
	}
}

func TestLimitsAreTheCallers(t *testing.T) {
	t.Parallel()
	limits := snapshot.Limits{Depth: 2, Key: 4, Value: 10}
	for _, tc := range []struct {
		change snapshot.Change
		ok     bool
	}{
		{output("t", "a", `[[1]]`), true},
		{output("t", "a", `[[[1]]]`), false},
		{output("t", "a", `"[[[[[["`), true},
		{output("t", "a", `"\"[[[["`), true},
		{output("t", "ab", `1`), false},
		{output("t", "a", `"123456789"`), false},
	} {
		_, err := snapshot.EmptyState().EditWithin(limits, new(objstoretest.Memory), []snapshot.Change{tc.change})
		if tc.ok {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, snapshot.ErrLimit)
		}
	}
}

func TestUsersJSONIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`{"b":1,"a":2,"b":3}`, `9007199254740993123`, `1.0e+0`, `"\u0041\/\ud800"`, `{ "a" : [ ] }`, "[\n1\n]", `null`, `"` + strings.Repeat("x", 40000) + `"`,
	} {
		t.Run(fmt.Sprintf("%.20s", value), func(t *testing.T) {
			t.Parallel()
			w := new(objstoretest.Memory)
			s := stateWith(t, w, input(value), output("weird. table", "a", value))
			s, err := snapshot.OpenState(w, s.Parts())
			require.NoError(t, err)
			require.NoError(t, s.Verify(nil))
			got, err := s.Input()
			require.NoError(t, err)
			assert.Equal(t, value, string(got))
			row, found, err := s.Outputs("weird. table").Get("a::0")
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, value, string(row))
			assert.Equal(t, []string{"weird. table"}, s.Tables())
			dump, err := snapshot.DumpState(s)
			require.NoError(t, err)
			whole, err := snapshot.ParseWhole(snapshot.Limits{}, dump)
			require.NoError(t, err)
			changes, err := snapshot.ChangesTo(s, whole)
			require.NoError(t, err)
			assert.Empty(t, changes)
		})
	}
}

// genChanges makes changes of a small state.
func genChanges() *rapid.Generator[[]snapshot.Change] {
	key := rapid.Custom(func(t *rapid.T) string {
		return snapshot.Key(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), rapid.IntRange(0, 2).Draw(t, "iteration"))
	})
	change := rapid.Custom(func(t *rapid.T) snapshot.Change {
		c := snapshot.Change{Op: snapshot.OpSet}
		c.Collection = rapid.SampledFrom([]string{
			"nodes", "outputs/t", "outputs/T", "outputs/t-u", "loops", "input", "approvals", "human-requests", "waits",
		}).Draw(t, "collection")
		if c.Collection != snapshot.CollectionInput {
			c.Key = key.Draw(t, "key")
		}
		if rapid.IntRange(0, 2).Draw(t, "op") == 0 {
			c.Op = snapshot.OpRemove
			return c
		}
		switch c.Collection {
		case snapshot.CollectionNodes:
			c.Value = fmt.Appendf(nil, `{"state":%q}`, rapid.SampledFrom([]string{"pending", "finished"}).Draw(t, "state"))
		case snapshot.CollectionLoops:
			c.Value = fmt.Appendf(nil, `{"iteration":%d}`, rapid.IntRange(0, 2).Draw(t, "at"))
		case snapshot.CollectionApprovals:
			c.Value = fmt.Appendf(nil, `{"attempt":1,"status":"requested","requestedAtMs":%d}`, rapid.IntRange(0, 2).Draw(t, "at"))
		case snapshot.CollectionHumanRequests:
			c.Value = fmt.Appendf(nil, `{"attempt":1,"kind":"json","status":"pending","form":%s}`, rapid.SampledFrom([]string{`null`, `true`, "{\n}"}).Draw(t, "form"))
		case snapshot.CollectionWaits:
			c.Value = fmt.Appendf(nil, `{"attempt":1,"kind":"timer","status":"waiting","dueAtMs":%d}`, rapid.IntRange(0, 2).Draw(t, "at"))
		default:
			c.Value = []byte(rapid.SampledFrom([]string{`1`, `1.0`, "[\n]", `"` + strings.Repeat("y", 17000) + `"`}).Draw(t, "value"))
		}
		return c
	})
	return rapid.SliceOfN(change, 0, 12)
}

// model is what a state should hold, by collection and key.
func model(m map[string]string, changes []snapshot.Change) {
	for _, c := range changes {
		at := c.Collection + " " + c.Key
		if c.Op == snapshot.OpRemove {
			delete(m, at)
		} else {
			m[at] = string(c.Value)
		}
	}
}

func TestEqualStatesHaveEqualIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := new(objstoretest.Memory)
		build := func(label string) (*snapshot.State, map[string]string) {
			s, m := snapshot.EmptyState(), map[string]string{}
			for i := range rapid.IntRange(1, 3).Draw(rt, label) {
				changes := genChanges().Draw(rt, fmt.Sprint(label, i))
				next, err := s.Edit(w, changes)
				require.NoError(rt, err)
				s = next
				model(m, changes)
			}
			return s, m
		}
		a, am := build("a")
		b, bm := build("b")
		equal := maps.Equal(am, bm)
		sumA := a.ContentHash()
		sumB := b.ContentHash()
		require.Equal(rt, equal, a.ID() == b.ID())
		sameCore := maps.Equal(core(am), core(bm))
		require.Equal(rt, sameCore, sumA == sumB)
		require.Equal(rt, sameCore, snapshot.SameCore(a, b))

		// A state opened anew says the same, and its dump leads to it from anywhere.
		reopened, err := snapshot.OpenState(w, a.Parts())
		require.NoError(rt, err)
		sum := reopened.ContentHash()
		require.Equal(rt, sumA, sum)
		require.True(rt, snapshot.SameCore(a, reopened))
		require.NoError(rt, reopened.Verify(nil))
		dump, err := snapshot.DumpState(reopened)
		require.NoError(rt, err)
		whole, err := snapshot.ParseWhole(snapshot.Limits{}, dump)
		require.NoError(rt, err)
		changes, err := snapshot.ChangesTo(b, whole)
		require.NoError(rt, err)
		got, err := b.Edit(w, changes)
		require.NoError(rt, err)
		require.Equal(rt, a.ID(), got.ID())
		differing := 0
		for at := range union(am, bm) {
			if va, vb := am[at], bm[at]; va != vb {
				differing++
			}
		}
		require.Len(rt, changes, differing, "just the rows that differ")
	})
}

// core is what of a model is not in the mailbox.
func core(m map[string]string) map[string]string {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(at, _ string) bool {
		collection, _, _ := strings.Cut(at, " ")
		return slices.Contains([]string{"approvals", "human-requests", "waits"}, collection)
	})
	return out
}

func union(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func TestWholeStates(t *testing.T) {
	t.Parallel()
	s := stateWith(t, new(objstoretest.Memory),
		node(snapshot.Node{NodeID: "a", State: snapshot.NodeFinished, LastAttempt: new(1), OutputTable: "t"}),
		node(snapshot.Node{NodeID: "b", State: snapshot.NodePending, Needs: []string{"a"}, RalphID: new("l")}),
		output("t", "a", `{ "n" : 1.0 }`), loop(snapshot.Loop{RalphID: "l"}), input(`{"x": 1}`),
	)
	dump, err := snapshot.DumpState(s)
	require.NoError(t, err)
	want := `{"nodes":[{"nodeId":"a","iteration":0,"label":null,"lastAttempt":1,"needs":[],"outputTable":"t","ralphId":null,"state":"finished"},` +
		`{"nodeId":"b","iteration":0,"label":null,"lastAttempt":null,"needs":["a"],"outputTable":null,"ralphId":"l","state":"pending"}],` +
		`"outputs":[{"table":"t","nodeId":"a","iteration":0,"value":{ "n" : 1.0 }}],` +
		`"loops":[{"ralphId":"l","done":false,"iteration":0}],"input":{"x": 1},"approvals":[],"humanRequests":[],"signals":[],"waits":[]}`
	assert.Equal(t, want, string(dump))

	whole, err := snapshot.ParseWhole(snapshot.Limits{}, []byte(` {"nodes":[{"nodeId":"a","state":"failed"}],"input":{"x": 1}} `))
	require.NoError(t, err)
	changes, err := snapshot.ChangesTo(s, whole)
	require.NoError(t, err)
	failed := snapshot.EncodeNode(snapshot.Node{NodeID: "a", State: snapshot.NodeFailed})
	assert.Equal(t, []snapshot.Change{remove("loops", "l"), set("nodes", failed), remove("nodes", "b::0"), remove("outputs/t", "a::0")}, changes)

	for _, tc := range []struct{ name, given, says string }{
		{"an approval twice", `{"approvals":[{"nodeId":"a","attempt":1,"status":"requested"},{"nodeId":"a","attempt":2,"status":"requested"}]}`, "given twice"},
		{"an unknown member of a wait", `{"waits":[{"nodeId":"a","x":1}]}`, "waits: [0]: wait"},
		{"not JSON", `{`, "JSON"},
		{"no object", `[]`, "object"},
		{"an unknown member", `{"node":[]}`, "node: unknown field"},
		{"an unknown member of a row", `{"nodes":[{"nodeId":"a","state":"pending"},{"nodeId":"b","state":"pending","x":1}]}`, "nodes: [1]: node"},
		{"nodes that are no array", `{"nodes":{}}`, "nodes: not a JSON array"},
		{"a node twice", `{"nodes":[{"nodeId":"a","state":"pending"},{"nodeId":"a","state":"failed"}]}`, "given twice"},
		{"a node without an id", `{"nodes":[{"state":"pending"}]}`, "nodeId: missing"},
		{"an output without a value", `{"outputs":[{"table":"t","nodeId":"a"}]}`, "value: missing"},
		{"an output without a table", `{"outputs":[{"nodeId":"a","value":1}]}`, "table"},
		{"a loop without an id", `{"loops":[{"done":true}]}`, "ralphId"},
		{"too deep", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "1000 levels deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := snapshot.ParseWhole(snapshot.Limits{}, []byte(tc.given))
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestAWholeStateMayLeaveTheMailboxAlone(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s := stateWith(t, w, append(mail("a"), signal(someSignal(1, "c")), signal(someSignal(0, "b")))...)
	dump, err := snapshot.DumpState(s)
	require.NoError(t, err)
	want := `{"nodes":[],"outputs":[],"loops":[],` +
		`"approvals":[{"nodeId":"a","iteration":0,"attempt":1,"decidedAtMs":null,"decidedBy":null,"note":null,"requestedAtMs":0,"status":"requested","title":"Ship it?"}],` +
		`"humanRequests":[{"nodeId":"a","iteration":0,"answeredAtMs":null,"answeredBy":null,"attempt":1,"form":null,"kind":"confirm","prompt":"","requestedAtMs":0,"response":null,"status":"pending","timeoutAtMs":null}],` +
		`"signals":[{"correlationId":null,"name":"b","payload":{"ok": true},"receivedAtMs":1767323045678,"receivedBy":null,"seq":0},{"correlationId":null,"name":"c","payload":{"ok": true},"receivedAtMs":1767323045678,"receivedBy":null,"seq":1}],` +
		`"waits":[{"nodeId":"a","iteration":0,"attempt":1,"correlationId":null,"dueAtMs":null,"endedAtMs":null,"kind":"signal","signal":"go","startedAtMs":0,"status":"waiting"}]}`
	assert.Equal(t, want, string(dump))
	for _, tc := range []struct {
		name, given string
		want        []snapshot.Change
	}{
		{"what is left out stays", `{}`, nil},
		{"what it is stays", string(dump), nil},
		{"what is empty is emptied", `{"waits":[]}`, []snapshot.Change{remove("waits", "a::0")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			whole, err := snapshot.ParseWhole(snapshot.Limits{}, []byte(tc.given))
			require.NoError(t, err)
			changes, err := snapshot.ChangesTo(s, whole)
			require.NoError(t, err)
			assert.Equal(t, tc.want, changes)
		})
	}
}

func TestContentHashIsThatOfTheDescribedText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, hexSum("smithers state 2\n"), snapshot.EmptyState().ContentHash().String())

	approval := set(snapshot.CollectionApprovals, page.Row{Key: "a::0", Value: []byte(`{"attempt":1,"status":"requested"}`)})
	s := stateWith(t, new(objstoretest.Memory), input(`{}`), output("b", "a", `1`), output("a b", "a", `2`), loop(snapshot.Loop{RalphID: "l"}), approval)
	text := fmt.Sprintf("smithers state 2\ninput %v\nloops %v\noutputs-a%%20b %v\noutputs-b %v\n",
		objstore.SHA1.ID(objstore.Blob, []byte(`{}`)), s.Loops().ID(), s.Outputs("a b").ID(), s.Outputs("b").ID())
	assert.Equal(t, hexSum(text), s.ContentHash().String())
	assert.True(t, slices.IsSorted(s.Tables()))
}
