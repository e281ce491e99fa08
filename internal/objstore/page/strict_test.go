package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// forgery is a collection of up to 16 pages put together by hand.
type forgery struct {
	rows   string
	pages  []string
	tree   func([]objstore.TreeEntry) []objstore.TreeEntry     // changes the collection
	values map[string]func(objstore.Writer) objstore.TreeEntry // by the digest of their row's key
}

func (f forgery) write(w objstore.Writer) objstore.ID {
	var tree []objstore.TreeEntry
	for i, text := range f.pages {
		tree = append(tree, file(strconv.FormatInt(int64(i), 16), w.Add(objstore.Blob, []byte(text))))
	}
	tree = append(tree, file("rows-"+f.rows, w.Add(objstore.Blob, nil)))
	if f.values != nil {
		tree = append(tree, folder("values", f.writeValues(w)))
	}
	if f.tree != nil {
		tree = f.tree(tree)
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(tree))
}

func (f forgery) writeValues(w objstore.Writer) objstore.ID {
	folders := make(map[string][]objstore.TreeEntry)
	for name, add := range f.values {
		e := add(w)
		e.Name = name[2:]
		folders[name[:2]] = append(folders[name[:2]], e)
	}
	var root []objstore.TreeEntry
	for name, entries := range folders {
		root = append(root, folder(name, w.Add(objstore.Tree, objstore.EncodeTree(entries))))
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(root))
}

func file(name string, id objstore.ID) objstore.TreeEntry {
	return objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: id}
}

func folder(name string, id objstore.ID) objstore.TreeEntry {
	return objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: id}
}

