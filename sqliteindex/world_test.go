package sqliteindex_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// childVariable makes the test binary sync the repository in its value and end;
// with rebuildVariable set it rebuilds the index instead, with detailsVariable set it
// asks for details as well.
const (
	childVariable   = "SQLITEINDEX_TEST_REPOSITORY"
	rebuildVariable = "SQLITEINDEX_TEST_REBUILD"
	detailsVariable = "SQLITEINDEX_TEST_DETAILS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// child is another process: it brings the index of a repository up to date a few
// times and prints what it holds as JSON.
func child(gitDir string) (err error) {
	ctx := context.Background()
	w, err := openWorld(gitDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	x, err := sqliteindex.Open(ctx, w.options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for range 5 {
		if os.Getenv(rebuildVariable) != "" {
			_, err = x.Rebuild(ctx, nil)
		} else {
			err = x.Sync(ctx)
		}
		if err != nil {
			return err
		}
	}
	got, err := dump(ctx, x)
	if err != nil {
		return err
	}
	out := report{Index: got, Degraded: x.Degraded() != nil, Problems: fmt.Sprint(x.Problems())}
	if os.Getenv(detailsVariable) != "" {
		if err := out.addDetails(ctx, x); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// report is what child prints.
type report struct {
	Index    contents
	Degraded bool
	Problems string

	Nodes           any // how many there are
	DetailsDegraded bool
}

func (r *report) addDetails(ctx context.Context, x *sqliteindex.Index) error {
	if err := x.SyncDetails(ctx); err != nil {
		return err
	}
	answer, err := x.Query(ctx, "SELECT count(*) FROM _smithers_nodes")
	if err != nil {
		return err
	}
	r.Nodes, r.DetailsDegraded = answer.Rows[0][0], x.Degraded() != nil
	return nil
}

// world is a repository with runs in it.
type world struct {
	*repotest.Repo

	gitDir  string
	objects *objstore.Store
	refs    *refs.DB
	clock   int64
	quick   bool // refs are written as git writes them, but not by git
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	repo := repotest.New(tb, repotest.Bare)
	w, err := openWorld(repo.GitDir)
	require.NoError(tb, err)
	w.Repo = repo
	tb.Cleanup(func() { require.NoError(tb, w.close()) })
	return w
}

func openWorld(gitDir string) (*world, error) {
	objects, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repotest.ObjectFormat()),
		ObjectsDir: filepath.Join(gitDir, "objects"),
		TempDir:    filepath.Join(gitDir, "smithers", "tmp"),
		Fsync:      objstore.Relaxed,
	})
	if err != nil {
		return nil, err
	}
	db, err := refs.Open(refs.Options{Repo: gitexec.Repo{
		GitDir: gitDir, CommonDir: gitDir, ObjectFormat: repotest.ObjectFormat(), RefFormat: repotest.RefFormat(),
	}})
	if err != nil {
		return nil, errors.Join(err, objects.Close())
	}
	return &world{gitDir: gitDir, objects: objects, refs: db, clock: 1_700_000_000_000}, nil
}

func (w *world) close() error { return errors.Join(w.refs.Close(), w.objects.Close()) }

func (w *world) options() sqliteindex.Options {
	return sqliteindex.Options{Path: w.indexPath(), Refs: w.refs, Objects: w.objects}
}

func (w *world) indexPath() string { return filepath.Join(w.gitDir, "smithers", "index.db") }

// index opens the repository's index.
func (w *world) index(tb testing.TB) *sqliteindex.Index {
	tb.Helper()
	return w.indexAt(tb, w.indexPath())
}

// indexAt opens another index of the same repository.
func (w *world) indexAt(tb testing.TB, path string) *sqliteindex.Index {
	tb.Helper()
	opts := w.options()
	opts.Path = path
	x, err := sqliteindex.Open(context.Background(), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, x.Close()) })
	return x
}

// write appends an entry to prev (nil: a new run) without moving a ref.
func (w *world) write(tb testing.TB, prev *snapshot.Entry, drafts ...snapshot.Draft) *snapshot.Entry {
	tb.Helper()
	batch := w.objects.Begin()
	for _, draft := range drafts {
		w.clock += 1500
		draft.AtMs = w.clock
		e, err := snapshot.Append(batch, snapshot.NewFrameCache(8), prev, draft)
		require.NoError(tb, err)
		prev = e
	}
	require.NoError(tb, batch.Commit(context.Background(), func() error { return nil }))
	e, err := snapshot.ReadEntry(w.objects, prev.ID)
	require.NoError(tb, err)
	return e
}

// start makes a run of the given number of frames, and its tip.
func (w *world) start(tb testing.TB, run string, frames int) *snapshot.Entry {
	tb.Helper()
	drafts := []snapshot.Draft{w.first(run)}
	for range frames - 1 {
		drafts = append(drafts, frameDraft())
	}
	e := w.write(tb, nil, drafts...)
	w.setTip(tb, run, e.ID)
	return e
}

