package timeline_test

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// However many frames were appended, few packs and few refs in files of their own
// are left, and every frame is where it was.
func TestALongRunLeavesFewFiles(t *testing.T) {
	t.Parallel()
	frames := repotest.Size(120, 600)
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0")
	s := open(t, repo)
	head, err := s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	commits := []string{head.Entry().ID.String()}
	for i := 1; i < frames; i++ {
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}},
		}))
		commits = append(commits, head.Entry().ID.String())
	}
	require.NoError(t, s.Close())

	assertFewFilesOfRefs(t, repo)
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects", "pack", "*.pack"))
	require.NoError(t, err)
	assert.Less(t, len(packs), 50, "from 50 on, git gc --auto packs everything")
	keeps, err := filepath.Glob(filepath.Join(repo.GitDir, "objects", "pack", "*.keep"))
	require.NoError(t, err)
	assert.Empty(t, keeps)
	listed := repo.Git("log", "--reverse", "--format=%H", "refs/smithers/_tip/run")
	assert.Equal(t, commits, strings.Fields(listed))
	refs := repo.Git("for-each-ref", "--format=%(objectname)", "refs/smithers/run/")
	assert.ElementsMatch(t, commits, strings.Fields(refs))
}

// The same holds for many runs of one frame each.
func TestManyForksLeaveFewFiles(t *testing.T) {
	t.Parallel()
	forks := repotest.Size(120, 450)
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0")
	s := open(t, repo)
	triage(t, s, "parent")
	for range forks {
		_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent:2"})
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	assertFewFilesOfRefs(t, repo)
	tips := repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip/")
	assert.Len(t, strings.Fields(tips), forks+1)
}

// assertFewFilesOfRefs checks that the refs of runs are in few files, or in few tables.
func assertFewFilesOfRefs(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	if repotest.RefFormat() == "files" {
		assert.Less(t, filesUnder(t, filepath.Join(repo.GitDir, "refs", "smithers")), 500)
		return
	}
	assert.Less(t, filesUnder(t, filepath.Join(repo.GitDir, "reftable")), 30)
}

// filesUnder counts files in a folder and below.
func filesUnder(t *testing.T, root string) int {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}
