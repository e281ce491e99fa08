package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// maintainedVariable is for how long at least the test of git's maintenance goes on; unset,
// it ends when each command has had a few turns.
const maintainedVariable = "MAINTENANCE_TEST_FOR"

// maintained is a repository, and a remote, in which git tidies up all the time.
type maintained struct {
	*repotest.Repo
	t       *testing.T
	program string
	stop    chan struct{}
	work    sync.WaitGroup

	mu     sync.Mutex
	frames map[string]string // commits of the frames that were acknowledged, by address
	runs   []string          // that have ended
}

func newMaintained(t *testing.T) *maintained {
	t.Helper()
	m := &maintained{
		Repo: repotest.New(t, repotest.Commit), t: t, program: filepath.Join(t.TempDir(), "git-smithers"),
		stop: make(chan struct{}), frames: make(map[string]string),
	}
	linkSmithers(t, m.program)
	m.Env = append(m.Env, "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_FRAME_REFS=100", "GORACE=atexit_sleep_ms=0")
	m.Git("init", "--quiet", "--bare", filepath.Join(m.Home, "remote.git"))
	m.Git("remote", "add", "origin", filepath.Join(m.Home, "remote.git"))
	m.Git("push", "--quiet", "origin", "main")
	return m
}

// smithers runs git-smithers.
func (m *maintained) smithers(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), m.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = m.Dir, m.Env, strings.NewReader(stdin)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git smithers %s: %w: %s", strings.Join(args, " "), err, talk.String())
	}
	return string(out), err
}

// over reports whether it is time to stop.
func (m *maintained) over() bool {
	select {
	case <-m.stop:
		return true
	default:
		return false
	}
}

// beside calls fn, with the number of the call, again and again until it is time to stop.
func (m *maintained) beside(fn func(turn int) error) {
	m.work.Go(func() {
		for turn := 0; !m.over(); turn++ {
			if err := fn(turn); err != nil {
				m.t.Error(err)
				return
			}
		}
	})
}

// capture makes a run of some frames with files, which ends.
func (m *maintained) capture(run string) error {
	const frames = 10
	file := filepath.Join(m.Dir, run+".txt")
	var lines strings.Builder
	for i := range frames {
		fmt.Fprintf(&lines, `{"worktree":%v,"changes":[{"op":"set","collection":"outputs/results","key":"n::%d","value":%q}]}`+"\n", i%4 == 0, i, run)
	}
	lines.WriteString(`{"run":{"status":"finished"},"worktree":false}` + "\n")
	if err := os.WriteFile(file, []byte(run+"\n"), 0o666); err != nil {
		return err
	}
	out, err := m.smithers(lines.String(), "capture", run, "--batch")
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range strings.Lines(out) {
		var answer struct {
			Frame  *int64
			Commit string
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Error != nil {
			return fmt.Errorf("capture in run %s: %s", run, line)
		}
		if answer.Frame != nil {
			m.frames[fmt.Sprintf("%s:%d", run, *answer.Frame)] = answer.Commit
		}
	}
	m.runs = append(m.runs, run)
	return nil
}

// sealAndUnseal has the frame refs of a run that has ended made and dropped.
func (m *maintained) sealAndUnseal(turn int) error {
	m.mu.Lock()
	runs := slices.Clone(m.runs)
	m.mu.Unlock()
	if len(runs) == 0 {
		return nil
	}
	run := runs[turn%len(runs)]
	if _, err := m.smithers("", "unseal", run); err != nil {
		return err
	}
	_, err := m.smithers("", "seal", run)
	return err
}

// maintainedFor is how long the variable says, or else the fallback.
func maintainedFor(fallback time.Duration) time.Duration {
	if length, err := time.ParseDuration(os.Getenv(maintainedVariable)); err == nil {
		return length
	}
	return fallback
}

// tidy has git tidy up, by turns.
func (m *maintained) tidy(commands ...[]string) { m.tidyFor(maintainedFor(0), commands...) }

// tidyFor has git tidy up for so long at least. That it loses a race for a lock is what it is here for.
func (m *maintained) tidyFor(length time.Duration, commands ...[]string) {
	const turns = 4
	end := time.Now().Add(length)
	for turn := 0; turn < turns || time.Now().Before(end); turn++ {
		for _, args := range commands {
			_, _ = m.GitErr(args...)
		}
	}
}

// Processes capture, seal and push as fast as they can, while git collects garbage, packs
// objects and refs, and prunes what nothing points at.
func TestNothingIsLostBesideMaintenance(t *testing.T) {
	t.Parallel()
	m := newMaintained(t)
	for writer := range 2 {
		m.beside(func(turn int) error { return m.capture(fmt.Sprintf("run-%d-%d", writer, turn)) })
	}
	m.beside(m.sealAndUnseal)
	m.beside(func(int) error {
		// git's own packing may lose to packs that are replaced under it: another push
		// brings what this one did not.
		_, _ = m.smithers("", "push", "origin", "--yes")
		return nil
	})
	var tidying sync.WaitGroup
	tidying.Go(func() { m.tidy([]string{"gc", "--quiet", "--prune=now", "--aggressive"}) })
	tidying.Go(func() { m.tidy([]string{"repack", "-adFq"}, []string{"prune"}, []string{"pack-refs", "--all"}) })
	tidying.Wait()
	close(m.stop)
	m.work.Wait()

	_, err := m.smithers("", "push", "origin", "--yes")
	require.NoError(t, err)
	require.NotEmpty(t, m.runs)
	m.requireFrames()
	_, err = m.smithers("", "verify")
	require.NoError(t, err)
	assert.Equal(t,
		m.Git("for-each-ref", "--format=%(objectname) %(refname)", "refs/smithers/_tip/"),
		m.Git("-C", filepath.Join(m.Home, "remote.git"), "for-each-ref", "--format=%(objectname) %(refname)", "refs/smithers/_tip/"),
		"the remote has every run as it is here")
	m.Git("-C", filepath.Join(m.Home, "remote.git"), "fsck", "--strict", "--no-dangling", "--no-progress")
	t.Logf("%d runs, %d frames", len(m.runs), len(m.frames))
}

// requireFrames requires that every frame that was acknowledged is there.
func (m *maintained) requireFrames() {
	m.t.Helper()
	store, err := timeline.Open(m.t.Context(), timeline.Options{Dir: m.Dir, Env: m.Env, Now: time.Now})
	require.NoError(m.t, err)
	for address, commit := range m.frames {
		loaded, err := store.Load(m.t.Context(), address)
		require.NoError(m.t, err)
		require.Equal(m.t, commit, loaded.Entry.ID.String(), address)
	}
	require.NoError(m.t, store.Close())
}
