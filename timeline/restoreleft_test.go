package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestWhatWasLeftOutOfAFrameStaysAlsoWhereItCouldBeCapturedByNow(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		repo.Env = append(repo.Env, "GIT_SMITHERS_WORKTREE_MAX_FILE=1k")
		repo.Write("100%.log", strings.Repeat("much\n", 1000))
		requireStays(t, repo, "100%.log", func() { repo.Write("100%.log", "little\n") })
	})
}

func TestAFolderThatWasARepositoryOfItsOwnStaysWhenItIsNoneAnyMore(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("src/main.go", "package main\n")
	repo.Write("inner/repo/file", "theirs\n")
	repo.Git("init", "inner/repo")
	requireStays(t, repo, "inner/repo/file", func() {
		require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "inner/repo/.git")))
	})
}

func TestWhatAFrameIgnoredStaysWhereItIsNotIgnoredAnyMore(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "run")
		repo.Write("deep/.gitignore", "/.env\nmodules/\n")
		repo.Write("deep/.env", "secret\n")
		repo.Write("deep/modules/m.js", "module\n")
		shoot(t, s, head, "worked")
		there := filesIn(t, repo.Dir)

		_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
		require.NoError(t, err)
		require.Contains(t, filesIn(t, repo.Dir), "deep/.env")
		repo.Write("deep/new", "not there then\n")
		for _, dryRun := range []bool{true, false} {
			done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1", DryRun: dryRun})
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"deep/.gitignore": jjbridge.OpAdd, "deep/new": jjbridge.OpRemove}, opsOf(done.Changes))
		}
		assert.Equal(t, there, filesIn(t, repo.Dir))
		if !kind.IsJJ() { // jj goes on tracking what it has tracked once
			assert.Equal(t, vcsAt(t, s, "run:1").Tree, vcsAt(t, s, "run").Tree)
		}
	})
}

// A file that is ignored may be a secret, and a frame can be pushed.
func TestWhatIsIgnoredDoesNotGetIntoHistoryByARestore(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		head := startRun(t, s, "run")
		repo.Write(".gitignore", ".env\n")
		repo.Write(".env", "secret of mine\n")
		shoot(t, s, head, "worked")

		done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})

		require.NoError(t, err)
		require.Contains(t, filesIn(t, repo.Dir), ".env")
		assert.Equal(t, vcsAt(t, s, "run:0").Tree, vcsAt(t, s, done.Frame.String()).Tree)
		reached := repo.Git("rev-list", "--objects", "--glob=refs/smithers")
		assert.NotContains(t, reached, ".env")
	})
}

// requireStays restores a frame that a file was left out of, after change has made it one
// that is captured.
func requireStays(t *testing.T, repo *repotest.Repo, left string, change func()) {
	t.Helper()
	var warned []error
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(), Warn: func(err error) { warned = append(warned, err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	head := startRun(t, s, "run")
	require.Len(t, vcsAt(t, s, "run:0").LeftOut, 1)
	change()
	repo.Write("src/main.go", "package main // worked on\n")
	repo.Write("inner/new", "not there then\n")
	shoot(t, s, head, "worked")
	require.Empty(t, vcsAt(t, s, "run:1").LeftOut)
	before := filesIn(t, repo.Dir)

	for _, dryRun := range []bool{true, false} {
		done, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0", DryRun: dryRun})
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"src/main.go": jjbridge.OpModify, "inner/new": jjbridge.OpRemove}, opsOf(done.Changes))
	}
	after := filesIn(t, repo.Dir)
	assert.Equal(t, before[left], after[left])
	assert.NotContains(t, after, "inner/new")
	assert.Empty(t, warned)

	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
	require.NoError(t, err)
	assert.Equal(t, before, filesIn(t, repo.Dir))
}