func blob(text string) func(objstore.Writer) objstore.TreeEntry {
	return func(w objstore.Writer) objstore.TreeEntry { return file("", w.Add(objstore.Blob, []byte(text))) }
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// reference is the line of the key "a" and a value of size bytes, stored as stored writes it.
func reference(size int, stored func(objstore.Writer) objstore.TreeEntry) string {
	var store objstoretest.Memory
	return `["a",` + strconv.Itoa(size) + `,"` + stored(&store).ID.String() + "\"]\n"
}

// apart is a value that is stored apart as one blob: it has a line feed.
const apart = "[\n1]"

// apartID is the id of that blob, and refersToApart the line of the key "a" and the value.
var (
	apartID       = objstore.SHA1.ID(objstore.Blob, []byte(apart)).String()
	refersToApart = reference(len(apart), blob(apart))
)

// wrongForm is what is said of a tree that should be a page, or a page that should be a tree.
const wrongForm = "in the wrong one of its two forms"

// With long8K, a collection is a tree of pages; filler is its row.
var (
	long8K = `"` + strings.Repeat("x", 8<<10) + `"`
	filler = `["z",` + long8K + "]\n"
)

// readAll does everything that reads a collection.
func readAll(r objstore.Reader, id objstore.ID) error {
	c, err := page.Open(r, id)
	if err != nil {
		return err
	}
	for _, err := range c.Rows() {
		if err != nil {
			return err
		}
	}
	return c.Verify()
}

func TestOnlyWhatEditWritesIsRead(t *testing.T) {
	t.Parallel()
	long := text(1, 16385)
	twoPages := func(first, second string) []string { return []string{first, second} }
	drop := func(name string) func([]objstore.TreeEntry) []objstore.TreeEntry {
		return func(entries []objstore.TreeEntry) []objstore.TreeEntry {
			return slices.DeleteFunc(entries, func(e objstore.TreeEntry) bool { return e.Name == name })
		}
	}
	add := func(name string) func([]objstore.TreeEntry) []objstore.TreeEntry {
		return func(entries []objstore.TreeEntry) []objstore.TreeEntry {
			return append(entries, file(name, entries[0].ID))
		}
	}
	also := func(e objstore.TreeEntry) func([]objstore.TreeEntry) []objstore.TreeEntry {
		return func(entries []objstore.TreeEntry) []objstore.TreeEntry { return append(entries, e) }
	}
	of := func(name string, change func(e *objstore.TreeEntry, page objstore.ID)) func([]objstore.TreeEntry) []objstore.TreeEntry {
		return func(entries []objstore.TreeEntry) []objstore.TreeEntry {
			at := slices.IndexFunc(entries, func(e objstore.TreeEntry) bool { return e.Name == name })
			change(&entries[at], entries[0].ID)
			return entries
		}
	}
	one := func(line string) forgery { return forgery{rows: "2", pages: []string{line + filler}} }
	withValue := func(line, name string, add func(objstore.Writer) objstore.TreeEntry) forgery {
		f := one(line)
		f.values = map[string]func(objstore.Writer) objstore.TreeEntry{name: add}
		return f
	}
	stored := func(value string, add func(objstore.Writer) objstore.TreeEntry) forgery {
		return withValue(reference(len(value), add), digest("a"), add)
	}
	tests := map[string]forgery{
		"rows: none":                          {rows: "0", pages: []string{""}},
		"rows: a leading zero":                {rows: "02", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: white space":                   {rows: "2 ", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: a plus":                        {rows: "+2", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: no number":                     {rows: "", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: twice":                         {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: also(file("rows-3", objstore.SHA1.EmptyBlob()))},
		"rows: a file with content":           {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: of("rows-2", func(e *objstore.TreeEntry, page objstore.ID) { e.ID = page })},
		"rows: an executable":                 {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: of("rows-2", func(e *objstore.TreeEntry, _ objstore.ID) { e.Mode = objstore.ModeExecutable })},
		"rows: negative":                      {rows: "-2", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: more than the bound":           {rows: "16777217", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: fewer than counted":            {rows: "3", pages: []string{"[\"a\",1]\n" + filler}},
		"rows: more than counted":             {rows: "2", pages: []string{"[\"a\",1]\n[\"b\",1]\n" + filler}},
		"tree: no rows":                       {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: drop("rows-2")},
		"tree: no pages":                      {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: drop("0")},
		"tree: another name":                  {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: add("zzz")},
		"tree: a name between":                {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: add("page")},
		"tree: values that are a file":        {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: add("values")},
		"directory: a page too many":          {rows: "2", pages: twoPages("[\"a\",1]\n"+filler, "")},
		"directory: a page missing":           {rows: "9", pages: []string{"[\"a\",1]\n" + filler}},
		"directory: a page of another mode":   {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, tree: of("0", func(e *objstore.TreeEntry, _ objstore.ID) { e.Mode = objstore.ModeExecutable })},
		"page: no LF at the end":              one(`["a",1]`),
		"page: an empty line":                 one("\n"),
		"page: CR LF":                         one("[\"a\",1]\r\n"),
		"page: space before":                  one(" [\"a\",1]\n"),
		"page: space between":                 one("[\"a\", 1]\n"),
		"page: no value":                      one("[\"a\"]\n"),
		"page: an empty value":                one("[\"a\",]\n"),
		"page: a value that is not JSON":      one("[\"a\",x]\n"),
		"page: two values":                    one("[\"a\",1,2]\n"),
		"page: two rows on a line":            one("[\"a\",1],[\"b\",2]\n"),
		"page: not sorted":                    {rows: "3", pages: []string{"[\"b\",1]\n[\"a\",1]\n" + filler}},
		"page: a key twice":                   {rows: "3", pages: []string{"[\"a\",1]\n[\"a\",2]\n" + filler}},
		"page: a row of another page":         {rows: "9", pages: twoPages("", nineRows())},
		"key: an escape that is not needed":   one("[\"\\u0061\",1]\n"),
		"key: a long escape":                  one("[\"\\u000a\",1]\n"),
		"key: upper-case hex":                 one("[\"\\u001F\",1]\n"),
		"key: an escaped slash":               one("[\"\\/\",1]\n"),
		"key: a raw control character":        one("[\"\x01\",1]\n"),
		"key: not UTF-8":                      one("[\"\xff\",1]\n"),
		"key: a lone surrogate":               one("[\"\\ud800\",1]\n"),
		"key: not a string":                   one("[1,1]\n"),
		"key: no end":                         one("[\"a\\\n"),
		"key: too long":                       one("[\"" + strings.Repeat("k", page.MaxKey+1) + "\",1]\n"),
		"value: too large for its row":        one("[\"a\"," + long + "]\n"),
		"value: none for its row":             one(refersToApart),
		"value: under another row's key":      withValue(refersToApart, digest("b"), blob(apart)),
		"value: of another id":                withValue(refersToApart, digest("a"), blob("[\n2]")),
		"value: of another size":              withValue(reference(5, blob(apart)), digest("a"), blob(apart)),
		"value: one that no row refers to":    withValue("[\"a\",1]\n", digest("a"), blob(apart)),
		"value: belongs in its row":           stored("[1]", blob("[1]")),
		"value: not JSON":                     stored("x\ny", blob("x\ny")),
		"value: large, but one blob":          stored(long, blob(long)),
		"value: small, but parts":             stored(apart, chunked(apart, 2)),
		"value: small, but chunks":            stored(apart, tail(apart, 2)),
		"value: chunks cut elsewhere":         stored(long, tail(long, 5000, 10000)),
		"value: chunks longer than its size":  withValue(reference(16384, tail(long, 8000, 16000)), digest("a"), tail(long, 8000, 16000)),
		"value: one part":                     stored(long, chunked(long)),
		"value: an executable":                stored(apart, executable(apart)),
		"reference: a leading zero":           withValue(strings.Replace(refersToApart, ",4,", ",04,", 1), digest("a"), blob(apart)),
		"reference: upper-case hex":           withValue(strings.Replace(refersToApart, apartID, strings.ToUpper(apartID), 1), digest("a"), blob(apart)),
		"reference: a digest of 32 bytes":     withValue(strings.Replace(refersToApart, apartID, digest(apart), 1), digest("a"), blob(apart)),
		"reference: larger than any value":    one(reference(268435457, blob(apart))),
		"values: a name that is no digest":    withValue(refersToApart, "zz"+digest("a")[2:], blob(apart)),
		"values: a name that is too short":    withValue(refersToApart, digest("a")[:63], blob(apart)),
		"values: there, but without a folder": {rows: "2", pages: []string{"[\"a\",1]\n" + filler}, values: map[string]func(objstore.Writer) objstore.TreeEntry{}},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			err := readAll(&store, f.write(&store))
			require.ErrorIs(t, err, objstore.ErrCorrupt)
			var corrupt *objstore.CorruptError
			require.ErrorAs(t, err, &corrupt)
			assert.NotEmpty(t, corrupt.Reason)
			assert.NotContains(t, corrupt.Reason, wrongForm, "what is wrong is something else")
		})
	}
	t.Run("and the forger can write what is right", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		f := stored(apart, blob(apart))
		require.NoError(t, readAll(&store, f.write(&store)))
		assert.Equal(t, build(t, &store, map[string]string{"a": apart, "z": long8K}).ID(), f.write(&store))
	})
}

// A collection has two forms, and its rows decide which.
func TestOnlyTheRightFormIsRead(t *testing.T) {
	t.Parallel()
	page33 := func() string {
		var b strings.Builder
		for i := range 33 {
			b.WriteString(`["` + strconv.Itoa(100+i) + "\",1]\n")
		}
		return b.String()
	}
	blobs := map[string]string{
		"no rows":                    "",
		"a row too many":             page33(),
		"a byte too many":            filler,
		"a reference to a value":     refersToApart,
		"no LF at the end":           `["a",1]`,
		"not sorted":                 "[\"b\",1]\n[\"a\",1]\n",
		"a key twice":                "[\"a\",1]\n[\"a\",1]\n",
		"a value that is not JSON":   "[\"a\",x]\n",
		"a second LF":                "[\"a\",1]\n\n",
		"a value of more than a row": "[\"a\",1\n]\n",
	}
	for name, text := range blobs {
		t.Run("a page: "+name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			require.ErrorIs(t, readAll(&store, store.Add(objstore.Blob, []byte(text))), objstore.ErrCorrupt)
		})
	}
	t.Run("a tree of few short rows", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		err := readAll(&store, forgery{rows: "1", pages: []string{"[\"a\",1]\n"}}.write(&store))
		require.ErrorIs(t, err, objstore.ErrCorrupt)
		require.ErrorContains(t, err, wrongForm)
	})
	t.Run("a tree of few short rows, compared with nothing", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		c, err := page.Open(&store, forgery{rows: "1", pages: []string{"[\"a\",1]\n"}}.write(&store))
		require.NoError(t, err)
		for _, err := range page.Diff(build(t, &store, nil), c) {
			require.ErrorContains(t, err, wrongForm)
		}
	})
	t.Run("a page with a value apart, as one row", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		c, err := page.Open(&store, store.Add(objstore.Blob, []byte(refersToApart)))
		require.NoError(t, err)
		_, _, err = c.Get("a")
		require.ErrorIs(t, err, objstore.ErrCorrupt)
		require.ErrorContains(t, err, c.ID().String())
		_, err = c.Edit(&store, []page.Change{{Key: "b", Value: []byte("1")}})
		require.ErrorIs(t, err, objstore.ErrCorrupt)
	})
	t.Run("neither a page nor a tree", func(t *testing.T) {
		t.Parallel()
		var store objstoretest.Memory
		require.ErrorIs(t, readAll(&store, store.Add(objstore.Commit, []byte("x"))), objstore.ErrCorrupt)
	})
}

