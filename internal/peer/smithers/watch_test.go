package smithers_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	patience = 2 * time.Minute // only a failure takes so long
	often    = 2 * time.Millisecond
)

// source is a database that a test's engine takes what it writes from.
func fixturePath(name string) string {
	return filepath.Join("..", "..", "..", "testdata", "smithers", name)
}

const (
	oneRun   = "jj-pristine-31frames.db" // run-j
	manyRuns = "git-run-fork-replay.db"  // run-a, and forks of it
)

// site is a repository, in whose working copy an engine and a watch are at work.
type site struct {
	*repotest.Repo
	t        *testing.T
	store    *timeline.Store
	database string
	every    time.Duration // 0: often

	mu       sync.Mutex
	warnings []string
	reports  []smithers.ImportedRun
	waiting  bool
}

func newSite(t *testing.T) *site {
	t.Helper()
	at := &site{Repo: repotest.New(t, repotest.Commit), t: t}
	at.database = filepath.Join(at.Dir, "smithers.db")
	at.store = at.open()
	t.Cleanup(func() {
		report, err := verify.Runs(context.Background(), at.store)
		require.NoError(t, err)
		assert.Empty(t, report.Problems)
		require.NoError(t, at.store.Close())
	})
	return at
}

// open opens the repository, as another process would.
func (at *site) open() *timeline.Store {
	at.t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: at.Dir, Env: at.Env, Now: time.Now, Warn: func(err error) {
			at.mu.Lock()
			defer at.mu.Unlock()
			at.warnings = append(at.warnings, err.Error())
		},
	})
	require.NoError(at.t, err)
	return s
}

// watch watches the database until stop is called, which waits for it.
func (at *site) watch(runs ...string) (stop func()) {
	at.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	at.waiting = false
	go func() {
		ended <- smithers.Watch(ctx, at.store, at.database, smithers.WatchRequest{
			Runs: runs, Every: cmp.Or(at.every, 5*time.Millisecond),
			Report: func(i *smithers.ImportResult) {
				at.mu.Lock()
				defer at.mu.Unlock()
				at.reports = append(at.reports, i.Runs...)
			},
			Waiting: func() {
				at.mu.Lock()
				defer at.mu.Unlock()
				at.waiting = true
			},
		})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(at.t, <-ended)
		})
	}
	at.t.Cleanup(stop)
	at.await("it to wait", func() bool { return at.waiting })
	return stop
}

// await waits until what the watch said is as is tells.
func (at *site) await(what string, is func() bool) {
	at.t.Helper()
	require.Eventually(at.t, func() bool {
		at.mu.Lock()
		defer at.mu.Unlock()
		return is()
	}, patience, often, what)
}

// arrived waits until a frame of a run is imported.
func (at *site) arrived(run string, frame int64) {
	at.t.Helper()
	at.await(run+":"+strconv.FormatInt(frame, 10), func() bool { return at.has(run, frame) })
}

// has reports whether a frame of a run was reported. The caller holds the lock.
func (at *site) has(run string, frame int64) bool {
	return slices.ContainsFunc(at.reports, func(r smithers.ImportedRun) bool {
		return r.RunID == run && r.Err == nil && r.Frame >= frame
	})
}

func (at *site) hasReported(run string, frame int64) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.has(run, frame)
}

// engine begins to write the database.
func (at *site) engine() *sourcetest.Engine {
	at.t.Helper()
	engine, err := sourcetest.Begin(context.Background(), at.source(), at.database)
	require.NoError(at.t, err)
	at.t.Cleanup(func() { require.NoError(at.t, engine.Close()) })
	return engine
}

// source is a database in which run-a and its forks were executed here.
func (at *site) source() string {
	at.t.Helper()
	content, err := os.ReadFile(fixturePath(manyRuns))
	require.NoError(at.t, err)
	here := filepath.Join(at.t.TempDir(), "source.db")
	require.NoError(at.t, os.WriteFile(here, content, 0o600))
	require.NoError(at.t, sourcetest.Exec(context.Background(), here, strings.ReplaceAll(`
		UPDATE _smithers_runs SET vcs_root = '@root', workflow_path = replace(workflow_path, '/home/dev/project', '@root'),
			config_json = replace(config_json, '/home/dev/project', '@root');
		UPDATE _smithers_attempts SET jj_cwd = '@root' WHERE jj_cwd IS NOT NULL;`, "@root", at.Dir)))
	return here
}

// step commits a frame, after whatever its tasks have made of the files.
func (at *site) step(engine *sourcetest.Engine, run string, frame int64, files string) {
	at.t.Helper()
	at.Write("draft.md", files)
	require.NoError(at.t, engine.Frame(context.Background(), run, frame))
}

