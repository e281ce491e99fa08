package snapshot_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// rows are changes that set rows: keys and values in turn.
func rows(pairs ...string) []page.Change {
	var changes []page.Change
	for i := 0; i < len(pairs); i += 2 {
		changes = append(changes, page.Change{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return changes
}

// extRows reads a collection of the engine "peer".
func extRows(t testing.TB, e *snapshot.Entry, name string) map[string]string {
	t.Helper()
	c, err := e.ExtRows("peer", name)
	require.NoError(t, err)
	have := make(map[string]string)
	for row, err := range c.Rows() {
		require.NoError(t, err)
		have[row.Key] = string(row.Value)
	}
	return have
}

// extFile reads a file of the engine "peer".
func extFile(t testing.TB, e *snapshot.Entry, name string) []byte {
	t.Helper()
	data, err := e.ExtFile("peer", name)
	require.NoError(t, err)
	return data
}

func TestAnEngineKeepsFilesAndRows(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef\n"), 4000)
	c := start(t, snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer",
		Files:  map[string][]byte{"layout": []byte(`{"a":1}`), "large": large, "notes/empty": {}},
		Rows:   map[string][]page.Change{"tables/runs": rows("[]", `{"a":1.0}`), "frames": rows("0", "null", "1", `"x"`)},
	}})
	e := c.reopen(t, c.tip.ID)
	assert.Equal(t, `{"a":1}`, string(extFile(t, e, "layout")))
	assert.Equal(t, large, extFile(t, e, "large"))
	assert.Equal(t, []byte{}, extFile(t, e, "notes/empty"), "an empty file is there")
	assert.Equal(t, map[string]string{"[]": `{"a":1.0}`}, extRows(t, e, "tables/runs"), "byte for byte")
	assert.Equal(t, map[string]string{"0": "null", "1": `"x"`}, extRows(t, e, "frames"))
	for folder, want := range map[string][]string{"": {"frames", "large", "layout", "notes", "tables"}, "tables": {"runs"}, "nowhere": nil} {
		names, err := e.ExtNames("peer", folder)
		require.NoError(t, err)
		assert.Equal(t, want, names, folder)
	}
	engines, err := e.ExtEngines()
	require.NoError(t, err)
	assert.Equal(t, []string{"peer"}, engines)
}

func TestWhatAnEngineDoesNotKeepIsEmpty(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	assert.Nil(t, extFile(t, c.tip, "layout"))
	assert.Empty(t, extRows(t, c.tip, "tables/runs"))
	names, err := c.tip.ExtNames("peer", "")
	require.NoError(t, err)
	assert.Empty(t, names)
	engines, err := c.tip.ExtEngines()
	require.NoError(t, err)
	assert.Empty(t, engines)
	has, err := c.tip.HasExt("peer")
	require.NoError(t, err)
	assert.False(t, has)
}

func TestADraftOfExtLeavesTheRestAsItIs(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer",
		Files:  map[string][]byte{"layout": []byte("one"), "schema": []byte("two")},
		Rows:   map[string][]page.Change{"tables/a": rows("x", "1", "y", "2"), "tables/b": rows("z", "3")},
	}})
	c.append(t, snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "other", Files: map[string][]byte{"layout": []byte("its own")}}})
	e := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Ext: &snapshot.ExtDraft{
		Engine: "peer",
		Files:  map[string][]byte{"layout": nil},
		Rows:   map[string][]page.Change{"tables/a": {{Key: "x", Value: nil}, {Key: "w", Value: []byte("4")}}},
	}})
	assert.Nil(t, extFile(t, e, "layout"))
	assert.Equal(t, "two", string(extFile(t, e, "schema")))
	assert.Equal(t, map[string]string{"w": "4", "y": "2"}, extRows(t, e, "tables/a"))
	assert.Equal(t, map[string]string{"z": "3"}, extRows(t, e, "tables/b"))
	others, err := e.ExtFile("other", "layout")
	require.NoError(t, err)
	assert.Equal(t, "its own", string(others))
}

func TestWhatIsLeftOfExtIsNothingWhereEverythingWasTakenAway(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	bare := treeOf(t, c)
	c.append(t, snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer",
		Files:  map[string][]byte{"a/b/c": []byte("x")},
		Rows:   map[string][]page.Change{"d/e": rows("k", "1")},
	}})
	assert.Contains(t, treeOf(t, c), "ext")
	c.append(t, snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer",
		Files:  map[string][]byte{"a/b/c": nil},
		Rows:   map[string][]page.Change{"d/e": {{Key: "k"}}},
	}})
	assert.Equal(t, bare, treeOf(t, c))
}

