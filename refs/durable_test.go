package refs_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

// synced is the folders that were synced.
func synced(files *fsxtest.FS) []string {
	var folders []string
	for _, op := range files.Ops() {
		if op.Kind == fsxtest.SyncDir {
			folders = append(folders, op.Path)
		}
	}
	return folders
}

func TestAllRefsOfATransactionButThoseOfFramesAreDurableWhenItIsDone(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := repotest.New(t, repotest.Commit)
	id := refstest.Objects(t, repo, 1)[0]
	files := fsxtest.New(t, repo.GitDir)
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Fsync, o.FS = true, files })
	tip, err := refs.Tip("run")
	require.NoError(t, err)
	gone, err := refs.Gone("other")
	require.NoError(t, err)
	frame := refstest.Frame(t, "run", 0)
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: tip, New: id}, refs.Update{Name: gone, New: id}, refs.Update{Name: frame, New: id}))

	dir := filepath.Join(t.TempDir(), "cut")
	require.NoError(t, files.Now().WriteTo(dir, fsxtest.Durable))
	for _, name := range []refs.Name{tip, gone} {
		assert.FileExists(t, filepath.Join(dir, string(name)))
	}
	assert.NoFileExists(t, filepath.Join(dir, string(frame)), "it can be made again")
}

func TestATipThatMovesSyncsOneFolder(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := repotest.New(t, repotest.Commit)
	ids := refstest.Objects(t, repo, 2)
	tip, err := refs.Tip("run")
	require.NoError(t, err)
	repo.Git("update-ref", string(tip), ids[0].String())
	files := fsxtest.New(t, repo.GitDir)
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Fsync, o.FS = true, files })
	move := []refs.Update{{Name: tip, Old: ids[0], New: ids[1]}, {Name: refstest.Frame(t, "run", 1), New: ids[1]}}
	require.NoError(t, db.Apply(t.Context(), move...))
	assert.Equal(t, []string{"refs/smithers/_tip"}, synced(files))
}

func TestSettleSyncsWhatAnotherHasMovedWhereFsyncIsWanted(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for _, fsync := range []bool{true, false} {
		repo := repotest.New(t, repotest.Commit)
		tip, err := refs.Tip("run")
		require.NoError(t, err)
		repo.Git("update-ref", string(tip), "HEAD")
		files := fsxtest.New(t, repo.GitDir)
		db := refstest.Open(t, repo, func(o *refs.Options) { o.Fsync, o.FS = fsync, files })
		require.NoError(t, db.Settle(t.Context(), tip))
		want := []string{"refs/smithers/_tip", "refs/smithers", "refs"}
		if !fsync {
			want = nil
		}
		assert.ElementsMatch(t, want, synced(files))
		repo.Git("pack-refs", "--all")
		require.NoError(t, db.Settle(t.Context(), tip), "a ref that git has packed has no folder")
	}
}
