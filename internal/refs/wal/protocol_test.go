//go:build unix

package wal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// The protocol of the log, tried with real processes before there is a writer: two that append to logs, one that moves the ref
// directly, and one that publishes, all of them killed and stopped at random. The ref, its lock and the packs are small files; the
// logs are real ones. See model_test.go.

// rules are the rules of the protocol that a test can leave out.
const (
	complete     = "complete"
	noCheck      = "the lock and the ref are not looked at before an append"
	noLock       = "the ref is looked at before an append, but its lock is not"
	noGuard      = "who moves the ref directly does not look at the logs"
	noOwnership  = "who has read the tip may append, without having moved it"
	guardNoGate  = "who moves the ref directly looks at the logs without their gates"
	writerNoGate = "records are written outside of the gate"
	anyLock      = "locks of other moves are passed as if they were of publications"
)

// TestMain runs a process of the model if the environment asks for one.
func TestMain(m *testing.M) {
	if kind := os.Getenv("WAL_MODEL"); kind != "" {
		runModel(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProtocolLosesNothing(t *testing.T) {
	t.Parallel()
	seconds := repotest.Size(3, 60)
	appended, kills := 0, 0
	for round := 0; round == 0 || appended <= 50*seconds && round < 10; round++ { // a busy machine needs more than one round
		got := tryProtocol(t, complete, time.Duration(seconds)*time.Second)
		t.Log(got)
		assert.Zero(t, got.lost, "acknowledged, and nowhere")
		assert.Zero(t, got.forked, "acknowledged, and in a log that goes on from another tip")
		assert.Zero(t, got.twice)
		assert.Zero(t, got.left, "logs that nobody removed")
		appended, kills = appended+got.appended, kills+got.kills
	}
	assert.Greater(t, appended, 50*seconds, "too few appends to show anything")
	assert.Positive(t, kills)
}

// TestEachRuleIsNeeded leaves out one rule at a time. Without a rule the model must lose something; otherwise it shows nothing.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	rules := []string{noCheck, noGuard}
	if repotest.Soaks() {
		rules = []string{noCheck, noLock, noGuard, noOwnership, guardNoGate, writerNoGate, anyLock}
	}
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			var all outcome
			for range repotest.Size(4, 30) { // a round stops everything, and shows what was lost; a busy machine needs many
				got := tryProtocol(t, rule, 2*time.Second)
				all.appended += got.appended
				if got.lost+got.forked+got.twice > 0 {
					t.Log(got)
					return
				}
			}
			t.Errorf("nothing was lost in %d appends", all.appended)
		})
	}
}

// outcome is what became of the captures of a trial.
type outcome struct {
	kills, stops        int
	direct, appended    int // acknowledged captures
	lost, forked, twice int // of the acknowledged ones
	left                int // logs that are still there after everything was published
}

// String returns the outcome in one line.
func (o outcome) String() string {
	return fmt.Sprintf("%d kills, %d stops; acknowledged %d directly, %d in logs; lost %d, forked %d, twice %d, logs left %d",
		o.kills, o.stops, o.direct, o.appended, o.lost, o.forked, o.twice, o.left)
}

// tryProtocol runs the processes of the model for a time, publishes what is left, and compares the chain with what was acknowledged.
func tryProtocol(t *testing.T, rule string, long time.Duration) outcome {
	t.Helper()
	m := &model{dir: t.TempDir(), rule: rule, known: map[string]modelEntry{}}
	for _, dir := range []string{"wal", "owners", "packs", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(m.dir, dir), 0o777))
	}
	m.begin()
	var got outcome
	end := time.Now().Add(long)
	kinds := []string{"appender", "appender", "mover", "publisher"}
	procs := make([]*exec.Cmd, len(kinds))
	output := &lockedBuffer{} // of all processes: a panic ends a process
	start := func(i int) {
		c := exec.Command(os.Args[0])
		c.Env = []string{"WAL_MODEL=" + kinds[i], "WAL_DIR=" + m.dir, "WAL_RULE=" + rule, "WAL_MS=" + strconv.FormatInt(time.Until(end).Milliseconds()+1, 10)}
		c.Stderr = output
		require.NoError(t, c.Start())
		procs[i] = c
	}
	for i := range kinds {
		start(i)
	}
	for time.Until(end) > 80*time.Millisecond {
		time.Sleep(rand.N(60 * time.Millisecond))
		i := rand.N(len(kinds))
		if rand.N(3) == 0 {
			got.stops++
			_ = procs[i].Process.Signal(syscall.SIGSTOP)
			time.Sleep(rand.N(30 * time.Millisecond))
			_ = procs[i].Process.Signal(syscall.SIGCONT)
			continue
		}
		got.kills++
		_ = procs[i].Process.Kill()
		_ = procs[i].Wait() // the error is that the process was killed
		start(i)
	}
	for _, c := range procs {
		_ = c.Wait()
	}
	require.Empty(t, output.String())
	m.publishAll()
	m.publishAll()
	m.count(t, &got)
	return got
}

// count reads the chain, and what was acknowledged and forked, into got.
func (m *model) count(t *testing.T, got *outcome) {
	t.Helper()
	there := map[string]int{}
	for id := m.tip(); id != ""; {
		e := m.get(id)
		there[e.op]++
		id = e.parent
	}
	forks := map[string]bool{}
	if text, err := os.ReadFile(filepath.Join(m.dir, "forks")); err == nil {
		for op := range strings.FieldsSeq(string(text)) {
			forks[op] = true
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	text, err := os.ReadFile(filepath.Join(m.dir, "acknowledged"))
	if !errors.Is(err, fs.ErrNotExist) { // on a busy machine, a round may end before the first acknowledgement
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(text)) {
		op, how, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if how == "appended" {
			got.appended++
		} else {
			got.direct++
		}
		switch {
		case there[op] > 1:
			got.twice++
		case there[op] == 0 && forks[op]:
			got.forked++
		case there[op] == 0:
			got.lost++
		}
	}
	logs, err := os.ReadDir(filepath.Join(m.dir, "wal"))
	require.NoError(t, err)
	got.left = len(logs)
}
