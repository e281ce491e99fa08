package timeline_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

func packsOf(t *testing.T, repo *repotest.Repo) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects", "pack", "*.pack"))
	require.NoError(t, err)
	return packs
}

func TestARunBecomesOnePackWhenItEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		setting string
		want    func(packs int) bool
	}{
		{"true", func(packs int) bool { return packs == 1 }},
		{"false", func(packs int) bool { return packs > 5 }},
	} {
		t.Run("smithers.seal is "+test.setting, func(t *testing.T) {
			t.Parallel()
			repo := sealRepo(t)
			repo.Git("config", "smithers.seal", test.setting)
			s := open(t, repo)
			endedRun(t, s, "run", 8)
			require.NoError(t, s.Close())
			packs := packsOf(t, repo)
			assert.True(t, test.want(len(packs)), packs)
			assert.Len(t, frameRefs(repo, "run"), 8, "its frames have refs until there are too many")
		})
	}
}

func TestTheOldestRunsThatEndedLoseTheirFrameRefsWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	repo.Git("config", "smithers.frameRefs", "20")
	s := open(t, repo)
	triage(t, s, "goes-on") // 5 frames
	require.NoError(t, s.Close())
	for i := range 4 { // one after the other, as processes do
		s := open(t, repo)
		endedRun(t, s, fmt.Sprint("run-", i), 5+i)
		require.NoError(t, s.Close())
	}
	assert.Empty(t, frameRefs(repo, "run-0"))
	assert.Empty(t, frameRefs(repo, "run-1"))
	assert.Empty(t, frameRefs(repo, "run-2"), "some room is made for the next")
	assert.Len(t, frameRefs(repo, "run-3"), 8)
	assert.Len(t, frameRefs(repo, "goes-on"), 5, "it has not ended")
	for i := range 4 {
		assert.Len(t, addressed(t, repo, fmt.Sprint("run-", i), 5+i), 5+i)
	}
	tips := strings.Fields(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip/"))
	assert.Len(t, tips, 5)
}

// graphHas reports whether git's commit-graph has a commit.
func graphHas(t *testing.T, repo *repotest.Repo, rev string) bool {
	t.Helper()
	id, err := hex.DecodeString(strings.TrimSpace(repo.Git("rev-parse", rev)))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(repo.GitDir, "objects", "info", "commit-graphs", "*.graph"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return bytes.Contains(data, id)
	})
}

// Each tip costs a push or a fetch less if git finds its entries in the commit-graph.
func TestRunsThatLoseTheirFrameRefsComeIntoGitsCommitGraph(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]bool{"true": true, "false": false} {
		t.Run("gc.writeCommitGraph is "+setting, func(t *testing.T) {
			t.Parallel()
			repo := sealRepo(t)
			repo.Git("config", "smithers.frameRefs", "8")
			repo.Git("config", "gc.writeCommitGraph", setting)
			repo.Git("commit", "--quiet", "--allow-empty", "--message=the user's")
			for i := range 4 {
				s := open(t, repo)
				endedRun(t, s, fmt.Sprint("run-", i), 5)
				require.NoError(t, s.Close())
				if i == 1 { // the first graph has all runs
					assert.Equal(t, want, graphHas(t, repo, "refs/smithers/_tip/run-1"))
				}
			}
			assert.Equal(t, want, graphHas(t, repo, "refs/smithers/_tip/run-0"))
			assert.Equal(t, want, graphHas(t, repo, "refs/smithers/_tip/run-2"))
			assert.False(t, graphHas(t, repo, "HEAD"), "the user's history may be long")
			repo.Git("commit-graph", "verify")
		})
	}
}

func TestWithoutSealingNoFrameRefIsDropped(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	repo.Env = append(repo.Env, "GIT_SMITHERS_SEAL=false", "GIT_SMITHERS_FRAME_REFS=1")
	s := open(t, repo)
	endedRun(t, s, "run", 5)
	require.NoError(t, s.Close())
	assert.Len(t, frameRefs(repo, "run"), 5)
}

// A history of somebody else's that cannot be read is no reason to fail.
func TestAnOldRunThatCannotBeReadDoesNotStopTheOthersFromBeingSealed(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	repo.Env = append(repo.Env, "GIT_SMITHERS_FRAME_REFS=5")
	repo.Git("update-ref", "refs/smithers/_tip/damaged", "HEAD")
	repo.Git("update-ref", "refs/smithers/damaged/0", "HEAD")
	s := open(t, repo)
	endedRun(t, s, "one", 4)
	endedRun(t, s, "two", 5)
	require.NoError(t, s.Close())
	assert.Empty(t, frameRefs(repo, "one"))
	assert.Len(t, frameRefs(repo, "damaged"), 1)
	repo.Git("update-ref", "-d", "refs/smithers/_tip/damaged")
	repo.Git("update-ref", "-d", "refs/smithers/damaged/0")
}
