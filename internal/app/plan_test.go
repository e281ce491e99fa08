package app_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// shown returns a plan as lines of tasks with their actions.
func shown(plan *app.Plan) []string {
	var lines []string
	for _, task := range plan.Tasks {
		lines = append(lines, task.Name+" "+string(task.Action))
		for _, called := range task.CalledTasks {
			lines = append(lines, task.Name+" > "+called.Name+" "+string(called.Action))
		}
	}
	return lines
}

// reasonOf returns the reason in a plan for a task.
func reasonOf(t *testing.T, plan *app.Plan, node string) string {
	t.Helper()
	at := slices.IndexFunc(plan.Tasks, func(task app.PlannedTask) bool { return task.Name == node })
	require.GreaterOrEqual(t, at, 0, "%s is not planned", node)
	return plan.Tasks[at].Reason
}

// attempts returns the newest attempts of a run's nodes, by the nodes' keys.
func attempts(t *testing.T, d *app.Desk, run string) map[string]snapshot.Attempt {
	t.Helper()
	newest := make(map[string]snapshot.Attempt)
	head, err := d.Store.Head(t.Context(), run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return newest
	}
	require.NoError(t, err)
	for a, err := range head.Entry().AllAttempts() {
		require.NoError(t, err)
		if key := snapshot.Key(a.NodeID, a.Iteration); a.Attempt > newest[key].Attempt {
			newest[key] = a
		}
	}
	return newest
}

// actual returns what a run did with a node, as a plan says it. before and after are the newest attempts of the node.
func actual(n snapshot.Node, before, after snapshot.Attempt) engine.Action {
	switch {
	case n.State == snapshot.NodeSkipped:
		return engine.ActionSkipped
	case n.State.Waiting(), n.State == snapshot.NodePending && after.Child != "":
		return engine.ActionWaits
	case n.State == snapshot.NodePending:
		return engine.ActionPending
	case n.State == snapshot.NodeFailed:
		return engine.ActionFails
	case before.Attempt == after.Attempt && strings.HasPrefix(before.State, "waiting"):
		return engine.ActionEnds
	case before.Attempt == after.Attempt && before.FinishedAtMs != nil:
		return engine.ActionKept
	case after.CachedFrom != "":
		return engine.ActionCached
	}
	return engine.ActionRuns
}

// requirePlanned checks that a run did with its tasks what the plan said. before has the newest attempts of the run when the plan was made.
func requirePlanned(t *testing.T, d *app.Desk, run string, plan *app.Plan, before map[string]snapshot.Attempt) {
	t.Helper()
	head, err := d.Store.Head(t.Context(), run)
	require.NoError(t, err)
	after := attempts(t, d, run)
	planned := make(map[string]engine.Action)
	for _, task := range plan.Tasks {
		planned[snapshot.Key(task.NodeID, task.Iteration)] = task.Action
		if len(task.CalledTasks) > 0 {
			called := &app.Plan{Loops: plan.Loops}
			for _, inner := range task.CalledTasks {
				called.Tasks = append(called.Tasks, app.PlannedTask{PlannedTask: inner})
			}
			requirePlanned(t, d, task.CalledRunID, called, nil)
		}
	}
	for n, err := range head.State().AllNodes() {
		require.NoError(t, err)
		key := snapshot.Key(n.NodeID, n.Iteration)
		said, ok := planned[key]
		if !ok {
			require.NotNil(t, n.RalphID, "%s is in no loop, and not in the plan", key)
			assert.True(t, slices.ContainsFunc(plan.Loops, func(l engine.PlannedLoop) bool {
				return l.ID == *n.RalphID && n.Iteration > l.Iteration
			}), "the plan says nothing of %s", key)
			continue
		}
		delete(planned, key)
		did := actual(n, before[key], after[key])
		if said == engine.ActionKept && before[key].Attempt == after[key].Attempt {
			continue // it was skipped before, or has failed and may
		}
		if said == engine.ActionEnds && did == engine.ActionRuns { // the wait began and ended at once
			continue
		}
		if said == engine.ActionMayRun {
			assert.Contains(t, []engine.Action{engine.ActionRuns, engine.ActionCached, engine.ActionSkipped}, did, key)
			continue
		}
		assert.Equal(t, said, did, "what the run did with %s", key)
	}
	assert.Empty(t, planned, "planned, but the run has no such nodes")
}

