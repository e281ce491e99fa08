package page_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// A page that is read without error is the page that its rows are written as.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		"", "[\"a\",1]\n", "[\"a\",1]\n[\"b\",{\"c\":[null,true,-1.5e+3]}]\n", refersToApart, "[\"\\n\\u001f\\\"\",\"\\ud800\"]\n",
		"[\"a\",1,2]\n", "[\"a\" ,1]\n", "[\"b\",1]\n[\"a\",1]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := bytes.Count(data, []byte{'\n'})
		if rows == 0 || rows > 8 {
			return // more rows are on more than one page
		}
		forged := forgery{rows: strconv.Itoa(rows) + "\n", pages: []string{string(data)}}
		if bytes.Contains(data, []byte(apartID)) {
			forged.values = map[string]func(objstore.Writer) objstore.TreeEntry{digest("a"): blob(apart)}
		}
		var store objstoretest.Memory
		id := forged.write(&store)
		if readAll(&store, id) != nil {
			return
		}
		c, err := page.Open(&store, id)
		require.NoError(t, err)
		require.Equal(t, id, build(t, &store, contents(t, c)).ID())
	})
}

// A value is accepted where encoding/json accepts it, in UTF-8 and without space around.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-0e1,"x\u00e9\n",true,false,null]}`, `"\ud800"`, `[]`, `{}`, `{"a":1,}`, `01`, `1.`, `-`, `"\x"`, "\"\x7f\u00ff\"", ` 1`, `nul`, `[[[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var store objstoretest.Memory
		empty, err := page.Open(&store, objstore.ID{})
		require.NoError(t, err)
		c, err := empty.Edit(&store, []page.Change{{Key: "k", Value: append([]byte{}, value...)}})
		want := json.Valid(value) && utf8.Valid(value) && len(bytes.Trim(value, " \t\r\n")) == len(value)
		require.Equal(t, want, err == nil)
		if err != nil {
			return
		}
		got, found, err := c.Get("k")
		require.NoError(t, err)
		require.True(t, found)
		require.True(t, bytes.Equal(value, got))
		require.NoError(t, c.Verify())
	})
}

// Whatever the trees and blobs of a value are, reading ends without a panic, and
// what is read is stored as it was.
func FuzzReadValue(f *testing.F) {
	f.Add([]byte(text(1, 20000)), uint16(0))
	f.Add([]byte(text(1, 20000)), uint16(6000))
	f.Add([]byte(text(1, 120_000)), uint16(60_000))
	f.Fuzz(func(t *testing.T, value []byte, cut uint16) {
		var store objstoretest.Memory
		cutter := chunked
		if len(value) < 100_000 {
			cutter = tail
		}
		e := cutter(string(value), min(int(cut), len(value)))(&store)
		got, err := page.ReadValue(&store, e)
		if err != nil {
			require.ErrorIs(t, err, objstore.ErrCorrupt)
			return
		}
		require.Equal(t, e, stored(t, &store, "", got))
	})
}
