package app_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A recorder is a Teller that keeps what it is told, by the names of the notes' types without "Note".
type recorder struct {
	mu     sync.Mutex
	told   []string
	warned []string
}

func (r *recorder) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, text)
}

func (r *recorder) Note(_ context.Context, note app.Note) {
	r.add(strings.TrimSuffix(reflect.TypeOf(note).Name(), "Note"))
}

func (r *recorder) Warn(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, err.Error())
}

func (r *recorder) While(what app.Wait) func() {
	r.add(string(what))
	return func() {}
}

func (r *recorder) Count(what app.Wait) (func(done, total int), func()) {
	r.add(string(what))
	return func(int, int) {}, func() {}
}

func (r *recorder) Tasks(_ context.Context, wf *workflow.Workflow) (func(engine.Progress), func()) {
	r.add("tasks of " + wf.Name)
	return func(engine.Progress) {}, func() { r.add("left") }
}

// take returns what was told since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}

// newDesk opens a new repository that has a workflow file, flow.yaml.
func newDesk(t *testing.T, workflow string) (*app.Desk, *recorder, *repotest.Repo) {
	t.Helper()
	repo := repotest.New(t)
	repo.Write("flow.yaml", workflow)
	repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message=begin")
	rec := &recorder{}
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: rec.Warn})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	t.Cleanup(func() { assert.Empty(t, rec.warned) })
	return &app.Desk{
		Store: store, Folder: app.Folder(repo.Dir), Env: repo.Env, Now: time.Now, Hurry: context.Background(), Teller: rec,
	}, rec, repo
}

const twoSteps = `name: flow
tasks:
  - {id: one, run: "echo 1 >one; echo '{}'"}
  - {id: two, needs: [one], run: "echo 2 >two; echo '{}'"}
`

const waits = `name: flow
tasks:
  - {id: one, run: "echo 1 >one; echo '{}'"}
  - {id: ask, needs: [one], approval: "Go on?"}
  - {id: two, needs: [ask], run: "echo 2 >two; echo '{}'"}
`

// run executes flow.yaml as the run "a".
func run(t *testing.T, d *app.Desk) (*app.Result, error) {
	t.Helper()
	return d.Run(t.Context(), app.RunRequest{Workflow: "flow.yaml", RunID: "a", Settings: app.Settings{MaxParallel: 1}})
}

// read returns the content of a file.
func read(t *testing.T, d *app.Desk, name string) string {
	t.Helper()
	data, err := os.ReadFile(d.Folder.Path(name))
	require.NoError(t, err)
	return string(data)
}

// approve answers what the run "a" waits for.
func approve(t *testing.T, d *app.Desk) {
	t.Helper()
	head, err := app.OpenRun(t.Context(), d.Store, "a")
	require.NoError(t, err)
	got, err := mailbox.NewIntake(head).Take(t.Context(), mailbox.Letter{}, d.Now())
	require.NoError(t, err)
	assert.Equal(t, snapshot.ApprovalApproved, got.Approval.Status)
}

func TestARunIsExecutedAndTold(t *testing.T) {
	t.Parallel()
	d, rec, _ := newDesk(t, twoSteps)
	done, err := run(t, d)
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, done.Run.Status)
	assert.False(t, done.Nothing)
	assert.Equal(t, "flow.yaml", done.Run.WorkflowPath)
	assert.Equal(t, []string{string(app.ReadingFiles), "Created", "tasks of flow", "left"}, rec.take())

	again, err := d.Resume(t.Context(), app.ResumeRequest{Run: "a"})
	require.NoError(t, err)
	assert.True(t, again.Nothing)
	assert.Equal(t, []string{"Continued"}, rec.take(), "a finished run is not claimed")
}

func TestTheLogsOfARunGoWhereTheRequestSays(t *testing.T) {
	t.Parallel()
	d, _, _ := newDesk(t, `{name: flow, tasks: [{id: one, run: "echo hello >&2; echo '{}'"}]}`)
	var log strings.Builder
	_, err := d.Run(t.Context(), app.RunRequest{Workflow: "flow.yaml", RunID: "a", Settings: app.Settings{
		Logs: func(run string) io.Writer { fmt.Fprintf(&log, "%s: ", run); return &log },
	}})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(log.String(), "a: "), log.String())
	assert.Contains(t, log.String(), "one| hello\n")
}

