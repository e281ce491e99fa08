package timeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/internal/writeahead"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// logPoints are the failpoints of logged entries and of their publication.
var logPoints = []string{"journal-gate", "journal-written", "journal-synced", "publish-packed", "publish-moved", "publish-hint"}

// openLogging opens the history for a process that logs entries. What it warns of ends up in warnings, if that is not nil.
func openLogging(t testing.TB, repo *repotest.Repo, warnings *[]string, change ...func(*timeline.Options)) *timeline.Store {
	t.Helper()
	opts := timeline.Options{
		Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_JOURNAL=1"), Now: clock(), Log: true,
		Warn: func(err error) {
			if warnings == nil {
				t.Logf("warning: %v", err)
			} else {
				*warnings = append(*warnings, err.Error())
			}
		},
	}
	for _, f := range change {
		f(&opts)
	}
	s, err := timeline.Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		requireHealthy(t, repo)
	})
	return s
}

// logFrames begins the run "run", whose first frame moves refs, and logs more frames.
func logFrames(t testing.TB, s *timeline.Store, more int) *timeline.Head {
	t.Helper()
	head, err := s.Create(context.Background(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	for i := range more {
		logFrame(t, head, i)
	}
	return head
}

func logFrame(t testing.TB, head *timeline.Head, i int) {
	t.Helper()
	draft := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}
	require.NoError(t, head.Append(context.Background(), draft))
}

// logFiles returns the paths of all logs.
func logFiles(t testing.TB, repo *repotest.Repo) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(repo.GitDir, "smithers", "wal", "*"))
	require.NoError(t, err)
	return paths
}

// tipInGit returns the value of the run's tip as git sees it.
func tipInGit(repo *repotest.Repo) string {
	return repo.Git("rev-parse", "refs/smithers/_tip/run")
}

func TestLoggedEntriesAreReadByTheirProcessBeforeARefHasThem(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 1)
	first := tipInGit(repo)
	logFrame(t, head, 7)
	if tipInGit(repo) != first {
		t.Skip("the machine was so slow that the entries were published meanwhile")
	}
	require.Len(t, logFiles(t, repo), 1)

	other := headOf(t, s, "run")
	assert.Equal(t, head.Entry().ID, other.Entry().ID, "another head of the process has the newest entry")
	loaded, err := s.Load(t.Context(), "run:2")
	require.NoError(t, err)
	assert.Equal(t, head.Entry().ID, loaded.Entry.ID)
	assert.Equal(t, head.Entry().ID.String(), tipInGit(repo), "the look by address has published it")
}

func TestLoggedEntriesArePublishedByThemselves(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 5)
	assert.Eventually(t, func() bool { return tipInGit(repo) == head.Entry().ID.String() }, 10*time.Second, 10*time.Millisecond)
	assert.Eventually(t, func() bool {
		return strings.Count(repo.Git("for-each-ref", "refs/smithers/run"), "\n")+1 == 6
	}, 10*time.Second, 10*time.Millisecond, "when the process is idle, each frame gets its ref")
}

func TestAnotherProcessSeesLoggedEntriesWhenItOpensTheHistory(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 3)
	there := headOf(t, open(t, repo), "run")
	assert.Equal(t, head.Entry().ID, there.Entry().ID)
	logFrame(t, head, 9)
	assert.Len(t, logFiles(t, repo), 1)
}

func TestAClosedHistoryLeavesNoLog(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 3)
	require.NoError(t, s.Close())
	assert.Empty(t, logFiles(t, repo))
	assert.Equal(t, head.Entry().ID.String(), tipInGit(repo))
	assert.Len(t, strings.Split(repo.Git("for-each-ref", "refs/smithers/run"), "\n"), 4)
}

func TestAProcessThatMayNotLogMovesRefsAtOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*timeline.Options){
		"it ends soon":           func(o *timeline.Options) { o.Log = false },
		"the setting says so":    func(o *timeline.Options) { o.Env = append(o.Env, "GIT_SMITHERS_JOURNAL=0") },
		"reflogs are wanted":     nil,
		"permissions are shared": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			switch name {
			case "reflogs are wanted":
				repo.Git("config", "core.logAllRefUpdates", "always")
			case "permissions are shared":
				repo.Git("config", "core.sharedRepository", "group")
			}
			if change == nil {
				change = func(*timeline.Options) {}
			}
			s := openLogging(t, repo, nil, change)
			head := logFrames(t, s, 3)
			assert.Equal(t, head.Entry().ID.String(), tipInGit(repo))
			assert.Empty(t, logFiles(t, repo))
		})
	}
}

func TestAMoveByAnotherProcessComesAfterWhatIsLogged(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	late := open(t, repo) // opened before there is anything to publish
	head := logFrames(t, s, 0)
	there := headOf(t, late, "run")
	logFrame(t, head, 1)

	err := there.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Equal(t, head.Entry().ID.String(), tipInGit(repo), "the logged entry went first")
	require.NoError(t, there.Refresh(t.Context()))
	require.NoError(t, there.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))

	err = head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "the process that has lost the run notices: %v", err)
	require.NoError(t, head.Refresh(t.Context()))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	assert.EqualValues(t, 3, head.Row().Frame)
}

