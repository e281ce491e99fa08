package timeline_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// hitAt kills or stops this process when it first comes by the point of the environment.
func hitAt() func(string) error {
	if os.Getenv(stopVariable) != "" {
		return stopAt(1)
	}
	return killAt(1)
}

// moveWhenTold appends a frame to the run "run" without a log, when it reads a line, and prints the frame.
func moveWhenTold() {
	s := openHere(hitAt())
	head, err := s.Head(context.Background(), "run")
	must(err)
	fmt.Println("ready")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	must(err)
	must(head.Update(context.Background(), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{Operation: "told", Frame: &snapshot.FrameDraft{}}, nil
	}))
	fmt.Println(head.Entry().ID)
	must(s.Close())
}

// publishForTheDead publishes what a dead process has logged.
func publishForTheDead() {
	s := openHere(hitAt())
	_, err := s.Head(context.Background(), "run")
	must(err)
	must(s.Close())
}

// fillLogs logs large frames, and prints each that was acknowledged, until several logs have been full.
func fillLogs() {
	s := openHereLogging(hitAt())
	head, err := s.Create(context.Background(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{})
	must(err)
	fmt.Println(head.Entry().ID)
	for i := range 60 { // 200 KB each, and a log of 4 MB is full
		value := output("n", strconv.Quote(strings.Repeat(fmt.Sprintf("%08d", i), 25_000)))
		must(head.Update(context.Background(), func() (*snapshot.Draft, error) {
			return &snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{value}}}, nil
		}))
		fmt.Println(head.Entry().ID)
	}
	must(s.Close())
}

// A process dies or stops while it looks for logged entries of a run that it moves, while it removes the log of a dead process, or
// between two logs of its own. Nothing that anybody acknowledged is missing, and the run goes on.
func TestWhoDiesOrStopsBesideALogLosesNothing(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("whether a process is stopped is read in /proc")
	}
	for _, c := range []struct{ point, role string }{
		{"guard-locked", "move"}, {"guard-scanned", "move"}, {"recover-published", "recover"}, {"rotate-unlinked", "fill"},
	} {
		for _, variable := range []string{pointVariable, stopVariable} {
			t.Run(c.point+"/"+map[string]string{pointVariable: "dies", stopVariable: "stops"}[variable], func(t *testing.T) {
				t.Parallel()
				besideALog{t: t, repo: repotest.New(t), role: c.role, at: variable + "=" + c.point}.happens()
			})
		}
	}
}

// besideALog is a process that dies or stops beside logs.
type besideALog struct {
	t        *testing.T
	repo     *repotest.Repo
	role, at string
}

func (b besideALog) happens() {
	t := b.t
	var acknowledged []string
	cmd := again(t.Context(), b.repo, b.role, b.at)
	told, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	said := bufio.NewReader(out)
	ours := openLogging(t, b.repo, nil)
	switch b.role {
	case "move":
		head := logFrames(t, ours, 1)
		require.NoError(t, cmd.Start())
		_, err := said.ReadString('\n')
		require.NoError(t, err)
		for i := range 3 {
			logFrame(t, head, i)
			acknowledged = append(acknowledged, head.Entry().ID.String())
		}
		_, err = io.WriteString(told, "\n")
		require.NoError(t, err)
	case "recover":
		logFrames(t, ours, 0)
		left, err := again(t.Context(), b.repo, "leave").Output()
		require.Error(t, err, "the process has killed itself")
		for line := range strings.Lines(string(left)) {
			acknowledged = append(acknowledged, strings.Fields(line)[1])
		}
		require.Len(t, acknowledged, 3)
		require.NoError(t, cmd.Start())
	default:
		require.NoError(t, cmd.Start())
	}
	lines := make(chan string)
	go func() {
		all, _ := io.ReadAll(said)
		lines <- string(all)
	}()
	stops := strings.HasPrefix(b.at, stopVariable)
	require.Eventually(t, func() bool { return stops && isStopped(cmd.Process.Pid) || !stops && isDead(cmd.Process.Pid) }, 20*time.Second, 5*time.Millisecond)

	head, err := open(t, b.repo).Head(t.Context(), "run")
	require.NoError(t, err)
	err = head.Update(t.Context(), func() (*snapshot.Draft, error) { return &snapshot.Draft{Frame: &snapshot.FrameDraft{}}, nil })
	if err == nil {
		acknowledged = append(acknowledged, head.Entry().ID.String())
	} else {
		assert.True(t, stops, "%v", err)
		assert.Equal(t, fault.Locked, fault.CodeOf(err), "%v", err)
	}
	if stops {
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	}
	acknowledged = append(acknowledged, strings.Fields(<-lines)...)
	assert.Equal(t, stops, cmd.Wait() == nil)

	requireThere(t, b.repo, acknowledged)
	require.NoError(t, ours.Close())
	assert.Empty(t, logFiles(t, b.repo))
}

// requireThere requires that the chain of the run "run" has entries.
func requireThere(t *testing.T, repo *repotest.Repo, entries []string) {
	t.Helper()
	s := open(t, repo)
	there := make(map[string]bool)
	for entry, err := range s.Chain(headOf(t, s, "run").Entry()) {
		require.NoError(t, err)
		there[entry.ID.String()] = true
	}
	require.NotEmpty(t, entries)
	for _, id := range entries {
		assert.True(t, there[id], id)
	}
}
