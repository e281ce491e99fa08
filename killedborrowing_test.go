package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// borrowing takes a result with files from the cache, and calls a workflow.
const borrowing = `
name: borrowing
outputs: {made: {}, verdict: {}}
tasks:
  - {id: made, cache: {files: none}, output: made, run: "mkdir -p made && for n in 1 2 3 4 5 6 7 8; do echo $n >made/$n; done; ./task 8"}
  - {id: review, needs: [made], workflow: inner.yaml, output: verdict, with: {made: outputs.made}}
  - {id: last, needs: [review], run: ./task}
`

const inner = `
name: inner
outputs: {verdict: {}}
tasks:
  - {id: read, run: ./task}
  - {id: judge, needs: [read], output: verdict, run: "./task '\"good\"'"}
`

// TestARunThatBorrowsIsKilledAndEndsLikeOneThatIsLeftAlone kills processes while they take results from the cache, with files, and while they
// execute a called run.
func TestARunThatBorrowsIsKilledAndEndsLikeOneThatIsLeftAlone(t *testing.T) {
	t.Parallel()
	count := repotest.Size(12, 100)
	seed := killSeed(t)
	s := newStorm(t)
	s.Env = append(s.Env, "GIT_SMITHERS_WORKTREE=all")
	s.Write("flow.yaml", borrowing)
	s.Write("inner.yaml", inner)
	counted := filepath.Join(t.TempDir(), "count")
	for _, id := range []string{"calm", "calm-hit"} {
		require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "made")))
		status, out := s.call(scripttest.CountVariable+"="+counted, "run", "flow.yaml", "--run-id", id)
		require.Equal(t, 0, status, out)
	}
	text, err := os.ReadFile(counted)
	require.NoError(t, err)
	s.calls, err = strconv.Atoi(string(text))
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(seed, 0))
	s.left = make(chan killed, count)
	for range count {
		s.left <- killed{1 + random.IntN(s.calls), random.IntN(4000)}
	}
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	hits, kills := 0, 0
	for number := 0; len(s.left) > 0; number++ {
		id := fmt.Sprintf("storm-%d", number)
		require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, "made")))
		got, err := s.run(id, random)
		require.NoError(t, err, "%s, killed at %v", id, got)
		kills += len(got)
		hits += s.compareBorrowed(store, id)
		if t.Failed() {
			_, out := s.call("", "events", id)
			t.Fatalf("%s, killed at %v:\n%s", id, got, out)
		}
		if hits == 0 && len(s.left) == 0 && number < 50 { // by chance, each run was killed before its result was taken
			s.left <- killed{1 + random.IntN(s.calls), random.IntN(4000)}
			count++
		}
	}
	assert.Equal(t, count, kills)
	assert.Positive(t, hits)
	t.Logf("%d kills, %d hits; an undisturbed process asks for the time %d times", kills, hits, s.calls)
	report, err := verify.Runs(t.Context(), store)
	require.NoError(t, err)
	assert.Empty(t, report.Problems)
}

// compareBorrowed asserts that a run ended as the calm one did, in its files, too, and that nothing that was finished ran again. It returns the number of
// results from the cache.
func (s *storm) compareBorrowed(store *timeline.Store, id string) (hits int) {
	s.t.Helper()
	for n := 1; n <= 8; n++ {
		text, err := os.ReadFile(filepath.Join(s.Dir, "made", strconv.Itoa(n)))
		assert.NoError(s.t, err, id)
		assert.Equal(s.t, strconv.Itoa(n)+"\n", string(text), id)
	}
	for _, part := range []string{"outputs-made", "outputs-verdict"} {
		assert.Equal(s.t, s.Git("rev-parse", "refs/smithers/_tip/calm:"+part), s.Git("rev-parse", "refs/smithers/_tip/"+id+":"+part), "%s of %s", part, id)
	}
	head, err := store.Head(s.t.Context(), id)
	require.NoError(s.t, err)
	assert.Equal(s.t, snapshot.RunFinished, head.Row().Status, id)
	attempts, err := head.Entry().Attempts()
	require.NoError(s.t, err)
	called := ""
	for row, err := range attempts.Rows() {
		require.NoError(s.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(s.t, err)
		if a.CachedFrom != "" {
			hits++
		}
		if a.State == snapshot.AttemptFinished && a.NodeID == "review" {
			called = a.Child
		}
	}
	require.NotEmpty(s.t, called, id)
	child, err := store.Head(s.t.Context(), called)
	require.NoError(s.t, err)
	assert.Equal(s.t, snapshot.RunFinished, child.Row().Status, called)
	for _, of := range []string{id, called} {
		s.ranOnce(store, of)
	}
	return hits
}

// ranOnce asserts that no attempt of a run ran twice, and that no task ran again that had finished.
func (s *storm) ranOnce(store *timeline.Store, id string) {
	s.t.Helper()
	head, err := store.Head(s.t.Context(), id)
	require.NoError(s.t, err)
	data, err := os.ReadFile(filepath.Join(s.Dir, "ran", id))
	require.NoError(s.t, err)
	ran := strings.Fields(string(data))
	for i, key := range ran {
		assert.NotContains(s.t, ran[:i], key, "of %s", id)
	}
	attempts, err := head.Entry().Attempts()
	require.NoError(s.t, err)
	finished := make(map[string]int)
	for row, err := range attempts.Rows() {
		require.NoError(s.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(s.t, err)
		if a.State == snapshot.AttemptFinished {
			finished[snapshot.Key(a.NodeID, a.Iteration)]++
		}
	}
	for key, n := range finished {
		assert.Equal(s.t, 1, n, "%s of %s", key, id)
	}
	s.checkEvents(store, head)
}
