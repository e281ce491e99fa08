package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestEmptyCollection(t *testing.T) {
	t.Parallel()
	c, err := page.Open(nil, objstore.ID{})
	require.NoError(t, err)
	assert.Zero(t, c.Len())
	assert.True(t, c.ID().IsZero())
	_, found, err := c.Get("a")
	require.NoError(t, err)
	assert.False(t, found)
	assert.Empty(t, contents(t, c))
	require.NoError(t, c.Verify())

	t.Run("is what is left when the last row is removed", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		one := build(t, &store, map[string]string{"a": "1"})
		none := edit(t, &store, one, map[string]string{"a": ""})
		assert.True(t, none.ID().IsZero())
		assert.Zero(t, none.Len())
	})
}

func TestValuesAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"integers above 2^53":           `9007199254740993`,
		"the spelling of numbers":       `[1.0,1e2,-0,0.10]`,
		"the order of members":          `{"b":1,"a":2}`,
		"members of the same name":      `{"a":1,"a":2}`,
		"white space inside":            `{ "a" : [ 1,	2 ] }`,
		"lone surrogates":               `"\ud800"`,
		"escapes that are not needed":   `"\u0061\/"`,
		"the longest value in its row":  text(1, 16384),
		"the shortest value in chunks":  text(1, 16385),
		"a line feed, stored apart":     "{\n}",
		"a carriage return, in its row": "{\r}",
		"what looks like a reference":   `[5,"` + strings.Repeat("ab", 20) + `"]`,
		"a value of megabytes":          text(2, 3<<20),
	}
	for name, value := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			c := build(t, &store, map[string]string{"before": "0", "key": value, "too": "2"})
			got, found, err := c.Get("key")
			require.NoError(t, err)
			require.True(t, found)
			assert.Equal(t, value, string(got))
			assert.Equal(t, map[string]string{"before": "0", "key": value, "too": "2"}, contents(t, c))
			verified(t, &store, c)
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	rows := make(map[string]string)
	for _, key := range []string{
		"", `"`, `\`, "\n", "a\tb\bc\fd\re", "\x00\x01\x1f\x7f", "\u2028 é 🙂", `\u0061`, `a","b`, "]", strings.Repeat("k", page.MaxKey),
	} {
		rows[key] = `"x"`
	}
	var store objstoretest.Memory
	c := build(t, &store, rows)
	assert.Equal(t, rows, contents(t, c))
	for key := range rows {
		_, found, err := c.Get(key)
		require.NoError(t, err)
		assert.True(t, found, "%q", key)
	}
	verified(t, &store, c)

	var order []string
	for row, err := range c.Rows() {
		require.NoError(t, err)
		order = append(order, row.Key)
	}
	assert.IsIncreasing(t, order)
}

func TestEditRefusesWhatIsNotARow(t *testing.T) {
	t.Parallel()
	tests := map[string]page.Change{
		"a key that is not UTF-8":        {Key: "\xff", Value: []byte("1")},
		"a key above the bound":          {Key: strings.Repeat("k", page.MaxKey+1), Value: []byte("1")},
		"removing a key that cannot be":  {Key: "\xff"},
		"an empty value":                 {Key: "k", Value: []byte{}},
		"white space before":             {Key: "k", Value: []byte(" 1")},
		"white space after":              {Key: "k", Value: []byte("1\n")},
		"two values":                     {Key: "k", Value: []byte("1 2")},
		"text that is not JSON":          {Key: "k", Value: []byte("yes")},
		"a number with a leading zero":   {Key: "k", Value: []byte("01")},
		"an unfinished string":           {Key: "k", Value: []byte(`"a`)},
		"a raw control character":        {Key: "k", Value: []byte("\"\x01\"")},
		"a trailing comma":               {Key: "k", Value: []byte("[1,]")},
		"a string that is not UTF-8":     {Key: "k", Value: []byte("\"\xff\"")},
		"nesting beyond encoding/json's": {Key: "k", Value: []byte(strings.Repeat("[", 10001) + strings.Repeat("]", 10001))},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store countingStore
			c := build(t, &store, map[string]string{"a": "1"})
			store.reset()
			next, err := c.Edit(&store, []page.Change{{Key: "fine", Value: []byte("2")}, change})
			require.ErrorIs(t, err, page.ErrInvalid)
			assert.Nil(t, next)
			assert.Zero(t, store.adds)
		})
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		changes []page.Change
		want    map[string]string
	}{
		"without changes is the same collection": {
			nil, map[string]string{"a": "1", "b": "2"},
		},
		"to the same value is the same collection": {
			[]page.Change{{"a", []byte("1")}}, map[string]string{"a": "1", "b": "2"},
		},
		"removes a row": {
			[]page.Change{{"a", nil}}, map[string]string{"b": "2"},
		},
		"removing a missing row is no change": {
			[]page.Change{{"zzz", nil}}, map[string]string{"a": "1", "b": "2"},
		},
		"counts the last change of a key": {
			[]page.Change{{"a", nil}, {"c", []byte("3")}, {"a", []byte("4")}, {"c", nil}}, map[string]string{"a": "4", "b": "2"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			c := build(t, &store, map[string]string{"a": "1", "b": "2"})
			got, err := c.Edit(&store, tt.changes)
			require.NoError(t, err)
			assert.Equal(t, tt.want, contents(t, got))
			assert.Equal(t, build(t, &store, tt.want).ID(), got.ID())
			assert.Equal(t, map[string]string{"a": "1", "b": "2"}, contents(t, c), "the base stays as it was")
		})
	}
}

