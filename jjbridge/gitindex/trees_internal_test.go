package gitindex

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/objstore"
)

// indexOf is an index of files with contents that tell them apart.
func indexOf(files map[string]byte) *Index {
	x := &Index{}
	for path, content := range files {
		id := objstore.Hash(objstore.Blob, []byte{content})
		x.Entries = append(x.Entries, Entry{Path: path, Mode: objstore.ModeFile, ID: id})
	}
	slices.SortFunc(x.Entries, func(a, b Entry) int { return compareEntries(&a, &b) })
	return x
}

func TestTreesSinceAreTheTrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom([]string{"a", "a.b", "a/b", "a/c/d", "a/c/e", "ab", "b/a", "b/a.x", "b/a/c", "c"})
		before := rapid.MapOf(path, rapid.ByteRange(0, 2)).Draw(t, "before")
		after := rapid.MapOf(path, rapid.ByteRange(0, 2)).Draw(t, "after")
		for _, files := range []map[string]byte{before, after} {
			for file := range files { // no file where a folder is
				for other := range files {
					if len(other) > len(file) && other[:len(file)+1] == file+"/" {
						delete(files, file)
					}
				}
			}
		}
		var edited []string
		for _, files := range []map[string]byte{before, after} {
			for file := range files {
				old, was := before[file]
				now, is := after[file]
				if was != is || old != now {
					edited = append(edited, file)
				}
			}
		}
		known := indexOf(before).Trees()

		got, want := indexOf(after).TreesSince(known, edited), indexOf(after).Trees()

		require.Equal(t, want.Root, got.Root)
		for id, data := range want.Encoded {
			if _, found := known.Encoded[id]; !found {
				require.Equal(t, data, got.Encoded[id])
			}
		}
	})
}
