package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// hold appends frames that stay in memory until the head is released.
func hold(t *testing.T, head *timeline.Head, count int) {
	t.Helper()
	head.Hold()
	for i := range count {
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}))
	}
}

func TestReadersSeeAllEntriesOfAGroupOrNone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openIn(t, repo)
	head := running(t, s, "run")
	hold(t, head, 5)
	assert.EqualValues(t, 5, head.Row().Frame, "the head is ahead of the run")
	assert.Equal(t, "1", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
	var frames []int64
	for entry, err := range head.Chain() {
		require.NoError(t, err)
		frames = append(frames, entry.Frame)
	}
	assert.Equal(t, []int64{5, 4, 3, 2, 1, 0}, frames)

	require.NoError(t, head.Release(t.Context()))
	assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/_tip/run"))
	assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/run/5"))
	hold(t, head, 2)
	require.NoError(t, head.Release(t.Context()))
	require.NoError(t, s.Close())
	assert.Len(t, strings.Fields(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/run")), 8, "the refs of the others have followed")
	requireHealthy(t, repo)
}

// openIn opens the history; the test closes it.
func openIn(t *testing.T, repo *repotest.Repo) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	return s
}

func TestAGroupWhoseTipHasMovedChangesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "run")
	other, err := open(t, repo).Head(t.Context(), "run")
	require.NoError(t, err)
	hold(t, head, 3)
	require.NoError(t, other.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	err = head.Release(t.Context())
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.EqualValues(t, 0, head.Row().Frame, "the head is where it was")
	require.NoError(t, head.Refresh(t.Context()))
	hold(t, head, 3)
	require.NoError(t, head.Release(t.Context()))
	assert.EqualValues(t, 4, head.Row().Frame)
	requireHealthy(t, repo)
}

func TestAGroupThatGotInAlthoughWritingItFailedIsThereOnce(t *testing.T) {
	t.Parallel()
	for point, isThere := range map[string]bool{
		"after-pack-temp": false, "after-pack-rename": false, "before-refs": false, "refs-locked": false, "between-renames": true, "refs-done": true,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			on := false
			head := running(t, openFaulty(t, repo, point, &on), "run")
			hold(t, head, 3)
			on = true
			err := head.Release(t.Context())
			on = false
			if !isThere {
				require.ErrorIs(t, err, errFault)
				assert.EqualValues(t, 0, head.Row().Frame)
				hold(t, head, 3)
				err = head.Release(t.Context())
			}
			require.NoError(t, err)
			assert.EqualValues(t, 3, head.Row().Frame)
			assert.Equal(t, "4", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
			requireHealthy(t, repo)
		})
	}
}

// An entry that cannot be appended leaves nothing behind, neither in the group nor among the objects.
func TestADraftThatCannotBeHeldLeavesTheGroupAsItWas(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "run")
	hold(t, head, 1)
	wrong := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		output("m", `"a value that nobody may find"`), {Op: snapshot.OpSet, Collection: "nonsense", Key: "a", Value: []byte("1")},
	}}}
	require.Error(t, head.Append(t.Context(), wrong))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", "2")}}}))
	require.NoError(t, head.Release(t.Context()))
	assert.EqualValues(t, 2, head.Row().Frame)
	assert.NotContains(t, repo.Git("cat-file", "--batch-all-objects", "--batch", "--buffer"), "nobody may find")
	requireHealthy(t, repo)
}

// groupsUntilKilled appends groups of captures, and prints the commit of each capture that was acknowledged.
func groupsUntilKilled() {
	nth, err := strconv.Atoi(os.Getenv(countVariable))
	must(err)
	s := openHere(killAt(nth))
	c, err := captures.Open(context.Background(), s, "run")
	must(err)
	for i := range 100 {
		var reqs []*captures.Capture
		for k := range 1 + i%5 {
			req, err := captures.ParseCapture(fmt.Appendf(nil, `{"id":"%d-%d","worktree":false,"changes":[{"op":"set","collection":"loops","key":"a","value":{"iteration":%d,"done":false}}]}`, i, k, 10*i+k))
			must(err)
			reqs = append(reqs, req)
		}
		for _, outcome := range c.CaptureAll(context.Background(), reqs) {
			must(outcome.Err)
			fmt.Println(outcome.Answer.Commit)
		}
	}
}

func TestAKilledGroupOfCapturesIsThereWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs", "refs-locked", "between-renames", "refs-done"} {
		for _, nth := range []int{3, 8, 14} {
			t.Run(fmt.Sprintf("%s %d", point, nth), func(t *testing.T) {
				t.Parallel()
				needsPoint(t, point)
				repo := repotest.New(t, repotest.Commit)
				acknowledged := killed(t, repo, "groups", point, countVariable+"="+strconv.Itoa(nth))
				commits := strings.Fields(repo.Git("rev-list", "--reverse", "refs/smithers/_tip/run"))
				require.GreaterOrEqual(t, len(commits), len(acknowledged))
				assert.Equal(t, acknowledged, commits[:len(acknowledged)])
				s := openIn(t, repo)
				head, err := s.Head(t.Context(), "run")
				require.NoError(t, err)
				require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
				require.NoError(t, s.Close())
				repo.Git(repotest.Fsck(repo.GitDir)...)
				requireHealthy(t, repo)
			})
		}
	}
}

// Captures have the same answers, whether they get into the run one by one or together.
func TestCapturesTogetherAreTheSameAsOneByOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(repotest.Size(6, 60)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, seed))
			one, all := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
			at := newWatch().now
			single, group := capturer(t, openWith(t, one, at)), capturer(t, openWith(t, all, at))
			for range 12 {
				var lines []string
				for range 1 + r.IntN(8) {
					lines = append(lines, randomCapture(r))
				}
				var reqs []*captures.Capture
				for _, line := range lines {
					req, err := captures.ParseCapture([]byte(line))
					require.NoError(t, err, line)
					reqs = append(reqs, req)
				}
				for i, outcome := range group.CaptureAll(t.Context(), reqs) {
					answer, err := capture(t, single, lines[i])
					require.Equal(t, fault.CodeOf(err), fault.CodeOf(outcome.Err), "%s: %v, %v", lines[i], err, outcome.Err)
					assert.Equal(t, answer.Frame, outcome.Answer.Frame, lines[i])
					assert.Equal(t, answer.ContentHash, outcome.Answer.ContentHash, lines[i])
				}
			}
			requireHealthy(t, one)
			requireHealthy(t, all)
		})
	}
}

// randomCapture returns a line of a capture: a change, an event, files, an id that was there, a tip, or one that is refused.
func randomCapture(r *rand.Rand) string {
	change := fmt.Sprintf(`"changes":[{"op":"set","collection":"loops","key":"l%d","value":{"iteration":%d,"done":false}}]`, r.IntN(4), r.IntN(50))
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf(`{"worktree":false,"events":[{"type":"Said","timestampMs":%d,"payload":{"n":%d}}]}`, 1000+r.IntN(5), r.IntN(3))
	case 1:
		return fmt.Sprintf(`{"id":"c%d","worktree":false,%s}`, r.IntN(6), change)
	case 2:
		return fmt.Sprintf(`{"worktree":true,%s}`, change)
	case 3:
		return `{"worktree":false,"changes":[{"op":"set","collection":"nodes","key":"a::0","value":{"nodeId":"b","iteration":0,"state":"pending"}}]}`
	case 4:
		return fmt.Sprintf(`{"worktree":false,"expect":%q,%s}`, strings.Repeat("1", 40), change)
	case 5:
		return fmt.Sprintf(`{"worktree":false,"run":{"status":"%s"},%s}`, []string{"running", "waiting-event", "finished"}[r.IntN(3)], change)
	case 6:
		return `{"changes":[{"op":"set","collection":"nodes","key":"n::0","value":{"nodeId":"n","iteration":0,"state":"` + []string{"in-progress", "finished", "pending"}[r.IntN(3)] + `"}}]}`
	}
	return fmt.Sprintf(`{"worktree":false,%s}`, change)
}

func TestCapturesTogetherGoOnWhereAnotherProcessHasAppended(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := capturer(t, open(t, repo))
	line := func(i int) *captures.Capture {
		req, err := captures.ParseCapture(fmt.Appendf(nil, `{"id":"c%d","worktree":false,"changes":[{"op":"set","collection":"loops","key":"l%d","value":{"iteration":1,"done":false}}]}`, i, i))
		require.NoError(t, err)
		return req
	}
	_, err := c.Capture(t.Context(), line(0))
	require.NoError(t, err)
	other, err := open(t, repo).Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, other.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("theirs", "1")}}}))
	for i, outcome := range c.CaptureAll(t.Context(), []*captures.Capture{line(1), line(2), line(1), line(3)}) {
		require.NoError(t, outcome.Err)
		assert.Equal(t, []int64{2, 3, 2, 4}[i], *outcome.Answer.Frame)
	}
	requireHealthy(t, repo)
}
