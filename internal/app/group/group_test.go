package group_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// definition returns the stored workflow of a group with three variants, or of a user's workflow with another name.
func definition(t *testing.T, name string) *snapshot.Workflow {
	t.Helper()
	wf, err := workflow.Parse("flow.yaml", []byte("name: flow\ntasks: [{id: a, run: 'true'}]\n"))
	if name != "flow" && name != "user" {
		wf, err = workflow.NewSweep(name, wf, "flow.yaml", 3)
	}
	require.NoError(t, err)
	return wf.Snapshot()
}

// create makes a run with an input and, for each child, a finished node that has called it.
func create(t *testing.T, s *timeline.Store, run snapshot.Run, input string, children ...string) {
	t.Helper()
	run.Status = snapshot.RunFinished
	draft := snapshot.Draft{Workflow: definition(t, run.Workflow), Frame: &snapshot.FrameDraft{State: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(input)}}}}
	for i, child := range children {
		task, at, first := string(rune('1'+i)), int64(1), 1
		node := snapshot.Node{NodeID: task, State: snapshot.NodeFinished, LastAttempt: &first}
		attempt := snapshot.Attempt{NodeID: task, Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: at, FinishedAtMs: &at, Child: child}
		draft.Frame.State = append(draft.Frame.State, snapshot.SetRow(snapshot.CollectionNodes, snapshot.EncodeNode(node)))
		draft.Journal = append(draft.Journal, snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt)))
	}
	_, err := s.Create(t.Context(), run, draft)
	require.NoError(t, err)
}

func TestAGroupOfAStrangerHasNoRunsOfOthers(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	create(t, store, snapshot.Run{ID: "mine", Workflow: "flow"}, `{"n":9}`)
	create(t, store, snapshot.Run{ID: "own", Workflow: "flow", Caller: &snapshot.Caller{RunID: "g", NodeID: "2", Attempt: 1}}, `{"n":1}`)
	create(t, store, snapshot.Run{ID: "g", Workflow: "sweep"}, `{"variants":[{"n":9},{"n":1},{"n":2}]}`, "mine", "own", "nowhere:1")

	g, err := group.Open(t.Context(), store, "g", "input.n", time.Now())
	require.NoError(t, err)
	statuses := make([]string, len(g.Variants))
	for i, v := range g.Variants {
		statuses[i] = v.Status
	}
	assert.Equal(t, []string{group.Missing, "finished", group.Missing}, statuses)
	assert.Equal(t, []string{"own"}, g.Runs())
	best, err := g.TheBest()
	require.NoError(t, err)
	assert.Equal(t, "own", best.RunID)

	for _, input := range []string{`{}`, `{"variants":[]}`, `{"variants":[1]}`, `{"variants":7}`, `[]`} {
		run := "user-" + input
		create(t, store, snapshot.Run{ID: run, Workflow: "sweep"}, input)
		_, err = group.Open(t.Context(), store, run, "", time.Now())
		assert.Equal(t, fault.InvalidInput, fault.CodeOf(err), "a workflow of the user may be called sweep: %s", input)
	}
}

func TestCoursesAreForksOfTheFrameOfTheirGroup(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	create(t, store, snapshot.Run{ID: "session", Workflow: "flow"}, `{}`)
	create(t, store, snapshot.Run{ID: "other", Workflow: "flow"}, `{}`)
	for fork, of := range map[string]string{"course": "session:0", "mine": "other:0"} {
		_, err := store.Fork(t.Context(), timeline.ForkRequest{From: of, RunID: fork})
		require.NoError(t, err)
	}
	create(t, store, snapshot.Run{ID: "g", Workflow: "courses"}, `{"variants":[{"prompt":"a"},{"prompt":"b"}],"from":"session:0"}`, "course", "mine")
	runs := func() []string {
		g, err := group.Open(t.Context(), store, "g", "", time.Now())
		require.NoError(t, err)
		return g.Runs()
	}
	assert.Equal(t, []string{"course"}, runs())
	require.NoError(t, os.RemoveAll(store.InPlace("recorded"))) // as in a clone that has fetched all of this
	require.NoError(t, os.MkdirAll(store.InPlace("recorded"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(store.InPlace("recorded"), "g"), nil, 0o600))
	assert.Empty(t, runs(), "the group of a stranger has only runs that name it")

	_, err = store.Create(t.Context(), snapshot.Run{ID: "user", Workflow: "sweep", Status: snapshot.RunFinished}, snapshot.Draft{Workflow: definition(t, "user"), Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(`{"variants":[{"n":1}]}`)},
	}}})
	require.NoError(t, err)
	_, err = group.Open(t.Context(), store, "user", "", time.Now())
	assert.Equal(t, fault.InvalidInput, fault.CodeOf(err), "a workflow of the user may be called sweep")
}