// A run does with each task what its dry run said. Where nobody can know that, the dry run says so.
func TestARunDoesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	const outputs = "name: flow\ninput: {properties: {deep: {type: boolean}}}\noutputs: {a: {type: object}, b: {type: object}}\ntasks:\n"
	for _, c := range []struct {
		name, flow string
		again      bool // the same workflow ran before
		want       []string
	}{
		{"one task after the other", `
  - {id: one, run: "true"}
  - {id: two, needs: [one], run: "true"}`, false, []string{"one runs", "two runs"}},
		{"side by side", `
  - {id: one, run: "true"}
  - {id: two, run: "true"}
  - {id: both, needs: [one, two], run: "true"}`, false, []string{"one runs", "two runs", "both runs"}},
		{"a matrix", `
  - {id: cell, matrix: {go: [a, b]}, run: "true"}
  - {id: all, needs: [cell], run: "true"}`, false, []string{"cell.a runs", "cell.b runs", "all runs"}},
		{"a condition on the input", `
  - {id: deep, when: input.deep, run: "true"}
  - {id: flat, when: "!input.deep", run: "true"}`, false, []string{"deep skipped", "flat runs"}},
		{"a condition on an output", `
  - {id: one, output: a, run: "echo '{\"ok\":false}'"}
  - {id: two, needs: [one], when: outputs.a.ok, run: "true"}
  - {id: three, needs: [two], run: "true"}`, false, []string{"one runs", "two may-run", "three runs"}},
		{"a loop that counts", `
  - loop: l
    until: iteration == 1
    max: 3
    tasks: [{id: one, run: "true"}, {id: two, needs: [one], when: iteration == 0, run: "true"}]
  - {id: end, needs: [l], run: "true"}`, false, []string{"one::0 runs", "two::0 runs", "one::1 runs", "two::1 skipped", "end runs"}},
		{"a loop whose end an output decides", `
  - loop: l
    until: outputs.a.n == 2
    max: 3
    tasks: [{id: one, output: a, run: "echo x >>n; echo '{\"n\":'$(wc -l <n)'}'"}]
  - {id: end, needs: [l], run: "true"}`, false, []string{"one::0 runs", "end runs"}},
		{"nothing in the cache", `
  - {id: one, cache: true, output: a, run: "echo '{\"ok\":true}'"}`, false, []string{"one runs"}},
		{"a result in the cache, which others read", `
  - {id: one, cache: true, output: a, run: "echo '{\"ok\":true}'"}
  - {id: two, needs: [one], when: outputs.a.ok, cache: true, run: "true"}
  - {id: three, needs: [one], when: "!outputs.a.ok", run: "true"}`, true, []string{"one cached", "two cached", "three skipped"}},
		{"a cache after a task that may change the files", `
  - {id: one, run: "true"}
  - {id: two, needs: [one], cache: true, run: "true"}
  - {id: three, needs: [one], cache: {files: none}, run: "true"}`, true, []string{"one runs", "two may-run", "three cached"}},
		{"a cache beside a task that changes the files", `
  - {id: one, run: "date >now"}
  - {id: two, cache: {paths: [flow.yaml]}, run: "true"}`, true, []string{"one runs", "two cached"}},
		{"a cached result that makes a file which is there", `
  - {id: one, cache: {paths: [flow.yaml]}, run: "echo made >made"}
  - {id: two, needs: [one], cache: {paths: [made]}, run: "true"}`, true, []string{"one cached", "two cached"}},
		{"an approval", `
  - {id: one, run: "true"}
  - {id: ask, needs: [one], approval: "Go on?"}
  - {id: two, needs: [ask], run: "true"}
  - {id: three, needs: [two], run: "true"}`, false, []string{"one runs", "ask waits", "two pending", "three pending"}},
		{"an approval whose text is not known yet", `
  - {id: one, output: a, run: "echo '{\"n\":1}'"}
  - {id: ask, needs: [one], approval: "Ship {outputs.a.n}?"}`, false, []string{"one runs", "ask waits"}},
		{"a signal and a timer", `
  - {id: go, wait_for: {signal: go}}
  - {id: past, timer: "2020-01-01T00:00:00Z"}
  - {id: after, needs: [past], run: "true"}
  - {id: both, needs: [past, go], run: "true"}`, false, []string{"go waits", "past ends", "after runs", "both pending"}},
		{"a called workflow", `
  - {id: call, workflow: called.yaml, with: {n: "1"}}
  - {id: end, needs: [call], run: "true"}`, false, []string{"call runs", "call > in runs", "end runs"}},
		{"a called workflow whose results are in the cache", `
  - {id: call, workflow: cached.yaml}`, true, []string{"call runs", "call > in cached", "call > twice cached"}},
		{"a called workflow with a loop", `
  - {id: call, workflow: loops.yaml}`, false, []string{"call runs", "call > in::0 runs"}},
		{"a called workflow in a worktree", `
  - {id: call, workflow: apart.yaml}`, true, []string{"call runs", "call > in may-run"}},
		{"a called workflow whose input is not known yet", `
  - {id: one, output: a, run: "echo '{\"n\":1}'"}
  - {id: call, needs: [one], workflow: called.yaml, with: {n: outputs.a.n}}`, false, []string{"one runs", "call runs"}},
		{"a called workflow that waits", `
  - {id: call, workflow: asks.yaml}
  - {id: end, needs: [call], run: "true"}`, false, []string{"call waits", "call > ask waits", "end pending"}},
		{"a called workflow that refuses its input", `
  - {id: call, workflow: called.yaml, with: {n: "true"}}
  - {id: end, needs: [call], run: "true"}`, false, []string{"call fails", "end pending"}},
		{"tasks that ask for failures", `
  - {id: one, run: "true"}
  - {id: alarm, when: failed(), run: "true"}
  - {id: clean, when: always(), run: "true"}`, false, []string{"one runs", "alarm may-run", "clean runs"}},
		{"a condition that cannot be evaluated", `
  - {id: one, when: "input.deep > 3", run: "true"}
  - {id: two, needs: [one], run: "true"}
  - {id: clean, when: always(), run: "true"}`, false, []string{"one fails", "clean runs", "two pending"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, rec, repo := newDesk(t, outputs+strings.TrimPrefix(c.flow, "\n")+"\n")
			repo.Write("called.yaml", "name: called\ninput: {properties: {n: {type: number}}}\ntasks: [{id: in, run: 'true'}]\n")
			repo.Write("cached.yaml", "name: cached\ntasks: [{id: in, cache: true, run: 'true'}, {id: twice, needs: [in], cache: true, run: 'true'}]\n")
			repo.Write("loops.yaml", "name: loops\noutputs: {a: {type: object}}\ntasks: [{loop: l, until: outputs.a.n == 2, max: 3, tasks: [{id: in, output: a, run: 'echo x >>n; echo \"{\\\"n\\\":$(wc -l <n)}\"'}]}]\n")
			repo.Write("apart.yaml", "name: apart\nworktree: true\ntasks: [{id: in, cache: true, run: 'true'}]\n")
			repo.Write("asks.yaml", "name: asks\ntasks: [{id: ask, approval: 'Go on?'}]\n")
			req := app.RunRequest{Workflow: "flow.yaml", Input: []byte(`{"deep":false}`)}
			if c.again {
				req.RunID, req.MaxParallel = "before", 1 // so that no task works beside one whose result is to be kept
				_, err := d.Run(t.Context(), req)
				require.NoError(t, err)
			}
			req.RunID, req.MaxParallel = "a", 4
			plan, err := d.PlanRun(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, c.want, shown(plan))
			if strings.Contains(c.name, "with a loop") {
				assert.Equal(t, []engine.PlannedLoop{{ID: "l", Until: "outputs.a.n == 2", Max: 3, DependsOn: "in::0", CalledRunID: "a.call.1"}}, plan.Loops)
			}
			_, _ = d.Run(t.Context(), req)
			requirePlanned(t, d, "a", plan, attempts(t, d, "none"))
			rec.warned = nil // what the run warns of is not about its plan
		})
	}
}