// Otherwise what is damaged would be written on.
func TestAnEditToFewRowsFindsThatTheyAreCountedWrong(t *testing.T) {
	t.Parallel()
	for _, rows := range []string{"1", "3"} {
		var store objstoretest.Memory
		c, err := page.Open(&store, forgery{rows: rows, pages: []string{"[\"a\",1]\n" + filler}}.write(&store))
		require.NoError(t, err)
		for _, keys := range [][]string{{"a"}, {"z"}, {"a", "z"}} {
			var gone []page.Change
			for _, key := range keys {
				gone = append(gone, page.Change{Key: key})
			}
			_, err = c.Edit(&store, gone)
			require.ErrorIs(t, err, objstore.ErrCorrupt, "%s rows, less %v", rows, keys)
		}
	}
}

// nineRows is a page with all of nine rows, which belong on two.
func nineRows() string {
	var b strings.Builder
	for i := range 9 {
		b.WriteString(`["` + strconv.Itoa(i) + `","` + strings.Repeat("x", 1000) + "\"]\n")
	}
	return b.String()
}

// chunked cuts a value into parts by hand.
func chunked(value string, cuts ...int) func(objstore.Writer) objstore.TreeEntry {
	return func(w objstore.Writer) objstore.TreeEntry {
		var tree []objstore.TreeEntry
		start := 0
		for i, end := range append(cuts, len(value)) {
			tree = append(tree, file(strconv.Itoa(i), w.Add(objstore.Blob, []byte(value[start:end]))))
			start = end
		}
		return folder("", w.Add(objstore.Tree, objstore.EncodeTree(tree)))
	}
}

