package objstore_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// folderOf adds a folder of files and folders; a file is its text, and a folder is a map.
func folderOf(w objstore.Writer, files map[string]any) objstore.ID {
	var entries []objstore.TreeEntry
	for name, file := range files {
		switch file := file.(type) {
		case string:
			entries = append(entries, objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte(file))})
		case map[string]any:
			entries = append(entries, objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: folderOf(w, file)})
		}
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(entries))
}

// An older version is a delta of its successor, also where the successor has another path.
func TestOlderVersionsFindTheirSuccessors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	// noise is text that takes n bytes in a pack.
	noise := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteByte(byte(r.Uint32()))
		}
		return b.String()
	}
	a, b, c, d := noise(4000), noise(4000), noise(4000), noise(4000)
	tests := map[string]struct {
		older, newer map[string]any
		most         int64 // bytes of the sealed pack
	}{
		"a folder of chunks becomes a file": {
			map[string]any{"v": map[string]any{"00": a, "01": b, "02": c}},
			map[string]any{"v": a + b + c + d},
			17000,
		},
		"a folder below that folder is left alone": {
			map[string]any{"v": map[string]any{"00": a, "x": map[string]any{"y": b}}},
			map[string]any{"v": a + c},
			13000,
		},
		"one more before the last": {
			map[string]any{"0": a, "1": b, "2": c},
			map[string]any{"0": a, "1": d, "2": b, "3": c + "grown"},
			17000,
		},
		"one less before the last": {
			map[string]any{"0": a, "1": b, "2": c},
			map[string]any{"0": b, "1": c + "grown"},
			13000,
		},
		"a folder has moved, too": {
			map[string]any{"0": a, "1": b, "2": map[string]any{"00": c}},
			map[string]any{"0": b, "1": map[string]any{"00": c + "grown"}},
			13000,
		},
		"a file that is renamed": {
			map[string]any{"old": a, "x": b},
			map[string]any{"new": a + "grown", "x": b},
			9000,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			s := r.open()
			batch := s.Begin()
			var commits []objstore.ID
			parent := ""
			for i, files := range []map[string]any{tc.older, tc.newer} {
				who := objstore.Author + " " + strconv.Itoa(1700000000+i) + " +0000"
				tree := folderOf(batch, files)
				id := batch.Add(objstore.Commit, fmt.Appendf(nil, "tree %v\n%sauthor %s\ncommitter %s\n\nframe\n", tree, parent, who, who))
				commits, parent = append(commits, id), "parent "+id.String()+"\n"
				require.NoError(t, batch.Commit(t.Context(), nil))
			}
			sealed, err := s.Seal(t.Context(), commits, false)
			require.NoError(t, err)
			assert.Positive(t, sealed.Objects)
			assert.Less(t, sealed.BytesAfter, tc.most)
			assert.Greater(t, sealed.BytesAfter, tc.most-2000, "the newest version is whole")
			r.git("update-ref", tipRef, commits[1].String())
			r.fsck()
		})
	}
}