const mended = `name: flow
outputs: {a: {type: object}}
tasks:
  - {id: one, output: a, run: "echo '{\"ok\":true}'"}
  - {id: two, needs: [one], run: "test -e .git/mended", retries: 1}
  - {id: three, needs: [one], when: outputs.a.ok, run: "true"}
  - {id: four, needs: [two], when: outputs.a.ok, run: "true"}
  - {id: ask, needs: [four], approval: "Go on?"}
  - {id: five, needs: [ask], run: "true"}
`

// A resume redoes exactly what failed and what follows, and its dry run says so, with the reasons.
func TestAResumeDoesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	d, _, repo := newDesk(t, mended)
	_, err := d.Run(t.Context(), app.RunRequest{Workflow: "flow.yaml", RunID: "a"})
	require.Equal(t, fault.RunFailed, fault.CodeOf(err))
	resume := app.ResumeRequest{Run: "a"}

	plan, err := d.PlanResume(t.Context(), resume)
	require.NoError(t, err)
	assert.Equal(t, []string{"one kept", "three kept", "two runs", "four runs", "ask waits", "five pending"}, shown(plan))
	assert.Equal(t, "failed in attempt 2: exit status 1", reasonOf(t, plan, "two"))
	assert.Equal(t, "needs two, which runs first", reasonOf(t, plan, "four"))
	assert.Equal(t, "needs ask, which does not end yet", reasonOf(t, plan, "five"))
	assert.NotNil(t, plan.Tasks[2].Last)

	repo.Write(".git/mended", "")
	before := attempts(t, d, "a")
	_, err = d.Resume(t.Context(), resume)
	require.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	requirePlanned(t, d, "a", plan, before)

	approve(t, d)
	plan, err = d.PlanResume(t.Context(), resume)
	require.NoError(t, err)
	assert.Equal(t, []string{"one kept", "two kept", "three kept", "four kept", "ask ends", "five runs"}, shown(plan))
	before = attempts(t, d, "a")
	_, err = d.Resume(t.Context(), resume)
	require.NoError(t, err)
	requirePlanned(t, d, "a", plan, before)
}

