package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// clock starts at a fixed moment and goes on by one second a reading. Safe for concurrent use.
func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

// open opens the history of a repository whose health is checked by verify when
// the test ends.
func open(t testing.TB, repo *repotest.Repo) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Warn: func(err error) { t.Logf("warning: %v", err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		requireHealthy(t, repo)
	})
	return s
}

func requireHealthy(t testing.TB, repo *repotest.Repo) {
	t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	report, err := verify.Runs(context.Background(), s)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.NoError(t, s.Close())
}

// node is the change that puts a node into a state.
func node(t testing.TB, id string, state snapshot.NodeState, needs ...string) snapshot.Change {
	t.Helper()
	row := snapshot.EncodeNode(snapshot.Node{NodeID: id, State: state, OutputTable: "results", Needs: needs})
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value}
}

// output is the change that stores a node's output.
func output(id, value string) snapshot.Change {
	return snapshot.Change{
		Op: snapshot.OpSet, Collection: snapshot.OutputCollection("results"),
		Key: snapshot.Key(id, 0), Value: json.RawMessage(value),
	}
}

// input is the change that sets the run's input.
func input(value string) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(value)}
}

// triage makes a run of three nodes in a row, a, b and c, of which a and b
// finished: frames 0 to 4.
func triage(t testing.TB, s *timeline.Store, id string) *timeline.Head {
	t.Helper()
	ctx := context.Background()
	head, err := create(ctx, s, snapshot.Run{ID: id, Workflow: "triage", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started",
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			input(`{"ticket":"T-1","n":9007199254740993}`),
			node(t, "a", snapshot.NodePending), node(t, "b", snapshot.NodePending, "a"), node(t, "c", snapshot.NodePending, "b"),
		}},
	})
	require.NoError(t, err)
	for _, step := range []struct {
		subject string
		changes []snapshot.Change
	}{
		{"a started", []snapshot.Change{node(t, "a", snapshot.NodeInProgress)}},
		{"a finished", []snapshot.Change{node(t, "a", snapshot.NodeFinished), output("a", `{"v":1}`)}},
		{"b started", []snapshot.Change{node(t, "b", snapshot.NodeInProgress, "a")}},
		{"b finished", []snapshot.Change{node(t, "b", snapshot.NodeFinished, "a"), output("b", `{"v":2}`)}},
	} {
		require.NoError(t, head.Append(ctx, snapshot.Draft{Frame: &snapshot.FrameDraft{State: step.changes}, Subject: step.subject}))
	}
	return head
}

// create makes a run, also one with an id that new runs do not get any more.
func create(ctx context.Context, s *timeline.Store, run snapshot.Run, draft snapshot.Draft) (*timeline.Head, error) {
	if !timeline.Mistakable(run.ID) {
		return s.Create(ctx, run, draft)
	}
	series, err := timeline.SeriesAgain(ctx, s, run)
	if err != nil {
		return nil, err
	}
	defer series.Close()
	if draft.Frame == nil {
		draft.Frame = new(snapshot.FrameDraft)
	}
	if _, err := series.Append(ctx, draft); err != nil {
		return nil, err
	}
	return series.Commit(ctx)
}

// stateOf lists a state's nodes and outputs, one a line, for comparing.
func stateOf(t testing.TB, state *snapshot.State) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for row, err := range state.Nodes().Rows() {
		require.NoError(t, err)
		n, err := snapshot.DecodeNode(row)
		require.NoError(t, err)
		out["node "+row.Key] = string(n.State)
	}
	for _, table := range state.Tables() {
		for row, err := range state.Outputs(table).Rows() {
			require.NoError(t, err)
			out[fmt.Sprintf("output %s/%s", table, row.Key)] = string(row.Value)
		}
	}
	in, err := state.Input()
	require.NoError(t, err)
	out["input"] = string(in)
	return out
}
