package jjbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// base is BaseCommit as text; "" for none.
func base(t *testing.T, repo *repotest.Repo, remote string) string {
	t.Helper()
	id, err := locate(t, repo.Dir, repo.Env).BaseCommit(t.Context(), remote)
	require.NoError(t, err)
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func TestTheBaseIsTheNearestCommitThatARemoteHas(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		assert.Empty(t, base(t, repo, ""), "without a remote")
		first := repo.Git("rev-parse", "main")
		repo.Git("update-ref", "refs/remotes/origin/main", first)
		commitThree(repo, kind)
		assert.Equal(t, first, base(t, repo, ""))
		assert.Equal(t, first, base(t, repo, "origin"))
		assert.Empty(t, base(t, repo, "fork"), "a remote that has nothing")
	})
}

// commitThree makes three commits on what is there.
func commitThree(repo *repotest.Repo, kind repotest.Kind) {
	for i := range 3 {
		name := fmt.Sprintf("new-%d.txt", i)
		repo.Write(name, name)
		if kind.IsJJ() {
			repo.JJ("commit", "--quiet", "--message="+name)
			continue
		}
		repo.Git("add", name)
		repo.Git("commit", "--quiet", "--message="+name)
	}
}

func TestAPushedCommitIsItsOwnBase(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), base(t, repo, ""))
}

func TestAPackedRefOfARemoteGivesTheBase(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	repo.Git("pack-refs", "--all", "--prune")
	require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, ".git", "refs", "remotes")))
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), base(t, repo, ""))
}

func TestTheBaseOfACommitBehindTheRemoteIsThatCommit(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	first := repo.Git("rev-parse", "HEAD")
	commitThree(repo, repotest.Git)
	repo.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	repo.Git("checkout", "--quiet", "--detach", first)
	assert.Equal(t, first, base(t, repo, ""))
}

func TestTheBaseOfAMergeIsTheYoungestThatWasMerged(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	tree := repo.Git("rev-parse", "HEAD^{tree}")
	commit := func(at string, parents ...string) string {
		args := []string{"commit-tree", "-m", "x", tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		out, err := (&repotest.Repo{Env: append(repo.Env, "GIT_COMMITTER_DATE="+at)}).GitIn(repo.Dir, args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	old := repo.Git("rev-parse", "HEAD")
	local := commit("2026-01-03T00:00:00Z", old)
	upstream := commit("2026-01-04T00:00:00Z", old)
	merge := commit("2026-01-05T00:00:00Z", local, upstream)
	repo.Git("update-ref", "refs/remotes/origin/main", commit("2026-01-06T00:00:00Z", upstream))
	repo.Git("reset", "--quiet", "--hard", merge)
	assert.Equal(t, upstream, base(t, repo, ""))
}

func TestARemoteWithAnotherHistoryHasNoBase(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("update-ref", "refs/remotes/fork/main", repo.Git("commit-tree", "-m", "other", repo.Git("rev-parse", "HEAD^{tree}")))
	assert.Empty(t, base(t, repo, "fork"))
}

func TestBeforeTheFirstCommitThereIsNoBase(t *testing.T) {
	t.Parallel()
	repo, other := repotest.New(t), repotest.New(t, repotest.Commit)
	repo.Git("fetch", "--quiet", other.Dir, "main:refs/remotes/origin/main")
	assert.Empty(t, base(t, repo, ""))
}

// BenchmarkBaseCommit is the worst case: two histories of 10,000 commits each that have
// nothing in common.
func BenchmarkBaseCommit(b *testing.B) {
	repo := repotest.New(b)
	var stream strings.Builder
	for _, ref := range []string{"refs/heads/main", "refs/remotes/origin/main"} {
		for i := range 10_000 {
			fmt.Fprintf(&stream, "commit %s\ncommitter A <a@example.invalid> %d +0000\ndata <<.\n%s\n.\n", ref, 1_700_000_000+i, ref)
		}
	}
	repo.GitInput(stream.String(), "fast-import", "--quiet")
	w, err := jjbridge.Locate(b.Context(), repo.Dir, repo.Env)
	require.NoError(b, err)
	for b.Loop() {
		id, err := w.BaseCommit(b.Context(), "origin")
		if err != nil || !id.IsZero() {
			b.Fatal(id, err)
		}
	}
}