// A wait that a person has denied fails, and a signal that has come ends one.
func TestADryRunReadsTheMailbox(t *testing.T) {
	t.Parallel()
	d, _, _ := newDesk(t, waits)
	_, err := run(t, d)
	require.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	head, err := d.Store.Head(t.Context(), "a")
	require.NoError(t, err)
	_, err = mailbox.NewIntake(head).Take(t.Context(), mailbox.Letter{Verb: mailbox.Deny}, d.Now())
	require.NoError(t, err)
	plan, err := d.PlanResume(t.Context(), app.ResumeRequest{Run: "a"})
	require.NoError(t, err)
	assert.Equal(t, []string{"one kept", "ask fails", "two pending"}, shown(plan))
	before := attempts(t, d, "a")
	_, err = d.Resume(t.Context(), app.ResumeRequest{Run: "a"})
	require.Equal(t, fault.RunFailed, fault.CodeOf(err))
	requirePlanned(t, d, "a", plan, before)
}

// A travel and a replay run again what is reset and what needs it.
func TestATravelAndAReplayDoWhatTheirDryRunsSay(t *testing.T) {
	t.Parallel()
	d, _, _ := newDesk(t, `name: flow
tasks:
  - {id: one, run: "true"}
  - {id: two, needs: [one], run: "true"}
  - {id: three, needs: [two], run: "true"}
  - {id: beside, run: "true"}
`)
	_, err := run(t, d)
	require.NoError(t, err)
	back := app.TravelRequest{Request: travel.Request{Run: "a", Node: "two", NoFiles: true}, Sequel: app.Sequel{Resume: true}}
	again := app.ReplayRequest{From: "a", Resets: app.Resets{Nodes: []string{"two"}}}

	plan, err := d.PlanReplay(t.Context(), again)
	require.NoError(t, err)
	assert.Equal(t, []string{"one kept", "beside kept", "two runs", "three runs"}, shown(plan))
	assert.Equal(t, "was reset", reasonOf(t, plan, "two"))
	assert.Equal(t, "needs two, which runs again", reasonOf(t, plan, "three"))
	before := attempts(t, d, "a")
	replayed, err := d.Replay(t.Context(), again)
	require.NoError(t, err)
	requirePlanned(t, d, replayed.Run.ID, plan, before)

	plan, err = d.PlanTravel(t.Context(), back)
	require.NoError(t, err)
	assert.Subset(t, shown(plan), []string{"one kept", "two runs", "three runs"})
	assert.Equal(t, "a", *plan.RunID)
	_, err = d.Travel(t.Context(), back)
	require.NoError(t, err)
	requirePlanned(t, d, "a", plan, before)
}

