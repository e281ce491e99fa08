package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

var update = flag.Bool("update", false, "write the pages.txtar of testdata/vectors anew")

// The vectors are part of the format: a change here is another format.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, hash := range []objstore.Algorithm{objstore.SHA1, objstore.SHA256} {
		t.Run(hash.String(), func(t *testing.T) {
			t.Parallel()
			testVectors(t, hash)
		})
	}
}

func testVectors(t *testing.T, hash objstore.Algorithm) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "testdata", "vectors", map[objstore.Algorithm]string{objstore.SHA256: "sha256"}[hash], "pages.txtar")
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	written := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, "/input")
		if !ok {
			continue
		}
		store := objstoretest.Memory{Algorithm: hash}
		c := build(t, &store, vectorRows(t, string(f.Data)))
		verified(t, &store, c)
		written.Files = append(written.Files, f, txtar.File{Name: name + "/objects", Data: listing(t, &store, c)})
		written.Files = append(written.Files, pageFiles(t, &store, name, c)...)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, txtar.Format(written), 0o600))
		return
	}
	assert.Equal(t, string(txtar.Format(archive)), string(txtar.Format(written)))
}

// vectorRows reads the lines of an input.
func vectorRows(t *testing.T, input string) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	for line := range strings.Lines(input) {
		quoted, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		require.True(t, ok, "%q", line)
		var key string
		require.NoError(t, json.Unmarshal([]byte(quoted), &key))
		if count, ok := strings.CutPrefix(value, "count "); ok {
			value = counted(t, count, ",")
		} else if count, ok := strings.CutPrefix(value, "lines "); ok {
			value = counted(t, count, ",\n")
		}
		rows[key] = value
	}
	return rows
}

func counted(t *testing.T, count, separator string) string {
	t.Helper()
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	return "[" + strings.Join(numbers, separator) + "]"
}

// listing is the collection's numbers and every object below it.
func listing(t *testing.T, r objstore.Reader, c *page.Collection) []byte {
	t.Helper()
	out := fmt.Appendf(nil, "rows %d\n", c.Len())
	var walk func(path string, mode objstore.Mode, id objstore.ID)
	walk = func(path string, mode objstore.Mode, id objstore.ID) {
		kind, data, err := r.Get(id)
		require.NoError(t, err)
		out = fmt.Appendf(out, "%06o %v %d %s\n", uint32(mode), id, len(data), path)
		if kind != objstore.Tree {
			return
		}
		entries, err := objstore.DecodeTree(id, data)
		require.NoError(t, err)
		for _, e := range entries {
			walk(strings.TrimPrefix(path+"/"+e.Name, "./"), e.Mode, e.ID)
		}
	}
	walk(".", c.Entry("").Mode, c.ID())
	return out
}

// pageFiles are the texts of up to four pages.
func pageFiles(t *testing.T, r objstore.Reader, name string, c *page.Collection) []txtar.File {
	t.Helper()
	ids := pageIDs(t, r, c)
	if len(ids) > 4 {
		return nil
	}
	var files []txtar.File
	for i, id := range ids {
		data, err := objstore.GetKind(r, id, objstore.Blob)
		require.NoError(t, err)
		files = append(files, txtar.File{Name: name + "/pages/" + strconv.Itoa(i), Data: data})
	}
	return files
}