func TestARunThatWaitsIsResumedWithConsent(t *testing.T) {
	t.Parallel()
	d, rec, repo := newDesk(t, waits)
	done, err := run(t, d)
	require.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	require.Len(t, done.Waiting, 1)
	approve(t, d)
	require.NoError(t, os.RemoveAll(d.Folder.Path(".git/smithers/trusted")))
	rec.take()

	_, err = d.Resume(t.Context(), app.ResumeRequest{Run: "a"})
	assert.Equal(t, fault.Unconfirmed, fault.CodeOf(err), "nobody can be asked")
	assert.Empty(t, rec.take())

	asked := 0
	req := app.ResumeRequest{Run: "a", Restore: true, Settings: app.Settings{Consent: func(of app.Commands) error {
		asked++
		assert.Equal(t, []string{"one: echo 1 >one; echo '{}'", "two: echo 2 >two; echo '{}'"}, of.Lines())
		return nil
	}}}
	repo.Write("one", "edited")
	resumed, err := d.Resume(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, 1, asked)
	assert.Equal(t, snapshot.RunFinished, resumed.Run.Status)
	require.Len(t, resumed.Restored, 1)
	assert.Equal(t, "1\n", read(t, d, "one"))
	assert.NotNil(t, app.FrameBefore(resumed.Restored[0]), "what was edited is saved")
	assert.Equal(t, []string{"Continued", "tasks of flow", "BroughtBack", "left"}, rec.take())
}

func TestAFrameIsReplayed(t *testing.T) {
	t.Parallel()
	d, rec, _ := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	again := app.RealFolder(filepath.Join(t.TempDir(), "again"))
	done, err := d.Replay(t.Context(), app.ReplayRequest{From: "a:2", RestoreVCS: true, To: again, Resets: app.Resets{Label: "second"}})
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, done.Run.Status)
	assert.Equal(t, "a", done.Run.Parent.RunID)
	assert.Equal(t, "second", done.Run.Parent.Label)
	assert.Equal(t, again, done.Made.WorkingCopy.Root())
	assert.Equal(t, "2\n", read(t, d, filepath.Join(again, "two")))
	assert.Equal(t, []string{string(app.CheckingOut), "CheckedOut", "Forked", "tasks of flow", "left"}, rec.take())
}

func TestAForkIsMadeAndRunsNothing(t *testing.T) {
	t.Parallel()
	d, rec, _ := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	made, err := d.Fork(t.Context(), app.ForkRequest{From: "a:2", RunID: "b", Description: "why not"})
	require.NoError(t, err)
	assert.Equal(t, "b", made.Head.Row().ID)
	assert.Equal(t, timeline.Address{Run: "a", Frame: 2}, made.From.Address)
	assert.Empty(t, rec.take())
	next, err := app.NextCommand(made.Head, " continues it")
	require.NoError(t, err)
	assert.Equal(t, "`git smithers resume b` continues it", next)
}

func TestARunGoesBackAndOn(t *testing.T) {
	t.Parallel()
	d, rec, repo := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	gone, err := d.Travel(t.Context(), app.TravelRequest{
		Request: travel.Request{Run: "a", Node: "two"}, Sequel: app.Sequel{Resume: true},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"two::0"}, gone.Reset)
	assert.Equal(t, snapshot.RunFinished, gone.Resumed.Run.Status)
	assert.Equal(t, []string{string(app.GoingBack), "WentBack", "Continued", "tasks of flow", "left"}, rec.take())

	gone, err = d.Reset(t.Context(), app.ResetRequest{ResetRequest: travel.ResetRequest{Run: "a"}})
	require.NoError(t, err)
	assert.Nil(t, gone.Resumed)
	undone, err := d.Undo(t.Context(), travel.UndoRequest{Run: "a"})
	require.NoError(t, err)
	assert.Equal(t, gone.Op.Number, undone.Undone.Number)

	repo.Write("two", "edited")
	back, err := d.Restore(t.Context(), files.RestoreRequest{From: "a"})
	require.NoError(t, err)
	assert.Equal(t, "2\n", read(t, d, "two"))
	assert.Equal(t, back.Saved, app.FrameBefore(back))
	_, err = d.Revert(t.Context(), files.RevertRequest{Run: "a", Node: "one"})
	require.NoError(t, err)
	assert.NoFileExists(t, d.Folder.Path("two"))
}