func TestARunIsDeletedOnlyWithWhatIsLogged(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	late := open(t, repo)
	head := logFrames(t, s, 0)
	there := headOf(t, late, "run")
	logFrame(t, head, 1)
	err := late.Commit(t.Context(), late.Objects().Begin(), []refs.Update{{Name: "refs/smithers/_tip/run", Old: there.Entry().ID}})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Equal(t, head.Entry().ID.String(), tipInGit(repo))
}

func TestEntriesTooLargeForTheLogTakeTheLoggedOnesAlong(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 3)
	large := output("large", strconv.Quote(strings.Repeat("0123456789abcdef", 20_000)))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{large}}}))
	assert.Equal(t, head.Entry().ID.String(), tipInGit(repo))
	logFrame(t, head, 5)
	require.NoError(t, s.Close())
	assert.Len(t, strings.Split(repo.Git("for-each-ref", "refs/smithers/run"), "\n"), 6)
}

func TestALogIsBegunAnewWhenItIsFull(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 1)
	for i := range 40 { // 200 KB each
		value := output("n", strconv.Quote(strings.Repeat(fmt.Sprintf("%08d", i), 25_000)))
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{value}}}))
	}
	_, err := s.Refs().Tips(t.Context())
	require.NoError(t, err)
	logFrame(t, head, 2)
	second, err := os.Stat(logFiles(t, repo)[0])
	require.NoError(t, err)
	assert.Less(t, second.Size(), int64(4<<20), "less than everything that was logged")
}

// The entry that fills a log wakes the loop, which publishes and removes the log while the entry is still to be synced.
func TestALogThatIsFullIsRemovedBesideASync(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	var s *timeline.Store
	var warnings []string
	removed := 0
	publish := func(o *timeline.Options) {
		o.Failpoint = func(name string) error {
			if name != writeahead.FailWritten {
				return nil
			}
			before := len(logFiles(t, repo))
			_, err := s.Refs().Tips(t.Context())
			if len(logFiles(t, repo)) < before {
				removed++
			}
			return err
		}
	}
	s = openLogging(t, repo, &warnings, publish)
	head := logFrames(t, s, 1)
	for i := range 40 {
		large := output("n", strconv.Quote(strings.Repeat(fmt.Sprintf("%08d", i), 25_000))) // 200 KB
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{large}}}))
	}
	require.Positive(t, removed)
	require.Empty(t, warnings)
}

func TestALogThatIsRemovedOrSharedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"removed", "linked"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			s := openLogging(t, repo, nil)
			head := logFrames(t, s, 2)
			path := logFiles(t, repo)[0]
			copied := filepath.Join(t.TempDir(), "copy")
			if how == "removed" {
				require.NoError(t, os.Remove(path))
			} else if err := os.Link(path, copied); errors.Is(err, syscall.EXDEV) {
				t.Skip("the temporary folders are on two file systems")
			}
			before, err := os.ReadFile(copied)
			for i := range 6 {
				logFrame(t, head, i)
				time.Sleep(5 * time.Millisecond)
			}
			if how == "linked" {
				require.NoError(t, err)
				after, err := os.ReadFile(copied)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(before, after), "a file that a copy of the repository shares does not change")
			}
			require.NoError(t, s.Close())
			assert.Empty(t, logFiles(t, repo))
			assert.Equal(t, head.Entry().ID.String(), tipInGit(repo))
			assert.EqualValues(t, 8, head.Row().Frame)
		})
	}
}

func TestWhatAForeignProgramStrandsStaysInTheLog(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	var warnings []string
	s := openLogging(t, repo, &warnings)
	head := logFrames(t, s, 0)
	base := head.Entry().ID.String()
	logFrame(t, head, 1)
	repo.Git("update-ref", "-d", "refs/smithers/_tip/run")
	repo.Git("update-ref", "-d", "refs/smithers/run/0")

	err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	require.Error(t, err)
	require.NoError(t, s.Close())
	require.Len(t, logFiles(t, repo), 1, "the acknowledged entry is kept")
	assert.Contains(t, strings.Join(warnings, "\n"), "follow nothing")
	report, err := verify.Runs(t.Context(), open(t, repo))
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	problem := report.Problems[0]
	assert.Equal(t, fault.StrandedLog, problem.Code)
	assert.Equal(t, "run", problem.Run)
	assert.Equal(t, "smithers/wal/"+filepath.Base(logFiles(t, repo)[0]), problem.File)
	assert.Contains(t, problem.What, "git update-ref refs/smithers/_tip/run "+base)
	repo.Git("update-ref", "refs/smithers/_tip/run", base) // the ref is back, and what was acknowledged is published
	assert.EqualValues(t, 1, headOf(t, open(t, repo), "run").Row().Frame)
	assert.Empty(t, logFiles(t, repo))
}

