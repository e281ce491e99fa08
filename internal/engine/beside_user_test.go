package engine_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A person adds, stashes and commits in the working copy, again and again, for as
// long as a run goes on there, which is until there are a dozen commits: neither
// gets in the other's way.
func TestARunGoesOnWhileTheUserCommits(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, opts := openIn(t, repo)
	wf := parse(t, `
name: w
outputs: {commits: {}}
tasks:
  - loop: l
    until: outputs.commits > 12
    max: 5000
    tasks:
      - {id: count, run: git rev-list --count HEAD, output: commits}
`)
	head := create(t, store, "r", wf, nil)

	stop, made := make(chan struct{}), make(chan int)
	go func() { made <- commitUntil(t, repo, stop) }()
	result, err := engine.RunParsed(t.Context(), head, wf, opts)
	close(stop)
	commits := <-made

	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Equal(t, strconv.Itoa(commits+1), repo.Git("rev-list", "--count", "HEAD"), "every commit of the user's, and no other")
	assert.Empty(t, repo.Git("status", "--short"))
	assert.Empty(t, repo.Git("stash", "list"))

	var numbers []string
	for frame := range result.Run.Frame + 1 {
		numbers = append(numbers, strconv.FormatInt(frame, 10))
	}
	assert.Equal(t, numbers, trailers(repo, "Smithers-Frame"))
	revisions := make(map[string]bool)
	for _, revision := range trailers(repo, "Smithers-Vcs") {
		revisions[strings.TrimPrefix(revision, "git:")] = true
	}
	assert.Greater(t, len(revisions), 1, "the user committed between frames")
	users := strings.Fields(repo.Git("rev-list", "HEAD"))
	for revision := range revisions {
		assert.Contains(t, users, revision)
	}
}

// trailers are the values of a trailer in the run "r", its first entry first.
func trailers(repo *repotest.Repo, key string) []string {
	format := "--format=%(trailers:key=" + key + ",valueonly,separator=)"
	return strings.Fields(repo.Git("log", "--reverse", format, "refs/smithers/_tip/r"))
}

// commitUntil adds, stashes, takes back and commits until it is told to stop, and
// returns how many commits that made.
func commitUntil(t *testing.T, repo *repotest.Repo, stop <-chan struct{}) int {
	t.Helper()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return n
		default:
		}
		if !assert.NoError(t, os.WriteFile(filepath.Join(repo.Dir, "note"), []byte(strconv.Itoa(n)), 0o666)) {
			return n
		}
		for _, args := range [][]string{
			{"add", "note"}, {"stash", "push", "--quiet"}, {"stash", "pop", "--quiet", "--index"}, {"commit", "--quiet", "--message=note"},
		} {
			if _, err := repo.GitErr(args...); !assert.NoError(t, err, args) {
				return n
			}
		}
	}
}