func TestASupervisorReportsWhatItDoes(t *testing.T) {
	t.Parallel()
	d, rec, _ := newDesk(t, waits)
	_, err := run(t, d)
	require.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	approve(t, d)
	rec.take()
	var actions []app.SupervisorAction
	err = d.Supervise(t.Context(), app.SuperviseRequest{
		Once: true, Interval: time.Second, MaxRuns: 1,
		Report: func(did app.SupervisorReport) error {
			assert.Equal(t, "a", did.Run)
			actions = append(actions, did.Action)
			return nil
		},
	})
	require.NoError(t, err)
	assert.Equal(t, []app.SupervisorAction{app.RunResumed, app.RunEnded}, actions)
	assert.Contains(t, rec.take(), "Frame")
}

func TestSmithersThatCannotBeStartedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	d, rec, repo := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	repo.Write("flow.tsx", "export default 1")
	before := repo.Git("for-each-ref", "refs/smithers/_tip")
	_, err = d.ReplayWithSmithers(t.Context(), app.SmithersReplayRequest{From: "a", Workflow: "flow.tsx", Command: "./none"})
	assert.Equal(t, fault.EngineMissing, fault.CodeOf(err))
	assert.Equal(t, before, repo.Git("for-each-ref", "refs/smithers/_tip"))
	assert.Empty(t, rec.take())
}

func TestAFolderToCheckOutIsRelativeToTheCaller(t *testing.T) {
	t.Parallel()
	d, rec, repo := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	made, err := d.CheckOut(t.Context(), files.CheckoutRequest{From: "a:2", Dir: filepath.Join("..", "there")})
	require.NoError(t, err)
	assert.Equal(t, timeline.Address{Run: "a", Frame: 2}, made.From)
	assert.Equal(t, app.RealFolder(filepath.Join(repo.Dir, "..", "there")), app.RealFolder(made.WorkingCopy.Root()))
	assert.Equal(t, "1\n", read(t, d, filepath.Join(made.WorkingCopy.Root(), "one")))
	assert.NoFileExists(t, filepath.Join(made.WorkingCopy.Root(), "two"))
	assert.Equal(t, "2\n", read(t, d, "two"), "the files of the folder stay")
	assert.Equal(t, []string{string(app.CheckingOut)}, rec.take())

	_, err = d.CheckOut(t.Context(), files.CheckoutRequest{From: "a:9", Dir: "nowhere"})
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err))
	assert.NoDirExists(t, d.Folder.Path("nowhere"))
	assert.Equal(t, []string{string(app.CheckingOut)}, rec.take())
}

func TestRunsAreExportedWithTheirProgress(t *testing.T) {
	t.Parallel()
	d, rec, repo := newDesk(t, twoSteps)
	_, err := run(t, d)
	require.NoError(t, err)
	rec.take()
	req := smithers.ExportRequest{Runs: []string{"a"}, To: d.Folder.Path("smithers.db"), Root: repo.Dir}
	exported, err := d.Export(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, exported.Runs, 1)
	assert.Equal(t, "a", exported.Runs[0].RunID)
	assert.FileExists(t, d.Folder.Path("smithers.db"))
	assert.Equal(t, []string{string(app.ExportingFrames), string(app.OpeningDatabase)}, rec.take())

	req.Runs = []string{"none"}
	_, err = d.Export(t.Context(), req)
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}

func TestACancelledRunContinues(t *testing.T) {
	t.Parallel()
	d, _, _ := newDesk(t, waits)
	_, err := run(t, d)
	require.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	head, err := d.Cancel(t.Context(), "a", "Ada")
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunCancelled, head.Row().Status)
	_, err = d.Resume(t.Context(), app.ResumeRequest{Run: "a"})
	assert.Equal(t, fault.RunWaiting, fault.CodeOf(err))
	approve(t, d)
	_, err = d.Cancel(t.Context(), "none", "")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}
