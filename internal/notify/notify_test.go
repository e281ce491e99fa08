package notify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// told is a store whose user has a command, and the warnings of the store.
type told struct {
	*timeline.Store
	t    *testing.T
	repo *repotest.Repo

	mu       sync.Mutex
	warnings []string
}

// newTold opens a repository, with the command as the user's own. In the command, $OUT is a folder for what it writes.
func newTold(t *testing.T, command string) *told {
	t.Helper()
	return newToldIn(t, ".", command)
}

// newToldIn is newTold for a repository in a folder with the given name.
func newToldIn(t *testing.T, folder, command string) *told {
	t.Helper()
	repo := repotest.New(t)
	if folder != "." {
		repo.Git("init", "-q", folder)
	}
	repo.Env = append(repo.Env, "OUT="+repo.Dir)
	repo.Git("config", "--global", notify.Setting, command)
	s := &told{t: t, repo: repo}
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: filepath.Join(repo.Dir, folder), Env: repo.Env, Now: time.Now, Warn: s.warn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s.Store = store
	return s
}

func (s *told) warn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, err.Error())
}

// end tells of the end of a run. Nothing is started: the tests deliver.
func (s *told) end(run string) {
	s.t.Helper()
	notify.Tell(s.t.Context(), s.Store, func() error { return nil }, notify.Notice{
		Event: notify.Finished, RunID: run, Status: "finished", AtMs: time.Now().UnixMilli(),
	})
}

func (s *told) deliver(patience time.Duration) {
	s.t.Helper()
	require.NoError(s.t, notify.Deliver(s.t.Context(), s.Store, patience))
}

// read returns a file that the command has written, or "".
func (s *told) read(name string) string {
	data, err := os.ReadFile(filepath.Join(s.repo.Dir, name))
	if !os.IsNotExist(err) {
		require.NoError(s.t, err)
	}
	return string(data)
}

func TestASlowCommandIsEndedAndItIsAWarning(t *testing.T) {
	s := newTold(t, "exec sleep 1000")
	s.end("slow")
	s.deliver(10 * time.Millisecond)
	assert.Empty(t, s.warnings)
	notify.WarnOfFailure(s.Store)
	assert.Equal(t, []string{"the command in smithers.notify failed when run slow finished: it was ended after 10ms"}, s.warnings)
	notify.WarnOfFailure(s.Store)
	assert.Len(t, s.warnings, 1, "a failure is told once")
}

// The name of a folder can have the characters of patterns.
func TestAFolderIsNoPattern(t *testing.T) {
	for _, folder := range []string{"n[ab]", "n[x", "n*?"} {
		s := newToldIn(t, folder, `echo "$SMITHERS_RUN_ID" >>"$OUT/told"`)
		s.end("one")
		s.end("two")
		s.deliver(time.Minute)
		assert.Equal(t, "one\ntwo\n", s.read("told"), folder)
		assert.Empty(t, s.warnings, folder)
	}
}

// What the command has started ends with it, even if it has closed its output.
func TestTheGroupOfACommandIsEnded(t *testing.T) {
	for name, command := range map[string]string{
		"open":   `sleep 1000 & echo $! >"$OUT/new"; mv "$OUT/new" "$OUT/child"; sleep 1000`,
		"closed": `exec >/dev/null 2>&1; sleep 1000 & echo $! >"$OUT/new"; mv "$OUT/new" "$OUT/child"; sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTold(t, command)
			s.end("slow")
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- notify.Deliver(ctx, s.Store, time.Hour) }()
			for s.read("child") == "" {
				time.Sleep(time.Millisecond)
			}
			stop()
			assert.ErrorIs(t, <-ended, context.Canceled)
			child, err := strconv.Atoi(strings.TrimSpace(s.read("child")))
			require.NoError(t, err)
			for lives(child) { // until its new parent has waited for it
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestCommandsRunOneAtATimeInOrder(t *testing.T) {
	s := newTold(t, `mkdir "$OUT/one" || touch "$OUT/two"; sleep 0.02; echo "$SMITHERS_RUN_ID" >>"$OUT/order"; rmdir "$OUT/one"`)
	var all sync.WaitGroup
	var want strings.Builder
	for i := range 8 {
		run := fmt.Sprintf("r%d", i)
		want.WriteString(run + "\n")
		s.end(run)
		all.Go(func() { assert.NoError(t, notify.Deliver(t.Context(), s.Store, time.Hour)) })
	}
	all.Wait()
	assert.Equal(t, want.String(), s.read("order"))
	assert.NoFileExists(t, filepath.Join(s.repo.Dir, "two"))
}

func TestWhatWasToldIsRememberedAcrossProcesses(t *testing.T) {
	s := newTold(t, `cat >>"$OUT/told"`)
	wait := func(nodes ...string) {
		n := notify.Notice{Event: notify.Waits, RunID: "r", AtMs: time.Now().UnixMilli()}
		for _, node := range nodes {
			n.Waiting = append(n.Waiting, notify.Wait{NodeID: node, Attempt: 1, For: "approval"})
		}
		notify.Tell(t.Context(), s.Store, func() error { return nil }, n)
		s.deliver(time.Hour)
	}
	news := func() (out []string) {
		for part := range strings.SplitSeq(s.read("told"), `"nodeId":"`) {
			node, rest, _ := strings.Cut(part, `"`)
			if strings.HasPrefix(rest[max(0, strings.Index(rest, `"new":`)):], `"new":true`) {
				out = append(out, node)
			}
		}
		return out
	}
	wait("a", "b")
	wait("a", "b")
	wait("b")
	assert.Equal(t, []string{"a", "b"}, news())
	wait("b", "c")
	assert.Equal(t, []string{"a", "b", "c"}, news())
	assert.Equal(t, 2, strings.Count(s.read("told"), "\n"))
	s.repo.Write(".git/smithers/notify/told.json", "damaged")
	wait("c")
	assert.Equal(t, 3, strings.Count(s.read("told"), "\n"), "a damaged memory is an empty one")
	assert.Empty(t, s.warnings)
}