// A backup can bring back the log of a process that has long been dead. If its run was pruned meanwhile, the log is removed: all of
// its entries had been published, and went with the run.
func TestALogOfARunThatWasPrunedIsRemoved(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 2)
	path := logFiles(t, repo)[0]
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) { row.Status = snapshot.RunFinished }}))
	require.NoError(t, s.Close())
	pruner := open(t, repo)
	_, err = prune.New(pruner, prune.Options{}).Forget(t.Context(), prune.Policy{}, false, "run")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, left, 0o600))

	again := open(t, repo)
	assert.Empty(t, logFiles(t, repo))
	err = timeline.CheckNew(t.Context(), again, "run")
	assert.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)
}

func TestALogOfAnotherVersionStopsWritersAndNotReaders(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	logFrames(t, open(t, repo), 2)
	folder := filepath.Join(repo.GitDir, "smithers", "wal")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	path := filepath.Join(folder, "1-00000000")
	require.NoError(t, os.WriteFile(path, append([]byte("gsjrnl9\n"), make([]byte, 200)...), 0o600))
	defer func() { require.NoError(t, os.Remove(path)) }()

	var warnings []string
	s := openLogging(t, repo, &warnings)
	head := headOf(t, s, "run")
	assert.Contains(t, strings.Join(warnings, "\n"), "has another format")
	err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	assert.Equal(t, fault.UnsupportedFormat, fault.CodeOf(err), "%v", err)
}

func TestADamagedLogIsKeptAndAnUnfinishedOneIsRemoved(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	folder := filepath.Join(repo.GitDir, "smithers", "wal")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "1-00000000"), bytes.Repeat([]byte("x"), 300), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "2-00000000"), []byte("gsjr"), 0o600))
	var warnings []string
	s := openLogging(t, repo, &warnings)
	logFrames(t, s, 2)
	require.NoError(t, s.Close())
	assert.Contains(t, strings.Join(warnings, "\n"), "damaged")
	findings, err := doctor.New(open(t, repo), nil).Examine(t.Context())
	require.NoError(t, err)
	require.Len(t, findings, 1)
	assert.Equal(t, doctor.StrandedLog, findings[0].Kind)
	assert.Equal(t, "smithers/wal/1-00000000", findings[0].Where)
	assert.Contains(t, findings[0].What, "can have entries that were acknowledged")
	damaged := filepath.Join(folder, "1-00000000")
	assert.Equal(t, []string{damaged}, logFiles(t, repo))
	require.NoError(t, os.Remove(damaged))
}

// logUntilKilled logs frames, prints each one that was acknowledged, and kills itself at the third time that it comes by the point.
func logUntilKilled() {
	failpoint := killAt(3)
	if os.Getenv(stopVariable) != "" {
		failpoint = stopAt(3)
	}
	s := openHereLogging(failpoint)
	head, err := s.Create(context.Background(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{})
	must(err)
	fmt.Println(head.Entry().ID)
	for i := range 10_000 {
		must(head.Update(context.Background(), func() (*snapshot.Draft, error) {
			return &snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}, nil
		}))
		fmt.Println(head.Entry().ID)
	}
}

// leaveLogUntilKilled appends three frames to a run that is there, prints them and kills itself. Two of them are only in its log.
func leaveLogUntilKilled() {
	s := openHereLogging(nil)
	head, err := s.Head(context.Background(), "run")
	must(err)
	for i := range 3 {
		must(head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("left", strconv.Itoa(i))}}}))
		fmt.Printf("run:%d %s\n", head.Row().Frame, head.Entry().ID)
	}
	must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

// openHereLogging is openHere for a process that logs entries.
func openHereLogging(failpoint func(string) error) *timeline.Store {
	dir, err := os.Getwd()
	must(err)
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: dir, Env: append(os.Environ(), "GIT_SMITHERS_JOURNAL=1"), Now: clock(), Failpoint: failpoint, Log: true,
		Warn: func(err error) { fmt.Fprintln(os.Stderr, "warning:", err) },
	})
	must(err)
	return s
}

func TestAKilledProcessLosesNothingThatItLogged(t *testing.T) {
	t.Parallel()
	for _, point := range logPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			acknowledged := killed(t, repo, "logged", point)
			repo.Git("fsck", "--strict")
			s := open(t, repo)
			assert.Empty(t, logFiles(t, repo), "who opens the history publishes what the dead process logged")
			head := headOf(t, s, "run")
			for frame, commit := range acknowledged {
				loaded, err := s.Load(t.Context(), fmt.Sprintf("run:%d", frame))
				require.NoError(t, err)
				assert.Equal(t, commit, loaded.Entry.ID.String())
			}
			assert.GreaterOrEqual(t, head.Row().Frame, int64(len(acknowledged)-1))
			assert.LessOrEqual(t, head.Row().Frame, int64(len(acknowledged)), "at most the entry whose answer was lost is more")
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}), "the run goes on")
			requireHealthy(t, repo)
		})
	}
}
