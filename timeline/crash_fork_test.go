package timeline_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// points are the named points of a write at which a process is killed.
var points = []string{
	"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs",
	"refs-locked", "between-renames", "refs-done", "merge-after-rename", "merge-between-removes",
}

// killAt kills this process when it comes by the point of the environment for the
// nth time; by one of a merge for the first time, since how many there are depends on how fast they are.
func killAt(nth int) func(string) error {
	times := 0
	return func(name string) error {
		if name != os.Getenv(pointVariable) {
			return nil
		}
		if times++; times == nth || strings.HasPrefix(name, "merge-") {
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
		return nil
	}
}

// needsPoint skips the test if no process can come by a point: in tables, one rename moves all refs.
func needsPoint(t *testing.T, point string) {
	t.Helper()
	if point == "between-renames" {
		repotest.NeedsFiles(t)
	}
}

// killed runs this test binary in a role until it kills itself at a point, and
// returns the lines that it printed before.
func killed(t *testing.T, repo *repotest.Repo, role, point string, vars ...string) []string {
	t.Helper()
	out, err := again(t.Context(), repo, role, append(vars, pointVariable+"="+point)...).Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the process ended by itself: it never came by %s", point)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, status.Signal())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	return lines
}

// forkUntilKilled forks the run "parent", which is there, again and again: every
// other fork changes its state. It prints "child frame-0 tip" for each that was
// acknowledged.
func forkUntilKilled() {
	s := openHere(killAt(3))
	for i := range 100 {
		child, err := s.Fork(context.Background(), forkRequest(i))
		must(err)
		zero, err := s.Load(context.Background(), child.Row().ID+":0")
		must(err)
		fmt.Println(child.Row().ID, zero.Entry.ID, child.Entry().ID)
	}
	must(s.Close()) // a merge is after a burst
}

func forkRequest(i int) timeline.ForkRequest {
	req := timeline.ForkRequest{From: "parent:2", RunID: "child-" + strconv.Itoa(i)}
	if i%2 == 1 {
		req.Nodes = []string{"a"}
	}
	return req
}

func TestAKilledForkIsThereWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			needsPoint(t, point)
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			triage(t, s, "parent")
			acknowledged := killed(t, repo, "fork", point)
			for _, line := range acknowledged {
				fields := strings.Fields(line)
				require.Len(t, fields, 3)
				assert.Equal(t, fields[1], repo.Git("rev-parse", "refs/smithers/"+fields[0]+"/0"))
				assert.Equal(t, fields[2], repo.Git("rev-parse", "refs/smithers/_tip/"+fields[0]))
			}

			// The fork that nobody heard of either can be made, or is there and goes on.
			last := forkRequest(len(acknowledged))
			child, err := s.Fork(t.Context(), last)
			if fault.CodeOf(err) == fault.RunExists {
				child, err = s.Head(t.Context(), last.RunID)
			}
			require.NoError(t, err)
			zero, err := s.Load(t.Context(), last.RunID+":0")
			require.NoError(t, err)
			assert.Equal(t, zero.Entry.ID.String(), repo.Git("rev-parse", "refs/smithers/"+last.RunID+"/0"),
				"the ref of frame 0 was repaired")
			require.NoError(t, child.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
			assert.EqualValues(t, 1, child.Row().Frame)
			branches, err := list.Branches(t.Context(), s, "parent")
			require.NoError(t, err)
			assert.Len(t, branches, len(acknowledged)+1)
			repo.Git(repotest.Fsck(repo.GitDir)...)
			repo.Git("pack-refs", "--all")
		})
	}
}

// batch is how many captures a batch has.
const batch = 100

// captureLine is the ith capture of a batch.
func captureLine(i int) *captures.Capture {
	req, err := captures.ParseCapture(fmt.Appendf(nil,
		`{"id":"c%d","changes":[{"op":"set","collection":"outputs/results","key":"n::%d","value":%d}]}`, i, i, i))
	must(err)
	return req
}

// captureUntilKilled captures a batch, and prints each answer.
func captureUntilKilled() {
	s := openHere(killAt(3))
	c, err := captures.Open(context.Background(), s, "run")
	must(err)
	for i := range batch {
		answer, err := c.Capture(context.Background(), captureLine(i))
		must(err)
		fmt.Println(answer.ID, *answer.Frame, answer.Commit)
	}
	must(s.Close()) // a merge is after a burst
}

func TestABatchThatWasKilledIsSentAgainWithoutLossOrDoubling(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			needsPoint(t, point)
			repo := repotest.New(t, repotest.Commit)
			acknowledged := killed(t, repo, "capture", point)

			s := open(t, repo)
			c := capturer(t, s)
			var answers []string
			for i := range batch {
				answer, err := c.Capture(t.Context(), captureLine(i))
				require.NoError(t, err)
				require.NotNil(t, answer.Frame)
				require.EqualValues(t, i, *answer.Frame)
				answers = append(answers, fmt.Sprintln(answer.ID, *answer.Frame, answer.Commit))
			}
			assert.Equal(t, strings.Join(acknowledged, "\n")+"\n", strings.Join(answers[:len(acknowledged)], ""),
				"what was acknowledged gets its answer again")
			head, err := s.Head(t.Context(), "run")
			require.NoError(t, err)
			assert.EqualValues(t, batch-1, head.Row().Frame)
			assert.Equal(t, batch, head.State().Outputs("results").Len())
			assert.Equal(t, strconv.Itoa(batch), repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
		})
	}
}
