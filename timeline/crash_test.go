package timeline_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// The test binary runs itself again as a process that can be killed. These
// variables tell it what to do there.
const (
	roleVariable  = "TIMELINE_TEST_ROLE"
	runVariable   = "TIMELINE_TEST_RUN"
	pointVariable = "TIMELINE_TEST_POINT"
	countVariable = "TIMELINE_TEST_COUNT"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "crash":
		appendUntilKilled()
	case "fork":
		forkUntilKilled()
	case "capture":
		captureUntilKilled()
	case "restore":
		restoreUntilKilled()
	case "travel":
		travelUntilKilled()
	case "append":
		appendFrames()
	case "claim":
		claimUntilKilled()
	case "series":
		seriesUntilKilled()
	case "groups":
		groupsUntilKilled()
	default:
		goleak.VerifyTestMain(m)
	}
}

// again is a command that runs this test binary in a role.
func again(ctx context.Context, repo *repotest.Repo, role string, vars ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Dir = repo.Dir
	cmd.Env = append(append(repo.Env, roleVariable+"="+role), vars...)
	cmd.Stderr = os.Stderr
	return cmd
}

// openHere opens the history of the working directory, as a process of its own does.
func openHere(failpoint func(string) error) *timeline.Store {
	dir, err := os.Getwd()
	must(err)
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: dir, Env: os.Environ(), Now: clock(), Failpoint: failpoint,
		Warn: func(err error) { fmt.Fprintln(os.Stderr, "warning:", err) },
	})
	must(err)
	return s
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// appendUntilKilled appends frames, prints each one that was acknowledged, and
// kills itself at the third time that it comes by the named point.
func appendUntilKilled() {
	s := openHere(killAt(3))
	head, err := s.Create(context.Background(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{})
	must(err)
	fmt.Println(head.Entry().ID)
	const enough = 10_000 // a merge is beside the appends, and they may be far ahead of it
	for i := range enough {
		must(head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}))
		fmt.Println(head.Entry().ID)
	}
}

func TestAKilledProcessLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			needsPoint(t, point)
			repo := repotest.New(t, repotest.Commit)
			acknowledged := killed(t, repo, "crash", point)

			s := open(t, repo)
			head, err := s.Head(t.Context(), "run")
			require.NoError(t, err)
			for frame, commit := range acknowledged {
				loaded, err := s.Load(t.Context(), fmt.Sprintf("run:%d", frame))
				require.NoError(t, err)
				assert.Equal(t, commit, loaded.Entry.ID.String())
				assert.Equal(t, commit, repo.Git("rev-parse", fmt.Sprintf("refs/smithers/run/%d", frame)))
			}
			newest := head.Row().Frame
			assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", fmt.Sprintf("refs/smithers/run/%d", newest)),
				"the ref of the newest frame was repaired")
			repo.Git(repotest.Fsck(repo.GitDir)...)
			requireHealthy(t, repo)
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}), "the run goes on")
			assert.Equal(t, newest+1, head.Row().Frame)
			repo.Git("pack-refs", "--all")
		})
	}
}

// appendFrames captures a number of frames without expecting any particular tip,
// and prints each acknowledged one as "frame commit".
func appendFrames() {
	count, err := strconv.Atoi(os.Getenv(countVariable))
	must(err)
	s := openHere(nil)
	c, err := captures.Open(context.Background(), s, "run")
	must(err)
	out := bufio.NewWriter(os.Stdout)
	for i := range count {
		line := fmt.Sprintf(`{"id":"%d-%d","changes":[{"op":"set","collection":"outputs/results","key":"p%d::%d","value":%d}]}`,
			os.Getpid(), i, os.Getpid(), i, i)
		req, err := captures.ParseCapture([]byte(line))
		must(err)
		answer, err := c.Capture(context.Background(), req)
		must(err)
		_, err = fmt.Fprintln(out, *answer.Frame, answer.Commit)
		must(err)
	}
	must(out.Flush())
	must(s.Close())
}

func TestProcessesThatAppendToOneRunLoseNothing(t *testing.T) {
	t.Parallel()
	const processes, frames = 8, 40
	repo := repotest.New(t, repotest.Commit)
	stop := make(chan struct{})
	loops := make(chan struct{})
	for _, args := range [][]string{{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}} {
		go func() {
			defer func() { loops <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
					// Losing a race for a lock is what these commands are here for.
					_, _ = repo.GitErr(args...)
				}
			}
		}()
	}
	var running []*exec.Cmd
	var outputs []*strings.Builder
	for range processes {
		cmd := again(t.Context(), repo, "append", countVariable+"="+strconv.Itoa(frames))
		out := new(strings.Builder)
		cmd.Stdout = out
		require.NoError(t, cmd.Start())
		running, outputs = append(running, cmd), append(outputs, out)
	}
	for _, cmd := range running {
		assert.NoError(t, cmd.Wait())
	}
	close(stop)
	<-loops
	<-loops

	commits := make(map[string]string)
	for _, out := range outputs {
		for line := range strings.Lines(out.String()) {
			frame, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
			assert.NotContains(t, commits, frame, "a frame number was given twice")
			commits[frame] = commit
		}
	}
	assert.Len(t, commits, processes*frames)
	s := open(t, repo)
	for frame, commit := range commits {
		loaded, err := s.Load(t.Context(), "run:"+frame)
		require.NoError(t, err)
		assert.Equal(t, commit, loaded.Entry.ID.String())
	}
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	assert.Equal(t, processes*frames, head.State().Outputs("results").Len())
	assert.EqualValues(t, processes*frames-1, head.Row().Frame)
}
