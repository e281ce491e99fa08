package jjbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestAFileIsLeftOutWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		without := jjbridge.CaptureOptions{Leave: []string{"deep/er/engine.db", "README.md", "gone.db"}}
		repo.Write("deep/er/engine.db", "1")
		repo.Write("deep/other.db", "1")
		repo.Write("README.md", "changed\n")
		v := capture(t, repo, without)
		want := []snapshot.LeftOut{{Path: "deep/er/engine.db", Reason: snapshot.LeftUntracked}}
		assert.Equal(t, want, v.LeftOut)
		assert.Equal(t, []string{"README.md", "deep/other.db", "notes/todo.txt", "src/main.go"}, paths(repo, v),
			"what the user tracks is captured all the same")
		repo.Write("deep/er/engine.db", "22")
		assert.Equal(t, v.Tree, capture(t, repo, without).Tree)

		folder := jjbridge.CaptureOptions{Leave: []string{"deep/", "src/"}}
		repo.Write("src/untracked.log", "1")
		v2 := capture(t, repo, folder)
		assert.Equal(t, []string{"README.md", "notes/todo.txt", "src/main.go"}, paths(repo, v2), "and of a folder, too")
		for _, left := range v2.LeftOut {
			assert.Contains(t, folder.Leave, left.Path, "the folder, and not each of its files")
		}
		assert.True(t, jjbridge.IsLeftOut(v2.LeftOut, "deep/er/engine.db"))
		require.NoError(t, os.Remove(filepath.Join(repo.Dir, "src", "untracked.log")))

		assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String(), "nobody asks for it")
		again := capture(t, repo, without)
		assert.Equal(t, v.Tree, again.Tree)
		assert.Equal(t, want, again.LeftOut)
	})
}