// stored returns the content of the files of the git directory, by their paths, without the caches of readers.
func stored(t *testing.T, repo *repotest.Repo) map[string]string {
	t.Helper()
	files := make(map[string]string)
	top := filepath.Join(repo.Dir, ".git")
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		// The index of runs, and the copy of git's index with which a capture asks git for changed files, are caches.
		if err != nil || strings.HasPrefix(name, "smithers/index") || strings.HasPrefix(name, "smithers/locks") || strings.HasPrefix(name, "smithers/worktrees") {
			return err
		}
		if entry.IsDir() {
			files[name] = "folder"
			return nil
		}
		data, err := os.ReadFile(path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	}))
	return files
}

// A dry run writes nothing: no ref, no object, no consent, no claim, no worktree.
func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	d, _, repo := newDesk(t, strings.ReplaceAll(mended, `run: "true"`, `cache: true, run: "echo new >>new"`))
	repo.Write("beside.yaml", "name: beside\nworktree: true\ntasks: [{id: one, cache: true, run: 'true'}]\n")
	_, err := run(t, d)
	require.Equal(t, fault.RunFailed, fault.CodeOf(err))
	repo.Write("fresh", "an untracked file that no frame has")
	repo.Write("key", "AKIAIOSFODNN7EXAMPLE")
	require.NoError(t, d.Store.Close()) // so that nothing tidies up after the run meanwhile
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: d.Now, Warn: func(err error) { assert.NoError(t, err) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	d.Store = store
	before := stored(t, repo)

	for name, dry := range map[string]func() (*app.Plan, error){
		"run": func() (*app.Plan, error) { return d.PlanRun(t.Context(), app.RunRequest{Workflow: "flow.yaml"}) },
		"run in a worktree": func() (*app.Plan, error) {
			return d.PlanRun(t.Context(), app.RunRequest{Workflow: "beside.yaml"})
		},
		"resume": func() (*app.Plan, error) { return d.PlanResume(t.Context(), app.ResumeRequest{Run: "a"}) },
		"replay": func() (*app.Plan, error) {
			return d.PlanReplay(t.Context(), app.ReplayRequest{From: "a:2", Resets: app.Resets{Nodes: []string{"one"}}})
		},
		"replay on the files": func() (*app.Plan, error) {
			return d.PlanReplay(t.Context(), app.ReplayRequest{From: "a:2", RestoreVCS: true})
		},
		"travel": func() (*app.Plan, error) {
			return d.PlanTravel(t.Context(), app.TravelRequest{Request: travel.Request{Run: "a:2"}, Sequel: app.Sequel{Resume: true}})
		},
		"resume --failed": func() (*app.Plan, error) {
			runs, err := d.FailedRuns(t.Context(), app.FailedRequest{})
			require.Len(t, runs, 1)
			return runs[0].Plan, err
		},
	} {
		plan, err := dry()
		require.NoError(t, err, name)
		assert.NotEmpty(t, plan.Tasks, name)
		assert.Equal(t, before, stored(t, repo), name)
	}
}