// draft is the file that tasks write, as a frame of run-a has it; "" for none.
func (at *site) draft(frame int64) string {
	at.t.Helper()
	out, err := at.GitErr("show", "refs/smithers/run-a/"+strconv.FormatInt(frame, 10)+":worktree/draft.md")
	if err != nil {
		return ""
	}
	return out
}

// status is that of run-a.
func (at *site) status() snapshot.RunStatus {
	at.t.Helper()
	head, err := at.store.Head(context.Background(), "run-a")
	require.NoError(at.t, err)
	return head.Row().Status
}

func TestAWatchCapturesEachFrameWithTheFilesOfThatMoment(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	stop := at.watch()
	engine := at.engine()
	for frame := int64(1); frame <= 4; frame++ {
		at.step(engine, "run-a", frame, "frame "+strconv.FormatInt(frame, 10))
		at.arrived("run-a", frame)
	}
	assert.Equal(t, snapshot.RunRunning, at.status())
	require.NoError(t, engine.End(t.Context(), "run-a"))
	stop()
	assert.Equal(t, snapshot.RunFinished, at.status(), "what came last is there, too")
	for frame := int64(1); frame <= 4; frame++ {
		assert.Equal(t, "frame "+strconv.FormatInt(frame, 10), at.draft(frame))
	}
	_, err := at.GitErr("cat-file", "-e", "refs/smithers/run-a/4:worktree/smithers.db")
	assert.Error(t, err, "the database is no part of the working copy")
	plan := at.attempt("run-a", "plan")
	assert.EqualValues(t, 2, *plan.Frame, "the first one since it ended")
	assert.Equal(t, at.Git("rev-parse", "refs/smithers/run-a/2:worktree"), plan.Tree.String())
	assert.NotContains(t, strings.Join(at.warnings, "\n"), "files", "all are captured")
}

// attempt is the first attempt of a node, as the run's newest entry has it.
func (at *site) attempt(run, node string) snapshot.Attempt {
	at.t.Helper()
	head, err := at.store.Head(context.Background(), run)
	require.NoError(at.t, err)
	rows, err := head.Entry().Attempts()
	require.NoError(at.t, err)
	value, ok, err := rows.Get(snapshot.AttemptKey(node, 0, 1))
	require.NoError(at.t, err)
	require.True(at.t, ok)
	a, err := snapshot.DecodeAttempt(page.Row{Key: snapshot.AttemptKey(node, 0, 1), Value: value})
	require.NoError(at.t, err)
	return a
}

func TestAWatchThatIsStartedAgainCatchesUp(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	at.step(engine, "run-a", 1, "one")
	stop := at.watch()
	at.arrived("run-a", 1)
	assert.Empty(t, at.draft(1), "the files may be of later")
	at.step(engine, "run-a", 2, "two")
	at.arrived("run-a", 2)
	stop()
	at.step(engine, "run-a", 3, "three")
	at.step(engine, "run-a", 4, "four")
	at.watch()
	at.arrived("run-a", 4)
	at.step(engine, "run-a", 5, "five")
	at.arrived("run-a", 5)
	assert.Equal(t, []string{"two", "two", "two", "five"},
		[]string{at.draft(2), at.draft(3), at.draft(4), at.draft(5)},
		"nobody knows what the files were meanwhile")
}

func TestAWatchThatIsStoppedImportsWhatThereIsByThen(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.every = time.Hour
	engine := at.engine()
	at.step(engine, "run-a", 1, "one")
	stop := at.watch()
	require.NoError(t, engine.Exec(t.Context(), "UPDATE _smithers_runs SET status = 'failed' WHERE run_id = 'run-a'"))
	stop()
	assert.Equal(t, snapshot.RunFailed, at.status(), "although it is no new frame")
}

func TestAWatchThatIsStoppedWhileItImportsTakesWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	require.NoError(t, engine.Frame(t.Context(), "run-a", 1))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := smithers.Watch(ctx, at.store, at.database, smithers.WatchRequest{Report: func(*smithers.ImportResult) {
		if ctx.Err() == nil {
			assert.NoError(t, engine.End(context.WithoutCancel(ctx), "run-a"))
			stop()
		}
	}, Waiting: func() { assert.Fail(t, "stopped before there was nothing to do") }})
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, at.status())
}

