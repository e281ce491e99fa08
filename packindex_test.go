package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

const (
	// indexedFor is how long git maintains multi-pack-indexes where maintainedVariable is
	// unset. Nearly every try of a second lost something before decision 33.
	indexedFor = 6 * time.Second
	// inFlight is how many frames a writer has sent that are not acknowledged.
	inFlight = 16
	// autoPackLimit is from how many packs on git gc --auto packs them all.
	autoPackLimit = 50
	// crowdedPacks is the number of packs from which the writers wait. Nothing merges while git holds the lock of its
	// multi-pack-index, and git holds it for longer the more packs there are. Writers without this limit made 23,000
	// packs in 400 s, and each command of git then took minutes.
	crowdedPacks = 1000
	// fastFrames is the number of frames that the writers make as fast as they can. They then slow down, because jj
	// imports every ref whenever refs have changed: with 28,000 refs that took more than four minutes beside the writers.
	fastFrames = 10_000
	slowPause  = 2 * time.Second
)

// captureOn captures into one run, a frame as soon as another is acknowledged and the pause
// is over, until it is time to stop.
func (m *maintained) captureOn(run string, pause time.Duration) error {
	cmd := exec.CommandContext(context.Background(), m.program, "capture", run, "--batch")
	var talk strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = m.Dir, m.Env, &talk
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	free := make(chan struct{}, inFlight)
	for range inFlight {
		free <- struct{}{}
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		defer in.Close() //nolint:errcheck // the process is gone already, then
		for i := 0; !m.over(); i++ {
			<-free
			m.waitToWrite(pause)
			line := fmt.Sprintf(`{"changes":[{"op":"set","collection":"outputs/results","key":"n::%d","value":"%s %d"}]}`, i%40, run, i)
			if _, err := fmt.Fprintln(in, line); err != nil {
				return
			}
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var answer struct {
			Frame  *int64
			Commit string
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil || answer.Frame == nil {
			m.t.Errorf("capture in run %s: %s", run, lines.Text())
		} else {
			m.mu.Lock()
			m.frames[fmt.Sprintf("%s:%d", run, *answer.Frame)] = answer.Commit
			m.mu.Unlock()
		}
		select {
		case free <- struct{}{}:
		default:
		}
	}
	close(free)
	err = cmd.Wait()
	sending.Wait()
	if err != nil {
		err = fmt.Errorf("capture in run %s: %w: %s", run, err, talk.String())
	}
	return err
}

// waitToWrite waits for the pause, for longer if there are many frames, and while there are many packs.
func (m *maintained) waitToWrite(pause time.Duration) {
	m.mu.Lock()
	if len(m.frames) >= fastFrames {
		pause = slowPause
	}
	m.mu.Unlock()
	time.Sleep(pause)
	for !m.over() && m.crowded() {
		time.Sleep(100 * time.Millisecond)
	}
}

// crowded reports whether there are more than crowdedPacks packs.
func (m *maintained) crowded() bool {
	indexes, err := filepath.Glob(filepath.Join(m.GitDir, "objects/pack/*.idx"))
	return err == nil && len(indexes) > crowdedPacks
}

// Processes capture while git maintains the multi-pack-index, as `git maintenance start`
// has it do. With the variable set, it is sixteen of them beside everything that tidies up.
func TestNothingIsLostBesideMaintenanceOfPackIndexes(t *testing.T) {
	t.Parallel()
	soak := os.Getenv(maintainedVariable) != ""
	m := newMaintained(t)
	writers, pause := 2, 20*time.Millisecond // what is captured is verified in the end
	if soak {
		writers, pause = 16, 0
		m.useJJ()
	}
	for writer := range writers {
		m.work.Go(func() {
			if err := m.captureOn(fmt.Sprintf("long-%d", writer), pause); err != nil {
				t.Error(err)
			}
		})
	}
	m.beside(func(turn int) error { return m.capture(fmt.Sprintf("run-%d", turn)) })
	length := maintainedFor(indexedFor)
	commands := [][]string{
		{"maintenance", "run", "--quiet", "--task=incremental-repack"},
		{"multi-pack-index", "write"},
	}
	var tidying sync.WaitGroup
	if soak {
		commands = append(commands, everythingThatTidies...)
		tidying.Go(func() { m.tidyFor(length, []string{"pack-refs", "--all"}, []string{"worktree", "prune"}) })
	}
	tidying.Go(func() { m.tidyFor(length, commands...) })
	tidying.Wait()
	close(m.stop)
	m.work.Wait()

	// While git holds the lock of its multi-pack-index, captures leave their packs to the next merge.
	require.NoError(t, m.capture("last"))
	m.requireWhole()
	var packs int
	_, err := fmt.Sscanf(m.packCount(), "packs: %d", &packs)
	require.NoError(t, err)
	assert.Less(t, packs, autoPackLimit)
	t.Logf("%d frames, %d packs", len(m.frames), packs)
}

// everythingThatTidies is what git has to tidy up packs, but for what every test runs. One
// comes after the other: side by side, git's commands lose objects without any help.
var everythingThatTidies = [][]string{
	{"multi-pack-index", "expire"},
	{"multi-pack-index", "repack"},
	{"maintenance", "run", "--quiet", "--task=commit-graph"},
	{"maintenance", "run", "--quiet", "--task=loose-objects"},
	{"maintenance", "run", "--quiet", "--task=pack-refs"},
	{"multi-pack-index", "write"},
	{"gc", "--quiet"},
	{"multi-pack-index", "write"},
	{"multi-pack-index", "expire"},
	{"repack", "-dq"},
	{"repack", "-adFq"},
	{"multi-pack-index", "write"},
	{"multi-pack-index", "repack"},
	{"multi-pack-index", "expire"},
	{"maintenance", "run", "--quiet", "--task=gc"},
	{"jj-util-gc"},
}

// useJJ makes the repository one of jj's, too, if there is a jj, with an alias of git for
// `jj util gc`.
func (m *maintained) useJJ() {
	if repotest.FindJJ() == "" {
		return
	}
	m.Env = repotest.WithJJ(m.Env, m.Home)
	require.NoError(m.t, m.jj("git", "init", "--quiet", "--colocate"))
	m.Git("config", "alias.jj-util-gc", "!"+repotest.FindJJ()+" util gc --quiet")
}

// jj runs jj.
func (m *maintained) jj(args ...string) error {
	cmd := exec.CommandContext(context.Background(), repotest.FindJJ(), args...)
	cmd.Dir, cmd.Env = m.Dir, m.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("jj %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// requireWhole requires that git and git-smithers find nothing wrong, and every frame that
// was acknowledged.
func (m *maintained) requireWhole() {
	m.t.Helper()
	m.Git("rev-list", "--objects", "--all", "--quiet")
	m.Git("fsck", "--strict", "--no-dangling", "--no-progress")
	found, err := m.smithers("", "verify", "--deep")
	require.NoError(m.t, err, found)
	m.requireFrames()
}

// packCount is the line of `git count-objects` that says how many packs there are.
func (m *maintained) packCount() string {
	for line := range strings.Lines(m.Git("count-objects", "-v")) {
		if strings.HasPrefix(line, "packs: ") {
			return line
		}
	}
	return ""
}
