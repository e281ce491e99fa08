package objstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// captureObjects makes the objects of a typical capture: pages, the trees above
// them, the entry's own files and its commit; 14 in all.
func captureObjects(i int) (kinds []objstore.Kind, data [][]byte) {
	add := func(kind objstore.Kind, b []byte) objstore.ID {
		kinds, data = append(kinds, kind), append(data, b)
		return testHash().ID(kind, b)
	}
	tree := func(leaf objstore.ID) objstore.ID {
		var entries []objstore.TreeEntry
		for j := range 15 {
			entries = append(entries, objstore.TreeEntry{Name: string("0123456789abcdef"[j]), Mode: objstore.ModeFile, ID: testHash().ID(objstore.Blob, []byte{byte(j)})})
		}
		entries = append(entries, objstore.TreeEntry{Name: "f", Mode: objstore.ModeTree, ID: leaf})
		return add(objstore.Tree, objstore.EncodeTree(entries))
	}
	top := add(objstore.Blob, pageOf(1, i))
	for range 4 {
		top = tree(top)
	}
	add(objstore.Blob, pageOf(2, i))
	for range 4 {
		top = tree(top)
	}
	add(objstore.Blob, pageOf(3, i)[:300])
	add(objstore.Blob, pageOf(4, i)[:200])
	add(objstore.Blob, pageOf(5, i)[:100])
	who := fmt.Sprintf("%s %d +0000", objstore.Author, 1700000000+i)
	add(objstore.Commit, fmt.Appendf(nil, "tree %v\nparent %v\nauthor %s\ncommitter %s\n\nframe %d\n", top, top, who, who, i))
	return kinds, data
}

func BenchmarkBatchCommit(b *testing.B) {
	for name, policy := range map[string]objstore.FsyncPolicy{"Durable": objstore.Durable, "Relaxed": objstore.Relaxed} {
		b.Run(name, func(b *testing.B) {
			r := newRepo(b)
			s := r.open(func(o *objstore.Options) { o.Fsync = policy })
			batch := s.Begin()
			i := 0
			for b.Loop() {
				b.StopTimer()
				if i%16 == 15 { // as owners do, there in the background
					_, err := s.Merge(b.Context())
					require.NoError(b, err)
				}
				kinds, data := captureObjects(i)
				i++
				b.StartTimer()
				for j, kind := range kinds {
					batch.Add(kind, data[j])
				}
				require.NoError(b, batch.Commit(b.Context(), nil))
			}
		})
	}
}

// BenchmarkFsync is what the machine takes to write and fsync one small file.
func BenchmarkFsync(b *testing.B) {
	path := filepath.Join(b.TempDir(), "file")
	data := make([]byte, 4096)
	for b.Loop() {
		f, err := os.Create(path)
		require.NoError(b, err)
		_, err = f.Write(data)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		require.NoError(b, f.Close())
	}
}

func manyFrames(b *testing.B, frames int) (*repo, *chain, *objstore.Store) {
	b.Helper()
	r, c := newRepo(b), newChain(128)
	s := r.open()
	for range frames {
		c.capture(r, s)
	}
	return r, c, s
}

// BenchmarkColdRead reads the objects of the newest entry, 140 of them, with a
// store that has read nothing: from 15 packs, from one merged pack, from one of git's.
func BenchmarkColdRead(b *testing.B) {
	read := func(b *testing.B, r *repo, tip objstore.ID) {
		b.Helper()
		objects := 0
		for b.Loop() {
			s, err := objstore.Open(r.options())
			require.NoError(b, err)
			objects = readEntry(b, s, tip)
			require.NoError(b, s.Close())
		}
		b.ReportMetric(float64(objects), "objects/op")
	}
	r, c, s := manyFrames(b, 15)
	b.Run("small packs", func(b *testing.B) { read(b, r, c.tip) })
	c.capture(r, s)
	_, err := s.Merge(b.Context())
	require.NoError(b, err)
	b.Run("merged", func(b *testing.B) { read(b, r, c.tip) })
	r.git("gc", "-q", "--prune=now")
	b.Run("git gc", func(b *testing.B) { read(b, r, c.tip) })
}

// readEntry reads everything a commit reaches without its parents.
func readEntry(b *testing.B, s *objstore.Store, commit objstore.ID) int {
	b.Helper()
	_, data, err := s.Get(commit)
	require.NoError(b, err)
	root, err := objstore.ParseID(string(data[5:45]))
	require.NoError(b, err)
	objects := 1
	todo := []objstore.TreeEntry{{Mode: objstore.ModeTree, ID: root}}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		objects++
		if e.Mode != objstore.ModeTree {
			_, _, err := s.Get(e.ID)
			require.NoError(b, err)
			continue
		}
		entries, err := objstore.ReadTree(s, e.ID)
		require.NoError(b, err)
		todo = slices.Concat(todo, entries)
	}
	return objects
}

func BenchmarkMerge(b *testing.B) {
	r := newRepo(b)
	s := r.open()
	batch := s.Begin()
	i := 0
	var merged objstore.MergeResult
	for b.Loop() {
		b.StopTimer()
		for range 16 {
			kinds, data := captureObjects(i)
			i++
			for j, kind := range kinds {
				batch.Add(kind, data[j])
			}
			require.NoError(b, batch.Commit(b.Context(), nil))
		}
		b.StartTimer()
		result, err := s.Merge(b.Context())
		require.NoError(b, err)
		merged.Objects += result.Objects
	}
	b.ReportMetric(float64(merged.Objects)/float64(b.N), "objects/op")
}