func TestAWatchFollowsSeveralRunsOrThoseThatAreNamed(t *testing.T) {
	t.Parallel()
	const fork = "8805e8f3-364c-48f2-a529-c256b52b3593"
	for _, runs := range [][]string{nil, {"not there", fork}} {
		t.Run(strconv.Itoa(len(runs)), func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			engine := at.engine()
			at.watch(runs...)
			at.step(engine, "run-a", 1, "a1")
			at.step(engine, "run-a", 2, "a2")
			at.step(engine, "run-a", 3, "a3")
			if runs == nil {
				at.arrived("run-a", 3)
			}
			for frame := range int64(3) {
				at.step(engine, fork, frame, "b")
				at.arrived(fork, frame)
			}
			at.step(engine, "run-a", 4, "a4")
			at.step(engine, fork, 3, "b")
			at.arrived(fork, 3)
			assert.NotEmpty(t, at.status(), "the fork needs it")
		})
	}
}

func TestAWatchGoesOnWithADatabaseThatIsPutInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	require.NoError(t, os.WriteFile(at.database, nil, 0o600)) // an engine that has just made the file
	at.watch()
	content, err := os.ReadFile(fixturePath(oneRun))
	require.NoError(t, err)
	at.replace(content)
	at.arrived("run-j", 31)
	at.replace([]byte("no database, and long enough that this is no file that is being made: " + strings.Repeat("x", 100)))
	at.await("a warning", func() bool { return len(at.warnings) > 0 })
	if content, err = os.ReadFile(fixturePath(manyRuns)); err != nil {
		t.Fatal(err)
	}
	at.replace(content)
	at.arrived("run-a", 31)
}

func TestAnEarlierCopyOfTheDatabaseIsNamedAndTakesNothingBack(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	at.watch()
	for frame := int64(1); frame <= 3; frame++ {
		require.NoError(t, engine.Frame(t.Context(), "run-a", frame))
	}
	at.arrived("run-a", 3)
	require.NoError(t, engine.End(t.Context(), "run-a"))
	at.arrived("run-a", 31)
	require.NoError(t, engine.Close())
	require.Eventually(t, func() bool { // its log is taken away by whoever reads last
		_, err := os.Stat(at.database + "-wal")
		if err == nil {
			_ = sourcetest.Exec(context.Background(), at.database, "PRAGMA wal_checkpoint") // closing it is what counts
		}
		return os.IsNotExist(err)
	}, patience, often)
	earlier := filepath.Join(t.TempDir(), "earlier.db")
	again, err := sourcetest.Begin(t.Context(), fixturePath(manyRuns), earlier)
	require.NoError(t, err)
	require.NoError(t, again.Frame(t.Context(), "run-a", 1))
	require.NoError(t, again.Close())
	content, err := os.ReadFile(earlier)
	require.NoError(t, err)
	at.replace(content)
	at.await("a word about it", func() bool {
		last := at.reports[len(at.reports)-1]
		return last.RunID == "run-a" && last.Outcome == smithers.OutcomeRefused && fault.CodeOf(last.Err) == fault.ImportRefused
	})
}

// replace puts another file in place of the database.
func (at *site) replace(content []byte) {
	at.t.Helper()
	other := filepath.Join(at.t.TempDir(), "other.db")
	require.NoError(at.t, os.WriteFile(other, content, 0o600))
	require.NoError(at.t, os.Rename(other, at.database))
}

func TestAWatchOfWhatIsNoDatabaseIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.Write("smithers.db", strings.Repeat("no database\n", 100))
	err := smithers.Watch(t.Context(), at.store, at.database, smithers.WatchRequest{})
	assert.Equal(t, fault.InvalidDatabase, fault.CodeOf(err))
}

func TestARunThatCannotBeImportedIsNamedOnce(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	_, err := at.store.Create(t.Context(), snapshot.Run{ID: "run-a", Workflow: "another", Status: snapshot.RunFinished}, snapshot.Draft{})
	require.NoError(t, err)
	engine := at.engine()
	stop := at.watch()
	const fork = "8805e8f3-364c-48f2-a529-c256b52b3593"
	for frame := int64(1); frame <= 3; frame++ {
		at.step(engine, "run-a", frame, "files")
	}
	at.await("the run is refused", func() bool { return len(at.reports) > 0 })
	require.NoError(t, engine.Exec(t.Context(), `CREATE TABLE more (run_id TEXT)`))
	require.NoError(t, engine.End(t.Context(), "run-a"))
	require.NoError(t, engine.Frame(t.Context(), fork, 0))
	at.await("the fork", func() bool { return at.reports[len(at.reports)-1].RunID == fork })
	stop()
	var refused []fault.Code
	for _, run := range at.reports {
		if run.RunID == "run-a" {
			refused = append(refused, fault.CodeOf(run.Err))
		}
	}
	assert.Equal(t, []fault.Code{fault.RunExists}, refused)
}