// treeOf is what is in an entry's tree besides run.json and events: ids by name.
func treeOf(t testing.TB, c *chain) map[string]objstore.ID {
	t.Helper()
	entries, err := objstore.ReadTree(c.store, c.tip.Tree)
	require.NoError(t, err)
	have := make(map[string]objstore.ID)
	for _, e := range without("run.json")(without("events")(entries)) {
		have[e.Name] = e.ID
	}
	return have
}

// counter counts what is added to a store, whether it is there already or not.
type counter struct {
	*objstoretest.Memory

	added map[objstore.ID]bool
}

func (c *counter) Add(kind objstore.Kind, data []byte) objstore.ID {
	id := c.Memory.Add(kind, data)
	c.added[id] = true
	return id
}

func TestOnlyWhatChangesOfExtIsWritten(t *testing.T) {
	t.Parallel()
	var many []page.Change
	for i := range 100 {
		many = append(many, rows(snapshot.Key("row", i), "1")...)
	}
	c := start(t, snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "peer", Rows: map[string][]page.Change{"frames": many}}})
	written := func(changes ...page.Change) int {
		r := &counter{c.store, make(map[objstore.ID]bool)}
		_, err := snapshot.Append(r, c.frames, c.tip, snapshot.Draft{
			Frame: &snapshot.FrameDraft{Silent: true}, AtMs: someTime, Ext: &snapshot.ExtDraft{Engine: "peer", Rows: map[string][]page.Change{"frames": changes}},
		})
		require.NoError(t, err)
		return len(r.added)
	}
	plain := written()
	assert.Equal(t, 3, plain, "an empty file, a tree and a commit")
	assert.Equal(t, plain, written(rows("row::7", "1")...), "what is so already is no change")
	const changed = 1 + 1 + 3 // a page, the collection, and the folders down to it
	assert.Equal(t, plain+changed-1, written(rows("row::7", "2")...))
}

func TestForksHaveTheExtOfTheirFrame(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "peer", Files: map[string][]byte{"layout": []byte("x")}}})
	parent := c.tip
	e := c.append(t, snapshot.Draft{Run: func(row *snapshot.Run) {
		*row = snapshot.Run{ID: "child", Status: snapshot.RunPending, Parent: &snapshot.Parent{RunID: "run", Commit: parent.ID}}
	}})
	assert.Equal(t, "x", string(extFile(t, e, "layout")))
}

func TestNamesOfExtAreEscaped(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer.js", Files: map[string][]byte{"..": []byte("1"), "Ü b/.git": []byte("2")},
	}})
	for name, want := range map[string]string{"..": "1", "Ü b/.git": "2"} {
		data, err := c.tip.ExtFile("peer.js", name)
		require.NoError(t, err)
		assert.Equal(t, want, string(data), name)
	}
	names, err := c.tip.ExtNames("peer.js", "")
	require.NoError(t, err)
	assert.Equal(t, []string{"..", "Ü b"}, names)
	tree, err := c.tip.ExtID("peer.js")
	require.NoError(t, err)
	entries, err := objstore.ReadTree(c.store, tree)
	require.NoError(t, err)
	assert.Equal(t, "%2e%2e", entries[0].Name)
	assert.Equal(t, "%c3%9c%20b", entries[1].Name)
}

func TestExtRefusesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	file := func(names ...string) *snapshot.ExtDraft {
		d := &snapshot.ExtDraft{Engine: "peer", Files: make(map[string][]byte)}
		for _, name := range names {
			d.Files[name] = []byte("x")
		}
		return d
	}
	for _, tc := range []struct {
		name string
		ext  *snapshot.ExtDraft
	}{
		{"no engine", &snapshot.ExtDraft{Files: map[string][]byte{"a": nil}}},
		{"a name without a part", file("a//b")},
		{"a name that is too long", file(strings.Repeat("a", 201))},
		{"a name that is not UTF-8", file("\xff")},
		{"a file in a file", file("a", "a/b")},
		{"a file that is a collection, too", &snapshot.ExtDraft{
			Engine: "peer", Files: map[string][]byte{"a": []byte("x")}, Rows: map[string][]page.Change{"a": rows("k", "1")},
		}},
		{"a collection in a collection", &snapshot.ExtDraft{
			Engine: "peer", Rows: map[string][]page.Change{"a": rows("k", "1"), "a/b": rows("k", "1")},
		}},
		{"a row that is not JSON", &snapshot.ExtDraft{Engine: "peer", Rows: map[string][]page.Change{"a": rows("k", "{")}}},
		{"a row that is nested too deep", &snapshot.ExtDraft{
			Engine: "peer", Rows: map[string][]page.Change{"a": rows("k", strings.Repeat("[", 1001)+strings.Repeat("]", 1001))},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{})
			_, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{AtMs: someTime, Ext: tc.ext})
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
		})
	}
}

