package files

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// tree writes a tree of files, each of which holds what the map says.
func tree(m *objstoretest.Memory, files map[string]any) objstore.ID {
	var entries []objstore.TreeEntry
	for name, content := range files {
		switch content := content.(type) {
		case string:
			entries = append(entries, objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: m.Add(objstore.Blob, []byte(content))})
		case map[string]any:
			entries = append(entries, objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: tree(m, content)})
		}
	}
	return m.Add(objstore.Tree, objstore.EncodeTree(entries))
}

type files = map[string]any

func TestChangedFilesSaysWhatBecomesOfEachFile(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	from := tree(m, files{
		"a": "1", "gone": "1", "same": "1",
		"dir":  files{"x": "1", "y": files{"z": "1"}},
		"kind": files{"inner": "1"},
		"old":  files{"one": "1"},
	})
	to := tree(m, files{
		"a": "2", "new": "1", "same": "1",
		"dir":   files{"x": "1", "y": files{"z": "2", "w": "1"}},
		"kind":  "a file now",
		"fresh": files{"deep": files{"leaf": "1"}},
	})
	for under, want := range map[string][]jjbridge.PathChange{
		"": {
			{Path: "a", Op: "modify"},
			{Path: "dir/y/w", Op: "add"},
			{Path: "dir/y/z", Op: "modify"},
			{Path: "fresh/deep/leaf", Op: "add"},
			{Path: "gone", Op: "remove"},
			{Path: "kind", Op: "add"},
			{Path: "kind/inner", Op: "remove"},
			{Path: "new", Op: "add"},
			{Path: "old/one", Op: "remove"},
		},
		"dir":             {{Path: "dir/y/w", Op: "add"}, {Path: "dir/y/z", Op: "modify"}},
		"dir/y/z":         {{Path: "dir/y/z", Op: "modify"}},
		"dir/y/z/none":    nil,
		"kind/inner":      {{Path: "kind/inner", Op: "remove"}},
		"same":            nil,
		"nowhere/at/all":  nil,
		"fresh/deep/leaf": {{Path: "fresh/deep/leaf", Op: "add"}},
	} {
		got, err := ChangedFiles(t.Context(), m, from, to, under)
		require.NoError(t, err, under)
		assert.Equal(t, want, got, "under %q", under)
	}
}

func TestChangedFilesReadsNothingThatIsTheSame(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	// The folder's tree is in no store, so that reading it fails.
	elsewhere := tree(new(objstoretest.Memory), files{"x": "1"})
	root := func(content string) objstore.ID {
		return m.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
			{Name: "a", Mode: objstore.ModeFile, ID: m.Add(objstore.Blob, []byte(content))},
			{Name: "dir", Mode: objstore.ModeTree, ID: elsewhere},
		}))
	}
	got, err := ChangedFiles(t.Context(), m, root("1"), root("2"), "")
	require.NoError(t, err)
	assert.Equal(t, []jjbridge.PathChange{{Path: "a", Op: "modify"}}, got)
	_, err = ChangedFiles(t.Context(), m, root("1"), objstore.ID{}, "")
	assert.ErrorIs(t, err, objstore.ErrNotFound)
}
