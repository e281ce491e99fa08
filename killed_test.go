package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// seedVariable is the environment's seed of the test; without one, it makes one up and says so.
const seedVariable = "KILLED_TEST_SEED"

// stormy has everything that a process may be killed in: tasks side by side, a loop, a retry,
// an approval.
const stormy = `
name: stormy
outputs: {left: {}, right: {}, flaky: {}, count: {}, gate: {}, last: {}}
tasks:
  - {id: left, output: left, run: "./task '{\"side\":\"left\"}'"}
  - {id: right, output: right, run: "./task '{\"side\":\"right\"}'"}
  - {id: flaky, needs: [left], output: flaky, retries: 1, run: "./task; test -e failed/$SMITHERS_RUN_ID && echo 3 || { touch failed/$SMITHERS_RUN_ID; exit 1; }"}
  - loop: l
    until: outputs.count >= 2
    max: 9
    tasks:
      - {id: step, needs: [right], run: ./task}
      - {id: count, needs: [step], output: count, run: ./task $SMITHERS_ITERATION}
  - {id: gate, needs: [flaky, l], output: gate, approval: "Ship {outputs.flaky}?"}
  - {id: last, needs: [gate], output: last, run: "./task '[1,2]'"}
`

// task notes that it runs before it says anything.
const task = `#!/bin/sh
echo "$SMITHERS_NODE_ID::$SMITHERS_ITERATION::$SMITHERS_ATTEMPT" >>"ran/$SMITHERS_RUN_ID"
test $# = 0 || echo "$1"
`

// storm is a repository with runs of the workflow whose processes are killed.
type storm struct {
	*repotest.Repo
	t       *testing.T
	program string
	calls   int // how often an undisturbed process asks for the time
	left    chan killed
}

// killed is one kill.
type killed struct{ call, micros int }

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{Repo: repotest.New(t, repotest.Commit), t: t, program: filepath.Join(t.TempDir(), "git-smithers")}
	linkSmithers(t, s.program)
	s.Env = append(s.Env, "GIT_SMITHERS_FSYNC=0", "SCRIPT_NOW=2026-01-02T03:04:05Z", "GORACE=atexit_sleep_ms=0")
	for _, folder := range []string{"ran", "failed"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.Dir, folder), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "task"), []byte(task), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "flow.yaml"), []byte(stormy), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, ".gitignore"), []byte("/ran/\n/failed/\n"), 0o666))
	return s
}

// call runs git-smithers. status is -1 where it was killed.
func (s *storm) call(extra string, args ...string) (status int, out string) {
	return s.callWith("", extra, args...)
}

// callWith is call with a standard input.
func (s *storm) callWith(input, extra string, args ...string) (status int, out string) {
	cmd := exec.CommandContext(context.Background(), s.program, args...)
	cmd.Dir, cmd.Env = s.Dir, append(slices.Clone(s.Env), extra)
	cmd.Stdin = strings.NewReader(input)
	var talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &talk, &talk
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 126, err.Error()
	}
	return cmd.ProcessState.ExitCode(), talk.String()
}

// calm makes the undisturbed run, and learns how often each of its processes asks for the time.
func (s *storm) calm() {
	s.t.Helper()
	counted := filepath.Join(s.t.TempDir(), "count")
	status, out := s.call(scripttest.CountVariable+"="+counted, "run", "flow.yaml", "--run-id", "calm")
	require.Equal(s.t, 3, status, out)
	text, err := os.ReadFile(counted)
	require.NoError(s.t, err)
	s.calls, err = strconv.Atoi(string(text))
	require.NoError(s.t, err)
	status, out = s.call("", "approve", "calm", "gate", "--by", "ann")
	require.Equal(s.t, 0, status, out)
	status, out = s.call("", "resume", "calm")
	require.Equal(s.t, 0, status, out)
}

// run takes a run to its end, through as many kills as it gets. Each process of it but one
// in five gets one.
func (s *storm) run(id string, random *rand.Rand) (kills []killed, err error) {
	args, held := []string{"run", "flow.yaml", "--run-id", id}, 0
	for {
		extra, planned := "", false
		var kill killed
		if random.IntN(5) > 0 {
			select {
			case kill = <-s.left:
				at := kill.call
				if args[0] == "resume" { // there is less left to do
					at = 1 + at/3
				}
				extra, planned = fmt.Sprintf("%s=%d %d", scripttest.KillVariable, at, kill.micros), true
			default:
			}
		}
		status, out := s.call(extra, args...)
		if planned && status != -1 { // it was over before
			s.left <- kill
		}
		switch status {
		case -1:
			kills = append(kills, kill)
			args = []string{"resume", id}
		case 0:
			return kills, nil
		case 3:
			if status, out := s.call("", "approve", id, "gate", "--by", "ann"); status != 0 && status != 11 {
				return kills, fmt.Errorf("approve %s: status %d: %s", id, status, out)
			}
			args = []string{"resume", id}
		case 11: // a command that the killed process was about to start has its lock until it is another program
			if held++; held > 500 {
				return kills, fmt.Errorf("%v: status %d: %s", args, status, out)
			}
			time.Sleep(10 * time.Millisecond)
		case 10: // it was killed before there was a run
			args = []string{"run", "flow.yaml", "--run-id", id}
		default:
			return kills, fmt.Errorf("%v: status %d: %s", args, status, out)
		}
	}
}

// killSeed returns the seed of the random kills of a test: a new one, or the one in seedVariable. The log of the test names it.
func killSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d gives the same kills", seedVariable, seed)
	return seed
}