func TestAValueApartComesAndGoesWithItsRow(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	long, other := text(1, 20000), text(2, 20000)
	rows := nodeRows(100, 20)
	rows["task-1::0"], rows["task-2::0"], rows["task-3::0"] = long, long, other
	c := build(t, &store, rows)
	assert.Equal(t, 3, valueCount(t, &store, c))

	objects := store.Len()
	same := edit(t, &store, c, map[string]string{"task-3::0": long})
	assert.Less(t, store.Len()-objects, 12, "the chunks of an equal value are there already")
	verified(t, &store, same)

	for left, change := range []map[string]string{{"task-3::0": ""}, {"task-2::0": "2"}, {"task-1::0": "1"}} {
		c = edit(t, &store, c, change)
		assert.Equal(t, 2-left, valueCount(t, &store, c))
		verified(t, &store, c)
	}
}

// valueCount is the number of values stored apart.
func valueCount(t testing.TB, r objstore.Reader, c *page.Collection) int {
	t.Helper()
	tree, err := objstore.ReadTree(r, c.ID())
	require.NoError(t, err)
	values, ok := objstore.FindEntry(tree, "values")
	if !ok {
		return 0
	}
	folders, err := objstore.ReadTree(r, values.ID)
	require.NoError(t, err)
	count := 0
	for _, folder := range folders {
		entries, err := objstore.ReadTree(r, folder.ID)
		require.NoError(t, err)
		count += len(entries)
	}
	return count
}

func TestCollectionReadsThroughTheWriterOfItsEdit(t *testing.T) {
	t.Parallel()
	var base countingStore
	c := build(t, &base, nodeRows(100, 50))
	batch := &layered{base: &base}
	next := edit(t, batch, c, map[string]string{nodeKey(7): `"new"`})
	value, found, err := next.Get(nodeKey(7))
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, `"new"`, string(value))
	assert.Len(t, contents(t, next), 100)
	_, err = page.Open(&base, next.ID())
	require.ErrorIs(t, err, objstore.ErrNotFound)
}

// layered keeps what is added above a store that it does not change.
type layered struct {
	objstoretest.Memory
	base objstore.Reader
}

func (l *layered) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if kind, data, err := l.Memory.Get(id); err == nil {
		return kind, data, nil
	}
	return l.base.Get(id)
}