func executable(value string) func(objstore.Writer) objstore.TreeEntry {
	return func(w objstore.Writer) objstore.TreeEntry {
		e := blob(value)(w)
		e.Mode = objstore.ModeExecutable
		return e
	}
}

func TestMissingObjectsAreNotCorrupt(t *testing.T) {
	t.Parallel()
	var store, other objstoretest.Memory
	id := build(t, &other, map[string]string{"a": "1"}).ID()
	_, err := page.Open(&store, id)
	require.ErrorIs(t, err, objstore.ErrNotFound)
}

// Trees that refer to one tree again and again are small and unpack to anything.
func TestReadingChunksIsBounded(t *testing.T) {
	t.Parallel()
	var store countingStore
	e := file("", store.Add(objstore.Blob, make([]byte, 16384)))
	for range 9 {
		var tree []objstore.TreeEntry
		for i := range 16 {
			tree = append(tree, objstore.TreeEntry{Name: strconv.FormatInt(int64(i), 16), Mode: e.Mode, ID: e.ID})
		}
		e = folder("", store.Add(objstore.Tree, objstore.EncodeTree(tree)))
	}
	store.reset()
	_, err := page.ReadValue(&store, e)
	require.ErrorIs(t, err, objstore.ErrCorrupt)
	assert.Less(t, store.reads, 10)

	// The tail of a value cannot be longer than its trees allow.
	var tree []objstore.TreeEntry
	for i := range 256 {
		tree = append(tree, file(fmt.Sprintf("%02x", i), store.Add(objstore.Blob, make([]byte, 8192))))
	}
	store.reset()
	_, err = page.ReadValue(&store, folder("", store.Add(objstore.Tree, objstore.EncodeTree(tree))))
	require.ErrorIs(t, err, objstore.ErrCorrupt)
	assert.Less(t, store.reads, 10)
}