func TestAnExtThatIsNoFolderIsRefusedForWriting(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	c.tip = c.forge(t, replace("ext", objstore.ModeFile, c.store.Add(objstore.Blob, []byte("x"))))
	assert.Nil(t, extFile(t, c.tip, "layout"), "not ours to judge")
	_, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{
		AtMs: someTime, Ext: &snapshot.ExtDraft{Engine: "peer", Files: map[string][]byte{"layout": []byte("x")}},
	})
	assert.ErrorIs(t, err, snapshot.ErrInvalid)
}

// peer is what the engine "peer" keeps in a test of properties.
type peer struct {
	files map[string]string
	rows  map[string]map[string]string
}

// draft draws changes, and makes them.
func (p *peer) draft(t *rapid.T) *snapshot.ExtDraft {
	d := &snapshot.ExtDraft{Engine: "peer", Files: make(map[string][]byte), Rows: make(map[string][]page.Change)}
	for range rapid.IntRange(0, 3).Draw(t, "files") {
		name := rapid.SampledFrom([]string{"a", "b", "f/a", "f/g/a"}).Draw(t, "file")
		data := rapid.SampledFrom([]string{"none", "", "one", strings.Repeat("two\n", 9000)}).Draw(t, "data")
		if d.Files[name] = []byte(data); data == "none" {
			d.Files[name] = nil
			delete(p.files, name)
			continue
		}
		p.files[name] = data
	}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		name := rapid.SampledFrom([]string{"c", "f/c"}).Draw(t, "collection")
		key := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "key")
		value := rapid.SampledFrom([]string{"", "1", `"x"`}).Draw(t, "value")
		if p.rows[name] == nil {
			p.rows[name] = make(map[string]string)
		}
		if value == "" {
			d.Rows[name] = append(d.Rows[name], page.Change{Key: key})
			delete(p.rows[name], key)
			continue
		}
		d.Rows[name] = append(d.Rows[name], rows(key, value)...)
		p.rows[name][key] = value
	}
	return d
}

// whole is a draft of all that it keeps.
func (p *peer) whole() *snapshot.ExtDraft {
	d := &snapshot.ExtDraft{Engine: "peer", Files: make(map[string][]byte), Rows: make(map[string][]page.Change)}
	for name, data := range p.files {
		d.Files[name] = []byte(data)
	}
	for name, values := range p.rows {
		for key, value := range values {
			d.Rows[name] = append(d.Rows[name], rows(key, value)...)
		}
	}
	return d
}

func TestEqualContentsOfExtAreEqualTreesWhateverLedToThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &peer{files: make(map[string]string), rows: make(map[string]map[string]string)}
		c := &chain{store: new(objstoretest.Memory), frames: snapshot.NewFrameCache(1)}
		added := func(prev *snapshot.Entry, d *snapshot.ExtDraft) *snapshot.Entry {
			next, err := snapshot.Append(c.store, c.frames, prev, snapshot.Draft{
				Frame: &snapshot.FrameDraft{Silent: true}, AtMs: someTime, Ext: d,
				Run: func(row *snapshot.Run) { row.ID, row.Status = "run", snapshot.RunRunning },
			})
			require.NoError(t, err)
			return next
		}
		for range rapid.IntRange(1, 6).Draw(t, "drafts") {
			c.tip = added(c.tip, p.draft(t))
		}
		want, err := added(nil, p.whole()).ExtID("peer")
		require.NoError(t, err)
		have, err := c.tip.ExtID("peer")
		require.NoError(t, err)
		require.Equal(t, want, have)
		for name, want := range p.files {
			have, err := c.tip.ExtFile("peer", name)
			require.NoError(t, err)
			require.Equal(t, want, string(have))
		}
	})
}
