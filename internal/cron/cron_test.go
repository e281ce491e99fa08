package cron_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// clock is a clock that stands until it is put forward.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.at.Load()) }

func (c *clock) pass(d time.Duration) { c.at.Add(d.Milliseconds()) }

// open returns the schedules of a repository by a clock that stands at 2026-11-28 10:30 UTC.
func open(t *testing.T, repo *repotest.Repo) (*cron.Table, *clock, *timeline.Store) {
	t.Helper()
	c := new(clock)
	c.at.Store(time.Date(2026, time.November, 28, 10, 30, 0, 0, time.UTC).UnixMilli())
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: c.now, Warn: func(err error) { assert.NoError(t, err, "a warning") },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return cron.Of(store), c, store
}

// hourly is a schedule for every hour.
func hourly(id string) *cron.Schedule {
	return &cron.Schedule{ID: id, Pattern: "0 * * * *", Zone: "UTC", Workflow: "w.yaml", Missed: cron.MissedOnce, Overlap: cron.OverlapSkip}
}

func at(hour, minute int) int64 {
	return time.Date(2026, time.November, 28, hour, minute, 0, 0, time.UTC).UnixMilli()
}

func TestATimeIsTakenOnce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	table, clock, _ := open(t, repo)
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	due, err := table.Claim(t.Context(), "a")
	require.NoError(t, err)
	assert.Nil(t, due, "its time has not come")
	clock.pass(30 * time.Minute)

	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			due, err := table.Claim(t.Context(), "a")
			assert.NoError(t, err)
			if due != nil {
				taken.Add(1)
				assert.Equal(t, at(11, 0), due.At)
				assert.False(t, due.Missed)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, taken.Load())
	s, err := table.Find(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, at(12, 0), *s.NextAtMs)
	repo.Git("fsck", "--strict")
}

func TestMissedTimesAreMadeUpForOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	table, clock, _ := open(t, repotest.New(t, repotest.Commit))
	skips := hourly("skips")
	skips.Missed = cron.MissedSkip
	for _, s := range []*cron.Schedule{hourly("once"), skips} {
		require.NoError(t, table.Add(t.Context(), s))
	}
	clock.pass(3 * time.Hour) // the machine was suspended
	for id, missed := range map[string]bool{"once": false, "skips": true} {
		due, err := table.Claim(t.Context(), id)
		require.NoError(t, err)
		require.NotNil(t, due)
		assert.Equal(t, missed, due.Missed, id)
		due, err = table.Claim(t.Context(), id)
		require.NoError(t, err)
		assert.Nil(t, due, "once for all of them")
		s, err := table.Find(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, at(14, 0), *s.NextAtMs)
	}
}

func TestWhatAScheduleDidLastIsKept(t *testing.T) {
	t.Parallel()
	table, clock, _ := open(t, repotest.New(t, repotest.Commit))
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	require.NoError(t, table.Started(t.Context(), "a", "run-1"))
	clock.pass(time.Minute)
	require.NoError(t, table.Failed(t.Context(), "a", "why"))
	s, err := table.Find(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, []any{"run-1", at(10, 30), "why", at(10, 31)}, []any{s.LastRun, *s.LastAtMs, s.Error, *s.ErrorAtMs})
	require.NoError(t, table.Started(t.Context(), "a", "run-2"))
	s, err = table.Find(t.Context(), "a")
	require.NoError(t, err)
	assert.Empty(t, s.Error)
	require.NoError(t, table.Failed(t.Context(), "gone", "why"), "it was removed meanwhile")
}

func TestADisabledScheduleDoesNotFire(t *testing.T) {
	t.Parallel()
	table, clock, _ := open(t, repotest.New(t, repotest.Commit))
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	s, err := table.Disable(t.Context(), "a")
	require.NoError(t, err)
	assert.Nil(t, s.NextAtMs)
	clock.pass(2 * time.Hour)
	due, err := table.Claim(t.Context(), "a")
	require.NoError(t, err)
	assert.Nil(t, due)
	s, err = table.Enable(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, at(13, 0), *s.NextAtMs, "times before do not count")
	require.NoError(t, table.Remove(t.Context(), "a"))
	assert.Equal(t, fault.ScheduleNotFound, fault.CodeOf(table.Remove(t.Context(), "a")))
}

// Who has the ref has the schedules, but no key to seal them with.
func TestAScheduleOfAnotherCloneDoesNotFire(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	table, clock, store := open(t, repo)
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	clock.pass(time.Hour)
	require.NoError(t, os.Remove(filepath.Join(store.Private(), "clone.key")))
	s, err := table.Find(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, s.Foreign())
	due, err := table.Claim(t.Context(), "a")
	require.NoError(t, err)
	assert.Nil(t, due)
	s, err = table.Enable(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, s.Fires())
}

func TestWhatCannotBeAScheduleIsRefused(t *testing.T) {
	t.Parallel()
	table, _, _ := open(t, repotest.New(t, repotest.Commit))
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	for name, change := range map[string]func(*cron.Schedule){
		"a taken name":  func(s *cron.Schedule) { s.ID = "a" },
		"no name":       func(s *cron.Schedule) { s.ID = "a b" },
		"no pattern":    func(s *cron.Schedule) { s.Pattern = "often" },
		"never":         func(s *cron.Schedule) { s.Pattern = "0 0 30 2 *" },
		"no zone":       func(s *cron.Schedule) { s.Zone = "Nowhere" },
		"missed what":   func(s *cron.Schedule) { s.Missed = "twice" },
		"overlaps what": func(s *cron.Schedule) { s.Overlap = "" },
	} {
		s := hourly("b")
		change(s)
		assert.Equal(t, fault.InvalidSchedule, fault.CodeOf(table.Add(t.Context(), s)), name)
	}
	all, err := table.All(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
}

// A newer version may keep what this one cannot read.
func TestAFileThatIsNoScheduleStays(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	var warned []string
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Warn: func(err error) { warned = append(warned, err.Error()) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	blob := repo.GitInput("not JSON", "hash-object", "-w", "--stdin")
	tree := repo.GitInput("100644 blob "+blob+"\tother.json\n", "mktree")
	repo.Git("update-ref", "refs/smithers/_cron", repo.Git("-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "x", tree))
	table := cron.Of(store)
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	assert.Contains(t, repo.Git("ls-tree", "--name-only", "refs/smithers/_cron"), "other.json")
	all, err := table.All(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
	assert.Contains(t, warned[0], "other.json in refs/smithers/_cron is left out: no schedule")
	require.NoError(t, table.Remove(t.Context(), "a"))
	assert.Equal(t, "other.json", repo.Git("ls-tree", "--name-only", "refs/smithers/_cron"))
}

func TestARunThatWasNotCreatedIsTakenBack(t *testing.T) {
	t.Parallel()
	table, clock, _ := open(t, repotest.New(t, repotest.Commit))
	require.NoError(t, table.Add(t.Context(), hourly("a")))
	require.NoError(t, table.Started(t.Context(), "a", "before"))
	for _, again := range []bool{false, true} {
		clock.pass(time.Hour)
		due, err := table.Claim(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, table.Started(t.Context(), "a", "never"))
		require.NoError(t, table.Withdraw(t.Context(), due.Schedule, "never", due.At, again))
		s, err := table.Find(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, "before", s.LastRun)
		assert.Equal(t, due.LastAtMs, s.LastAtMs)
		due, err = table.Claim(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, again, due != nil, "its time comes again if it was stopped")
	}
}