func TestTheQueueIsBounded(t *testing.T) {
	s := newTold(t, `echo "$SMITHERS_RUN_ID" >>"$OUT/order"`)
	for i := range 100 {
		s.end(fmt.Sprintf("r%d", i))
	}
	assert.Empty(t, s.warnings)
	s.end("late")
	require.Len(t, s.warnings, 1)
	assert.Contains(t, s.warnings[0], "you were not notified of run late: 100 notices wait for the command in smithers.notify")
	require.NoError(t, os.WriteFile(filepath.Join(s.InPlace("notify/queue"), "mine.json"), []byte("no notice"), 0o600))
	s.deliver(time.Hour)
	assert.Equal(t, 100, strings.Count(s.read("order"), "\n"))
	s.end("late")
	s.deliver(time.Hour)
	assert.True(t, strings.HasSuffix(s.read("order"), "\nlate\n"), "what was not queued was not told")
}

func TestACopyOfTheRepositoryTellsNothingOfTheOriginal(t *testing.T) {
	s := newToldIn(t, "original", `echo "$SMITHERS_RUN_ID" >>"$OUT/told"`)
	s.end("r")
	dir := filepath.Join(s.repo.Dir, "copy")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(s.repo.Dir, "original"))))
	other, err := timeline.Open(t.Context(), timeline.Options{Dir: dir, Env: s.repo.Env, Now: time.Now})
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // nothing is written
	require.NoError(t, notify.Deliver(t.Context(), other, time.Hour))
	assert.Empty(t, s.read("told"))
	s.deliver(time.Hour)
	assert.Equal(t, "r\n", s.read("told"))
}

// A notice from before a restart of the machine is not told hours later.
func TestAnOldNoticeIsNotDelivered(t *testing.T) {
	s := newTold(t, `touch "$OUT/told"`)
	notify.Tell(t.Context(), s.Store, func() error { return nil }, notify.Notice{
		Event: notify.Finished, RunID: "old", AtMs: time.Now().Add(-2 * time.Hour).UnixMilli(),
	})
	s.deliver(time.Hour)
	assert.NoFileExists(t, filepath.Join(s.repo.Dir, "told"))
}

// Variables are bounded, and end at no character's middle.
func TestVariablesAreBounded(t *testing.T) {
	s := newTold(t, `printf %s "$SMITHERS_ERROR" >"$OUT/error"; wc -c >"$OUT/size"`)
	long := strings.Repeat("\u00e4\x00\xff\n", 5000)
	notify.Tell(t.Context(), s.Store, func() error { return nil }, notify.Notice{
		Event: notify.Failed, RunID: "r", Error: &long, AtMs: time.Now().UnixMilli(),
	})
	s.deliver(time.Hour)
	got := s.read("error")
	assert.LessOrEqual(t, len(got), 4100)
	assert.True(t, strings.HasPrefix(got, "\u00e4\\x00"), "%.20q", got)
	assert.NotContains(t, got, "\n")
	size, err := strconv.Atoi(strings.TrimSpace(s.read("size")))
	require.NoError(t, err)
	assert.Greater(t, size, 10000, "the document has the whole text")
}