func TestARunWhoseProcessesAreKilledEndsLikeOneThatIsLeftAlone(t *testing.T) {
	t.Parallel()
	count, workers := repotest.Size(20, 200), 3
	seed := killSeed(t)
	s := newStorm(t)
	s.calm()
	random := rand.New(rand.NewPCG(seed, 0))
	s.left = make(chan killed, count)
	for range count {
		s.left <- killed{1 + random.IntN(s.calls), random.IntN(4000)}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	runs, kills := []string{}, 0
	for worker := range workers {
		random := rand.New(rand.NewPCG(seed, uint64(worker)+1))
		all.Go(func() {
			for number := 0; len(s.left) > 0; number++ {
				id := fmt.Sprintf("storm-%d-%d", worker, number)
				got, err := s.run(id, random)
				mu.Lock()
				runs, kills = append(runs, id), kills+len(got)
				mu.Unlock()
				if !assert.NoError(t, err, "%s, killed at %v", id, got) {
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	assert.Equal(t, count, kills)
	t.Logf("%d kills in %d runs; an undisturbed process asks for the time %d times", kills, len(runs), s.calls)

	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for _, id := range runs {
		s.compare(store, id)
	}
	report, err := verify.Runs(t.Context(), store)
	require.NoError(t, err)
	assert.Empty(t, report.Problems)
	unattended, err := claim.FindUnattended(t.Context(), store)
	require.NoError(t, err)
	assert.Empty(t, unattended)
	for _, folder := range []string{"claims", "commands", "logs"} {
		left, err := filepath.Glob(filepath.Join(s.GitDir, "smithers", folder, "*", "*"))
		require.NoError(t, err)
		assert.Empty(t, left, "nothing is left of processes that are gone")
	}
}

// compare asserts that a run ended as the calm one did, and that nothing of it ran again
// that was finished.
func (s *storm) compare(store *timeline.Store, id string) {
	s.t.Helper()
	calm, stormy := "refs/smithers/_tip/calm:", "refs/smithers/_tip/"+id+":"
	for _, part := range []string{"outputs-left", "outputs-right", "outputs-flaky", "outputs-count", "outputs-gate", "outputs-last", "loops", "workflow"} {
		assert.Equal(s.t, s.Git("rev-parse", calm+part), s.Git("rev-parse", stormy+part), "%s of %s", part, id)
	}
	head, err := store.Head(s.t.Context(), id)
	require.NoError(s.t, err)
	reference, err := store.Head(s.t.Context(), "calm")
	require.NoError(s.t, err)
	row := head.Row()
	assert.Equal(s.t, snapshot.RunFinished, row.Status, id)
	assert.Empty(s.t, row.Owner, id)
	last := nodesOf(s.t, head)
	calmNodes := nodesOf(s.t, reference)
	require.Len(s.t, last, len(calmNodes), id)
	for key, n := range last {
		assert.Equal(s.t, calmNodes[key].State, n.State, "%s of %s", key, id)
	}
	s.compareAttempts(head, last)
	s.checkEvents(store, head)
}

func nodesOf(t *testing.T, head *timeline.Head) map[string]snapshot.Node {
	t.Helper()
	nodes := make(map[string]snapshot.Node)
	for row, err := range head.State().Nodes().Rows() {
		require.NoError(t, err)
		n, err := snapshot.DecodeNode(row)
		require.NoError(t, err)
		nodes[row.Key] = n
	}
	return nodes
}

// compareAttempts asserts that each node has one attempt that finished, its last one, by
// the journal as well as by what the tasks noted when they ran.
func (s *storm) compareAttempts(head *timeline.Head, nodes map[string]snapshot.Node) {
	s.t.Helper()
	id := head.Row().ID
	attempts, err := head.Entry().Attempts()
	require.NoError(s.t, err)
	known := make(map[string]bool)
	for row, err := range attempts.Rows() {
		require.NoError(s.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(s.t, err)
		known[row.Key] = true
		if a.Attempt == *nodes[snapshot.Key(a.NodeID, a.Iteration)].LastAttempt {
			assert.Equal(s.t, snapshot.AttemptFinished, a.State, "%s of %s", row.Key, id)
			continue
		}
		assert.Equal(s.t, snapshot.AttemptFailed, a.State, "%s of %s", row.Key, id)
		if a.NodeID != "flaky" {
			assert.Equal(s.t, "interrupted: the process that ran the command died", a.Error, "%s of %s", row.Key, id)
		}
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, "ran", id))
	require.NoError(s.t, err)
	ran := strings.Fields(string(data))
	for i, key := range ran {
		assert.True(s.t, known[key], "%s of %s is in no journal", key, id)
		assert.NotContains(s.t, ran[:i], key, "of %s", id)
	}
	for key, n := range nodes {
		if n.NodeID != "gate" {
			assert.Contains(s.t, ran, fmt.Sprintf("%s::%d", key, *n.LastAttempt), "of %s", id)
		}
	}
}

// checkEvents asserts that a run's events count from 0 without gaps.
func (s *storm) checkEvents(store *timeline.Store, head *timeline.Head) {
	s.t.Helper()
	next := head.Row().NextSeq
	for entry, err := range store.Chain(head.Entry()) {
		require.NoError(s.t, err)
		events, err := entry.Events()
		require.NoError(s.t, err)
		for _, event := range slices.Backward(events) {
			next--
			assert.Equal(s.t, next, event.Seq, head.Row().ID)
		}
	}
	assert.Zero(s.t, next, head.Row().ID)
}
