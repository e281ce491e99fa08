package snapshot_test

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// frameBlob is the text of an entry's frame.
func (c *chain) frameBlob(t testing.TB, e *snapshot.Entry) string {
	t.Helper()
	entries, err := objstore.ReadTree(c.store, e.Tree)
	require.NoError(t, err)
	part, ok := objstore.FindEntry(entries, "frame")
	if !ok {
		return ""
	}
	data, err := objstore.GetKind(c.store, part.ID, objstore.Blob)
	require.NoError(t, err)
	return string(data)
}

// element is an element in canonical form.
func element(tag, props string, children ...string) string {
	return fmt.Sprintf(`{"kind":"element","tag":"%s","props":{%s},"children":[%s]}`, tag, props, strings.Join(children, ","))
}

func text(s string) string { return `{"kind":"text","text":"` + s + `"}` }

func task(id string) string { return element("task", fmt.Sprintf(`"id":%q`, id)) }

func tasks(ids ...string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = task(id)
	}
	return out
}

// padding makes trees so long that a delta is shorter.
var padding = text(strings.Repeat("x", 1000))

func TestRenderedTreesAreCanonical(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, given, want string }{
		{"members are in order", `{ "children" : [], "props":{}, "tag":"t", "kind":"element" }`, element("t", "")},
		{"props and children may be left out", `{"kind":"element","tag":"t"}`, element("t", "")},
		{"props are sorted by UTF-16 code units", "{\"kind\":\"element\",\"tag\":\"t\",\"props\":{\"\uffff\":\"1\",\"\U0001f600\":\"2\",\"b\":\"3\",\"a\":\"4\"}}", element("t", "\"a\":\"4\",\"b\":\"3\",\"\U0001f600\":\"2\",\"\uffff\":\"1\"")},
		{"escapes have one spelling", `{"kind":"text","text":"\u0041\/\u001f\u007f\n"}`, "{\"kind\":\"text\",\"text\":\"A/\\u001f\x7f\\n\"}"},
		{"null is no tree", `null`, `null`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tc.given), Silent: true}})
			assert.Equal(t, tc.want, c.rendered(t, c.tip))
		})
	}
}

func TestRenderedTreesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, given string }{
		{"not JSON", `{`},
		{"not a node", `[]`},
		{"an unknown kind", `{"kind":"comment","text":""}`},
		{"an unknown field", `{"kind":"text","text":"","x":1}`},
		{"a field twice", `{"kind":"text","text":"","text":""}`},
		{"an element without a tag", `{"kind":"element","props":{}}`},
		{"an element with a text", `{"kind":"element","tag":"t","text":""}`},
		{"a text with children", `{"kind":"text","text":"","children":[]}`},
		{"a prop that is not a string", `{"kind":"element","tag":"t","props":{"a":1}}`},
		{"a prop twice", `{"kind":"element","tag":"t","props":{"a":"1","\u0061":"2"}}`},
		{"a child that is null", `{"kind":"element","tag":"t","children":[null]}`},
		{"too deep", strings.Repeat(`{"kind":"element","tag":"t","children":[`, 600) + strings.Repeat(`]}`, 600)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{})
			_, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tc.given), Silent: true}})
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
		})
	}
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	thousand := make([]string, 1000)
	for i := range thousand {
		thousand[i] = task(fmt.Sprint("t", i))
	}
	anonymous := make([]string, 1000)
	for i := range anonymous {
		anonymous[i] = text(fmt.Sprint("line ", i))
	}
	for _, tc := range []struct {
		name     string
		from, to string
		ops      []string
	}{
		{
			"a changed prop is set",
			element("w", "", padding, element("task", `"id":"a","state":"x"`)), element("w", "", padding, element("task", `"id":"a","state":"y"`)),
			[]string{`{"op":"set","path":["children",1,"props","state"],"value":"y","nodeId":"a"}`},
		},
		{
			"props are removed and set in the order of their names",
			element("w", `"a":"1","c":"2"`, padding), element("w", `"b":"3","c":"4"`, padding),
			[]string{`{"op":"remove","path":["props","a"]}`, `{"op":"set","path":["props","b"],"value":"3"}`, `{"op":"set","path":["props","c"],"value":"4"}`},
		},
		{
			"a changed text is set",
			element("w", `"id":"w"`, padding, text("x")), element("w", `"id":"w"`, padding, text("y")),
			[]string{`{"op":"set","path":["children",1,"text"],"value":"y","nodeId":"w"}`},
		},
		{
			"a swap is a remove and an insert, and sets nothing",
			element("w", "", append(tasks("a", "b"), padding)...), element("w", "", append(tasks("b", "a"), padding)...),
			[]string{`{"op":"remove","path":["children",1],"nodeId":"b"}`, `{"op":"insert","path":["children",0],"value":` + task("b") + `,"nodeId":"b"}`},
		},
		{
			"what moves is removed from the last to the first, then inserted from the first to the last",
			element("w", "", append(tasks("a", "b", "c", "d", "e"), padding)...), element("w", "", append(tasks("d", "e", "c", "x", "b", "a"), padding)...),
			[]string{
				`{"op":"remove","path":["children",2],"nodeId":"c"}`,
				`{"op":"remove","path":["children",1],"nodeId":"b"}`,
				`{"op":"remove","path":["children",0],"nodeId":"a"}`,
				`{"op":"insert","path":["children",2],"value":` + task("c") + `,"nodeId":"c"}`,
				`{"op":"insert","path":["children",3],"value":` + task("x") + `,"nodeId":"x"}`,
				`{"op":"insert","path":["children",4],"value":` + task("b") + `,"nodeId":"b"}`,
				`{"op":"insert","path":["children",5],"value":` + task("a") + `,"nodeId":"a"}`,
			},
		},
		{
			"an insertion before 1000 elements is one insert",
			element("w", "", thousand...), element("w", "", append(tasks("new"), thousand...)...),
			[]string{`{"op":"insert","path":["children",0],"value":` + task("new") + `,"nodeId":"new"}`},
		},
		{
			"an insertion before 1000 texts is one insert",
			element("w", "", anonymous...), element("w", "", append([]string{text("new")}, anonymous...)...),
			[]string{`{"op":"insert","path":["children",0],"value":` + text("new") + `}`},
		},
		{
			"what stays is compared at its new place",
			element("w", "", element("task", `"id":"a","s":"1"`), padding), element("w", "", task("b"), element("task", `"id":"a","s":"2"`), padding),
			[]string{
				`{"op":"insert","path":["children",0],"value":` + task("b") + `,"nodeId":"b"}`,
				`{"op":"set","path":["children",1,"props","s"],"value":"2","nodeId":"a"}`,
			},
		},
		{
			"an element of another tag under the same id is set whole",
			element("w", "", task("a"), padding), element("w", "", element("loop", `"id":"a"`), padding),
			[]string{`{"op":"set","path":["children",0],"value":` + element("loop", `"id":"a"`) + `,"nodeId":"a"}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tc.from), Silent: true}})
			e := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tc.to), Silent: true}})
			head, payload, _ := strings.Cut(c.frameBlob(t, e), "\n")
			assert.Equal(t, `{"version":1,"ops":[`+strings.Join(tc.ops, ",")+"]}\n", payload)
			assert.Regexp(t, fmt.Sprintf(`^delta 1 %x [0-9a-f]{40}$`, sha256.Sum256([]byte(tc.to))), head)
			assert.Equal(t, tc.to, c.rendered(t, e))
		})
	}
}

func TestAnUnchangedTreeWritesNoFrame(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(element("w", "")), Silent: true}})
	before := c.frameBlob(t, c.tip)
	for _, rendered := range []string{"", element("w", ""), `{"tag":"w","kind":"element"}`} {
		draft := snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}}
		if rendered != "" {
			draft.Frame.Rendered = []byte(rendered)
		}
		assert.Equal(t, before, c.frameBlob(t, c.append(t, draft)))
	}
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(`null`), Silent: true}})
	assert.Empty(t, c.frameBlob(t, c.tip))
	assert.Equal(t, "null", c.rendered(t, c.tip))
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(element("w", "")), Silent: true}})
	assert.Equal(t, before, c.frameBlob(t, c.tip))
}

func TestAKeyframeIsDueAfter49Deltas(t *testing.T) {
	t.Parallel()
	tree := func(i int) []byte { return []byte(element("w", "", padding, text(strconv.Itoa(i)))) }
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: tree(0), Silent: true}})
	for i := 1; i <= 120; i++ {
		draft := snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: tree(i), Silent: true}}
		if i == 25 {
			draft.Run = func(r *snapshot.Run) { r.ID = "fork" }
		}
		e := c.append(t, draft)
		want := fmt.Sprintf("delta %d ", i%50)
		if i%50 == 0 {
			want = "keyframe 0 "
		}
		require.True(t, strings.HasPrefix(c.frameBlob(t, e), want), "frame %d: %.20s", i, c.frameBlob(t, e))
		require.Equal(t, string(tree(i)), c.rendered(t, e))
	}
}

func TestAFrameCacheForgetsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(text("0")), Silent: true}})
	var entries []*snapshot.Entry
	for i := range 20 {
		entries = append(entries, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(element("w", "", padding, text(strconv.Itoa(i)))), Silent: true}}))
	}
	reads := &countingReader{Reader: c.store}
	cache := snapshot.NewFrameCache(2)
	read := func(i int) int {
		before := reads.n
		_, err := cache.Rendered(reads, entries[i])
		require.NoError(t, err)
		return reads.n - before
	}
	assert.Equal(t, 11, read(10), "a delta and all that it builds on")
	assert.Equal(t, 0, read(10))
	assert.Equal(t, 1, read(11), "a delta on what is cached")
	assert.Equal(t, 1, read(12))
	assert.Equal(t, 0, read(11))
	assert.Equal(t, 11, read(10))
	assert.Equal(t, 1, read(12), "12 had to go, and 11 is still there")
}

type countingReader struct {
	objstore.Reader
	n int
}

func (r *countingReader) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	r.n++
	return r.Reader.Get(id)
}

// genTree makes canonical trees that are alike enough for deltas.
func genTree(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			return text(rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("long ", 20)}).Draw(t, "text"))
		}
		var props []string
		for _, name := range []string{"a", "id", "z", "\U0001f600", "\uffff"} {
			if rapid.IntRange(0, 2).Draw(t, "has") == 0 {
				props = append(props, fmt.Sprintf(`"%s":"%s"`, name, rapid.SampledFrom([]string{"1", "2", "3", ""}).Draw(t, "value")))
			}
		}
		children := rapid.SliceOfN(genTree(depth-1), 0, 6).Draw(t, "children")
		return element(rapid.SampledFrom([]string{"t", "u"}).Draw(t, "tag"), strings.Join(props, ","), children...)
	})
}

func TestReconstructedFramesAreByteForByteWhatWasRendered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := start(t, snapshot.Draft{})
		c.frames = snapshot.NewFrameCache(rapid.IntRange(0, 3).Draw(rt, "cache"))
		common := element("common", "", padding)
		for range rapid.IntRange(1, 6).Draw(rt, "frames") {
			tree := element("w", "", common, genTree(3).Draw(rt, "tree"))
			e := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tree), Silent: true}})
			if got := c.rendered(t, e); got != tree {
				rt.Fatalf("got %s", got)
			}
		}
	})
}
