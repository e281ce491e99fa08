package timeline_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// publish gives a repository the remote origin, which has its commits.
func publish(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	repo.Git("remote", "add", "origin", repotest.New(t, repotest.Bare).Dir)
	repo.Git("push", "--quiet", "origin", "main")
	repo.Git("fetch", "--quiet", "origin")
}

func TestARunIsBuiltOnTheCommitThatARemoteHas(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	publish(t, repo)
	there := repo.Git("rev-parse", "HEAD")
	repo.Git("commit", "--quiet", "--allow-empty", "--message=not pushed")
	s := open(t, repo)
	head := startRun(t, s, "run")
	assert.Equal(t, there, head.Entry().Base.String())
	assert.Equal(t, there, repo.Git("rev-parse", "refs/smithers/run/0^"))
	shoot(t, s, head, "goes on")
	assert.True(t, head.Entry().Base.IsZero())

	bare, err := s.Create(t.Context(), snapshot.Run{ID: "without-code", Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	assert.True(t, bare.Entry().Base.IsZero(), "a run without code needs none")
}

// bytesPushed is how large the pack is that a push of a ref brings to a repository.
func bytesPushed(t *testing.T, repo, to *repotest.Repo, ref string) int64 {
	t.Helper()
	packs := func() (sum int64) {
		found, err := filepath.Glob(filepath.Join(to.GitDir, "objects", "pack", "*.pack"))
		require.NoError(t, err)
		for _, path := range found {
			info, err := os.Stat(path)
			require.NoError(t, err)
			sum += info.Size()
		}
		return sum
	}
	to.Git("config", "transfer.unpackLimit", "1")
	before := packs()
	repo.Git("push", "--quiet", to.Dir, ref)
	return packs() - before
}

func TestAPushOfANewRunDoesNotSendTheCodeAgain(t *testing.T) {
	t.Parallel()
	const code, little = 1 << 20, 4 << 10
	for name, separate := range map[string]bool{"to the remote that has the code": false, "to a remote for runs alone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			repo.Write("code", string(incompressible(code)))
			repo.Git("add", "code")
			repo.Git("commit", "--quiet", "--message=code")
			to := repotest.New(t, repotest.Bare)
			if separate {
				publish(t, repo)
				repo.Git("config", "smithers.remote", "archive")
			} else {
				assert.Greater(t, bytesPushed(t, repo, to, "main"), int64(code))
				repo.Git("fetch", "--quiet", to.Dir, "main:refs/remotes/origin/main")
			}
			s := open(t, repo)
			startRun(t, s, "first")
			first := bytesPushed(t, repo, to, "refs/smithers/_tip/first")
			if separate {
				assert.Greater(t, first, int64(code))
			} else {
				assert.Less(t, first, int64(little))
			}
			repo.Write("README.md", "# Changed\n")
			repo.Git("commit", "--quiet", "--all", "--message=not pushed")
			shoot(t, s, startRun(t, s, "second"), "worked")
			assert.Less(t, bytesPushed(t, repo, to, "refs/smithers/_tip/second"), int64(little))
		})
	}
}

// incompressible is bytes of which no pack can make fewer.
func incompressible(size int) []byte {
	out := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(out) //nolint:errcheck // never fails
	return out
}

func TestWithoutARemoteARunIsBuiltOnNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	assert.True(t, startRun(t, open(t, repo), "run").Entry().Base.IsZero())
}

// The remote for runs has none of the user's commits; base commits of ours stand in.
func TestWhereTheRemoteForRunsHasNoCodeRunsShareIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	publish(t, repo)
	repo.Git("config", "smithers.remote", "archive")
	s := open(t, repo)
	first := startRun(t, s, "first").Entry()
	same := startRun(t, s, "same").Entry()
	repo.Write("README.md", "# Changed\n")
	other := startRun(t, s, "other").Entry()

	require.False(t, first.Base.IsZero())
	assert.Equal(t, first.Base, same.Base, "the same code is one base")
	assert.NotEqual(t, first.Base, other.Base)
	assert.Equal(t, other.Base.String(), repo.Git("rev-parse", "refs/smithers/_base"))
	assert.Equal(t, first.Base.String(), repo.Git("rev-parse", "refs/smithers/_base^"))
	assert.Equal(t, "worktree", repo.Git("ls-tree", "--name-only", "refs/smithers/_base"))
	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/other/0:worktree"), repo.Git("rev-parse", "refs/smithers/_base:worktree"))
	assert.Equal(t, "git-smithers git-smithers", repo.Git("log", "-1", "--format=%an %cn", "refs/smithers/_base"))
}

func TestRunsThatAreStartedAtOnceShareOneChainOfBases(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "smithers.remote", "archive")
	const runs = 6
	drafts := make([]snapshot.Draft, runs)
	s := open(t, repo)
	for i := range drafts {
		repo.Write("README.md", strings.Repeat("#", i+1))
		drafts[i] = shot(t, files.WorkingCopyOf(s), "started")
	}
	heads := make([]*timeline.Head, runs)
	errs := make([]error, runs)
	var starting sync.WaitGroup
	for i := range runs {
		other := open(t, repo)
		starting.Go(func() {
			heads[i], errs[i] = other.Create(t.Context(), snapshot.Run{ID: string(rune('a' + i)), Status: snapshot.RunRunning}, drafts[i])
		})
	}
	starting.Wait()
	chain := strings.Fields(repo.Git("rev-list", "refs/smithers/_base"))
	assert.Len(t, chain, runs)
	for i, head := range heads {
		require.NoError(t, errs[i])
		assert.Contains(t, chain, head.Entry().Base.String())
	}
}

func TestARunIsStoredThoughNoBaseIsFound(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "smithers.remote", "archive")
	var warnings []error
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(), Warn: func(err error) { warnings = append(warnings, err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	// A ref of that name is in the way of ours.
	repo.Git("update-ref", "refs/smithers/_base/not-ours", "HEAD")
	assert.True(t, startRun(t, s, "run").Entry().Base.IsZero())
	require.Len(t, warnings, 1)
	assert.ErrorContains(t, warnings[0], "found no base commit for the run")
	repo.Git("update-ref", "-d", "refs/smithers/_base/not-ours")
}