func TestADatabaseThatStaysWithoutTablesOfSmithersIsNamed(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	require.NoError(t, sourcetest.Exec(t.Context(), at.database, "CREATE TABLE other (id INTEGER)"))
	stop := at.watch()
	at.await("a warning", func() bool { return len(at.warnings) > 0 })
	stop()
	assert.Contains(t, at.warnings[0], "has no tables of Smithers")
}

func TestTwoWatchesOfOneDatabaseAgree(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	engine := at.engine()
	stop := at.watch()
	second := &site{Repo: at.Repo, t: t, database: at.database}
	second.store = second.open()
	t.Cleanup(func() { require.NoError(t, second.store.Close()) })
	stopSecond := second.watch()
	for frame := int64(1); frame <= 4; frame++ {
		at.step(engine, "run-a", frame, "files")
	}
	require.NoError(t, engine.End(t.Context(), "run-a"))
	require.Eventually(t, func() bool { return at.hasReported("run-a", 31) || second.hasReported("run-a", 31) }, patience, often)
	stop()
	stopSecond()
	assert.Equal(t, snapshot.RunFinished, at.status())
	for _, one := range []*site{at, second} {
		for _, run := range one.reports {
			assert.NoError(t, run.Err)
			assert.False(t, run.Rewound, "nobody went back: one watch was only faster")
		}
	}
}

func TestAnImportHasTheFilesOfTheCommitsThatJJKeeps(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	// The revisions of the fixture's run, in their order, each with files of its own.
	pointers := []string{
		"e82a5c611916f3d6d9da442fdf6d0074d2c9c6b0", // when its process started
		"09dcc6eb7ab0e8763c1a0e3ace4a33e232559915", // plan
		"8a40ef1eaec31201b071205345375b801772cfc0", // flaky
		"d4fda1c405ee99c5ad68ba11a749496b98034576", // write, and when its process started again
	}
	database := filepath.Join(repo.Dir, "..", "smithers.db")
	content, err := os.ReadFile(fixturePath(oneRun))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(database, content, 0o600))
	trees, commits := make(map[string]string), make(map[string]string)
	for _, pointer := range pointers {
		repo.Write("draft.md", pointer)
		commit := repo.JJ("log", "-r@", "--no-graph", "-T", "commit_id")
		commits[pointer] = commit
		trees[pointer] = repo.Git("rev-parse", commit+"^{tree}")
		require.NoError(t, sourcetest.Exec(t.Context(), database, strings.NewReplacer("@old", pointer, "@new", commit).Replace(`
			UPDATE _smithers_snapshots SET vcs_pointer = '@new' WHERE vcs_pointer = '@old';
			UPDATE _smithers_attempts SET jj_pointer = '@new' WHERE jj_pointer = '@old'`)))
	}
	at := &site{Repo: repo, t: t, database: database}
	at.store = at.open()
	t.Cleanup(func() { require.NoError(t, at.store.Close()) })
	imported, err := smithers.Import(t.Context(), at.store, database, smithers.ImportRequest{})
	require.NoError(t, err)
	require.NoError(t, imported.Runs[0].Err)
	files := func(frame string) string {
		out, err := repo.GitErr("rev-parse", "--verify", "--quiet", "refs/smithers/run-j/"+frame+":worktree")
		if err != nil {
			return "none"
		}
		return out
	}
	assert.Equal(t, trees[pointers[0]], files("1"), "when the process started")
	assert.Equal(t, trees[pointers[1]], files("2"), "plan has ended")
	assert.Equal(t, trees[pointers[2]], files("3"), "flaky has ended")
	assert.Equal(t, "none", files("7"), "the commit that p1 left is not here")
	assert.Equal(t, trees[pointers[3]], files("15"), "the process has started again")
	plan := at.attempt("run-j", "plan")
	assert.Equal(t, trees[pointers[1]], plan.Tree.String())
	assert.EqualValues(t, 2, *plan.Frame)
	assert.Empty(t, at.attempt("run-j", "p1").Frame)

	repo.JJ("abandon", "--quiet", "@")
	repo.JJ("op", "abandon", "--quiet", "..@-")
	repo.JJ("util", "gc", "--quiet", "--expire=now")
	repo.Git("gc", "--quiet", "--prune=now")
	_, err = repo.GitErr("cat-file", "-e", commits[pointers[1]])
	require.Error(t, err)
	report, err := verify.Runs(t.Context(), at.store)
	require.NoError(t, err)
	assert.Empty(t, report.Problems, "its files stay although jj has forgotten them")
	assert.Equal(t, pointers[1], repo.Git("show", "refs/smithers/run-j/2:worktree/draft.md"))
}