func (w *world) first(run string) snapshot.Draft {
	at := w.clock
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "run started", Run: func(r *snapshot.Run) {
		*r = snapshot.Run{
			ID: run, Workflow: "triage", WorkflowPath: "flows/triage.yaml", WorkflowHash: "abc",
			Status: snapshot.RunRunning, CreatedAtMs: at, StartedAtMs: &at,
		}
	}}
}

// fork makes child, forked from the given frame of the run that parent describes.
func (w *world) fork(tb testing.TB, child string, from snapshot.Parent, point *snapshot.Entry, state bool) *snapshot.Entry {
	tb.Helper()
	from.Commit, from.AtMs = point.ID, w.clock
	draft := snapshot.Draft{Subject: "forked", Run: func(r *snapshot.Run) {
		r.ID, r.Parent, r.Status, r.NextSeq, r.Frame = child, &from, snapshot.RunPending, 0, 0
		r.CreatedAtMs, r.StartedAtMs, r.FinishedAtMs = w.clock, nil, nil
	}}
	if state {
		draft.Frame = &snapshot.FrameDraft{Silent: true, State: []snapshot.Change{{Op: "set", Collection: "input", Value: json.RawMessage(strconv.FormatInt(w.clock, 10))}}}
	}
	e := w.write(tb, point, draft)
	w.setTip(tb, child, e.ID)
	return e
}

// setTip moves a run's tip by plain git, wherever it is.
func (w *world) setTip(tb testing.TB, run string, id objstore.ID) {
	tb.Helper()
	name, err := refs.Tip(run)
	require.NoError(tb, err)
	if w.quick && repotest.RefFormat() == "files" {
		path := filepath.Join(w.gitDir, string(name))
		writeFile(tb, path+".lock", id.String()+"\n")
		require.NoError(tb, os.Rename(path+".lock", path))
		return
	}
	w.git(tb, "update-ref", string(name), id.String())
}

// dropTip deletes a run's tip by plain git.
func (w *world) dropTip(tb testing.TB, run string) {
	tb.Helper()
	name, err := refs.Tip(run)
	require.NoError(tb, err)
	if w.quick && repotest.RefFormat() == "files" {
		require.NoError(tb, os.Remove(filepath.Join(w.gitDir, string(name))))
		return
	}
	w.git(tb, "update-ref", "-d", string(name))
}

func (w *world) git(tb testing.TB, args ...string) {
	tb.Helper()
	_, err := w.GitErr(args...)
	require.NoError(tb, err)
}

func frameDraft() snapshot.Draft {
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "a frame", VCS: &snapshot.VCS{
		Type: "git", CommitID: "0123456789012345678901234567890123456789",
	}}
}

func eventDraft(status snapshot.RunStatus) snapshot.Draft {
	return snapshot.Draft{
		Subject: "an event",
		Events:  []snapshot.Event{{Type: "RunStatusChanged", Payload: json.RawMessage(`{}`)}},
		Run:     func(r *snapshot.Run) { r.Status = status },
	}
}

// contents is everything that an index answers.
type contents struct {
	Counts   sqliteindex.Counts
	Runs     []sqliteindex.RunRow
	Frames   map[string][]sqliteindex.FrameRow
	Children map[string][]sqliteindex.RunRow
}

func dump(ctx context.Context, x *sqliteindex.Index) (c contents, err error) {
	c.Frames, c.Children = map[string][]sqliteindex.FrameRow{}, map[string][]sqliteindex.RunRow{}
	if c.Runs, err = x.Runs(ctx); err != nil {
		return c, err
	}
	for _, r := range c.Runs {
		if c.Frames[r.RunID], err = x.Frames(ctx, r.RunID); err != nil {
			return c, err
		}
		if c.Children[r.RunID], err = x.Children(ctx, r.RunID); err != nil {
			return c, err
		}
	}
	c.Counts, err = x.Counts(ctx)
	return c, err
}

// synced is what an index answers once it is up to date.
func synced(tb testing.TB, x *sqliteindex.Index) contents {
	tb.Helper()
	require.NoError(tb, x.Sync(context.Background()))
	c, err := dump(context.Background(), x)
	require.NoError(tb, err)
	return c
}

// truth is what an index answers that was rebuilt from the refs a moment ago.
func (w *world) truth(tb testing.TB) contents {
	tb.Helper()
	opts := w.options()
	opts.Path = filepath.Join(tb.TempDir(), "truth.db")
	x, err := sqliteindex.Open(context.Background(), opts)
	require.NoError(tb, err)
	_, err = x.Rebuild(context.Background(), nil)
	require.NoError(tb, err)
	c, err := dump(context.Background(), x)
	require.NoError(tb, err)
	require.NoError(tb, x.Close())
	return c
}

// process is another process that syncs this repository; it has not been started.
func (w *world) process(ctx context.Context, tb testing.TB) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(w.Env, childVariable+"="+w.gitDir)
	cmd.Stderr = os.Stderr
	return cmd
}

func hash(e *snapshot.Entry) string { return hex.EncodeToString(e.ContentHash[:]) }
