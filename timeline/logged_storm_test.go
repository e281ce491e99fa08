package timeline_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// loggingVariable has whether a process of the storm logs its entries.
const loggingVariable = "TIMELINE_TEST_LOGGING"

// appendInStorm appends frames to one of two runs until it is killed or its input ends, and prints the operation of each one that
// was acknowledged.
func appendInStorm() {
	run := os.Getenv(runVariable)
	dir, err := os.Getwd()
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		stop()
	}()
	var points sync.Mutex
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: dir, Env: append(os.Environ(), "GIT_SMITHERS_JOURNAL=1"), Now: time.Now, Log: os.Getenv(loggingVariable) == "1",
		Warn: func(err error) { fmt.Fprintln(os.Stderr, "warning:", err) },
		Failpoint: func(string) error { // what happens between two steps of other processes happens often
			points.Lock()
			pause := rand.N(12) == 0
			points.Unlock()
			if pause {
				time.Sleep(rand.N(400 * time.Microsecond))
			}
			return nil
		},
	})
	must(err)
	head, err := s.Head(context.Background(), run)
	must(err)
	process := strconv.FormatUint(rand.Uint64(), 36) // the number of a process comes again
	for i := 0; ctx.Err() == nil; i++ {
		operation := fmt.Sprintf("%s-%d", process, i)
		err := head.Update(ctx, func() (*snapshot.Draft, error) {
			return &snapshot.Draft{Operation: operation, Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}, nil
		})
		if ctx.Err() != nil {
			break
		}
		if fault.CodeOf(err) == fault.Locked {
			continue // so many want the ref that its lock was always taken
		}
		must(err)
		fmt.Println(run, operation)
		if rand.N(8) == 0 {
			time.Sleep(rand.N(20 * time.Millisecond)) // another one's turn
		}
	}
	must(s.Close())
}

// stormProcess is a place in the storm in which processes follow each other.
type stormProcess struct {
	run     string
	logging bool
	said    bytes.Buffer
	failed  bytes.Buffer
	cmd     *exec.Cmd
	stop    func()
}

// start starts the next process.
func (p *stormProcess) start(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	p.cmd = again(context.Background(), repo, "storm", runVariable+"="+p.run, loggingVariable+"="+map[bool]string{true: "1", false: "0"}[p.logging])
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.failed
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.stop = func() { _ = in.Close() }
	require.NoError(t, p.cmd.Start())
}

func TestInAStormOfKillsAndStopsNothingThatWasLoggedIsLost(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	for _, run := range []string{"a", "b"} {
		_, err := s.Create(t.Context(), snapshot.Run{ID: run, Status: snapshot.RunRunning}, snapshot.Draft{})
		require.NoError(t, err)
	}
	places := []*stormProcess{{run: "a", logging: true}, {run: "a", logging: true}, {run: "b", logging: true}, {run: "b"}}
	if repotest.Soaks() { // eight writers; six of them log
		places = append(places, &stormProcess{run: "a", logging: true}, &stormProcess{run: "b", logging: true}, &stormProcess{run: "b", logging: true}, &stormProcess{run: "a"})
	}
	for _, p := range places {
		p.start(t, repo)
	}
	ctx, calm := context.WithTimeout(t.Context(), time.Duration(repotest.Size(3, 90))*time.Second)
	defer calm()
	var others sync.WaitGroup
	others.Go(func() { maintain(ctx, repo) })
	kills, stops := 0, 0
	for ctx.Err() == nil {
		time.Sleep(rand.N(60 * time.Millisecond))
		p := places[rand.N(len(places))]
		if rand.N(3) == 0 {
			stops++
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(rand.N(30 * time.Millisecond))
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
			continue
		}
		kills++
		require.NoError(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
		p.start(t, repo)
	}
	others.Wait()
	var said strings.Builder
	for _, p := range places {
		p.stop()
		assert.NoError(t, p.cmd.Wait())
		said.Write(p.said.Bytes())
		assert.NotContains(t, p.failed.String(), "panic")
		assert.NotContains(t, p.failed.String(), "follow nothing")
	}
	requireAcknowledged(t, open(t, repo), said.String())
	assert.Empty(t, logFiles(t, repo))
	repo.Git("fsck", "--strict")
	t.Logf("%d kills, %d stops, %d acknowledged", kills, stops, strings.Count(said.String(), "\n"))
}

// maintain does to the repository what git does, again and again. Refs are packed less often than once a second: git takes a packed-refs
// of the same size and second for the one that it has read, and then takes refs back.
func maintain(ctx context.Context, repo *repotest.Repo) {
	for round := 0; ctx.Err() == nil; round++ {
		for _, args := range [][]string{{"repack", "-q", "-a", "-d"}, {"multi-pack-index", "write"}, {"prune", "--expire=now"}, {"maintenance", "run", "--task=incremental-repack", "--task=loose-objects", "-q"}} {
			_, _ = repo.GitErr(args...) // it may meet locks
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		if round%10 == 9 {
			time.Sleep(time.Second)
			_, _ = repo.GitErr("gc", "-q", "--prune=now")
		}
	}
}

// requireAcknowledged checks that the runs have each operation in said once: lines of a run and an operation.
func requireAcknowledged(t *testing.T, s *timeline.Store, said string) {
	t.Helper()
	there := make(map[string]int)
	for _, run := range []string{"a", "b"} {
		for entry, err := range s.Chain(headOf(t, s, run).Entry()) {
			require.NoError(t, err)
			there[run+" "+entry.Operation]++
		}
	}
	acknowledged := strings.Split(strings.TrimSpace(said), "\n")
	require.Greater(t, len(acknowledged), 20)
	for _, line := range acknowledged {
		if strings.Count(line, " ") == 1 && strings.Contains(line, "-") { // a killed process may print half a line
			assert.Equal(t, 1, there[line], line)
		}
	}
}
