package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var errFault = errors.New("fault")

// openFaulty opens the history of a repository so that writes fail at a point while on is set.
func openFaulty(t *testing.T, repo *repotest.Repo, point string, on *bool) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == point && *on {
				return errFault
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// appended runs after two frames, the second of which meets a fault at a point.
func appended(t *testing.T, point string, draft snapshot.Draft) (*repotest.Repo, *timeline.Head, error) {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	on := false
	s := openFaulty(t, repo, point, &on)
	head := running(t, s, "run")
	on = true
	err := head.Append(t.Context(), draft)
	on = false
	return repo, head, err
}

func TestAnEntryThatGotInAlthoughWritingItFailedIsThereOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"between-renames", "refs-done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			repo, head, err := appended(t, point, snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", "1")}}})
			require.NoError(t, err)
			assert.EqualValues(t, 1, head.Row().Frame)
			assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/_tip/run"))
			assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/run/1"))
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
			assert.Equal(t, "3", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
			requireHealthy(t, repo)
		})
	}
}

func TestAnEntryThatDidNotGetInIsNotThere(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-pack-rename", "before-refs", "refs-locked"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			draft := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", "1")}}, Operation: "1.2"}
			repo, head, err := appended(t, point, draft)
			require.ErrorIs(t, err, errFault)
			assert.EqualValues(t, 0, head.Row().Frame)
			assert.Equal(t, "1", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
			require.NoError(t, head.Append(t.Context(), draft), "it can be appended again")
			assert.Equal(t, "2", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
		})
	}
}

func TestAnEntryIsFoundBelowThoseThatOthersAppended(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	other := open(t, repo)
	armed := false
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name != "refs-done" || !armed {
				return nil
			}
			armed = false
			head, err := other.Head(context.Background(), "run")
			if err == nil {
				err = head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "of another"})
			}
			return errors.Join(errFault, err)
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	head := running(t, s, "run")

	armed = true
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "mine"}))
	assert.EqualValues(t, 1, head.Row().Frame)
	assert.Equal(t, "of another\nmine", repo.Git("log", "-2", "--format=%s", "refs/smithers/_tip/run"))
	err = head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "what it adopted is not the tip: %v", err)
}

func TestTheSameOperationOfTwoProcessesIsOneEntry(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	one := running(t, open(t, repo), "run")
	two, err := open(t, repo).Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, one.Append(t.Context(), snapshot.Draft{Operation: "signal:x", Subject: "signal"}))
	mine := one.Entry().ID
	require.NoError(t, one.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))

	require.NoError(t, two.Append(t.Context(), snapshot.Draft{Operation: "signal:x", Subject: "signal"}))
	assert.Equal(t, mine, two.Entry().ID)
	err = two.Append(t.Context(), snapshot.Draft{Operation: "signal:y"})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Equal(t, "3", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
}

func TestEntriesThatSayNothingOfWhatTheyDoAreTwo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now) // both at the same time: the bytes are equal
	one := running(t, s, "run")
	two, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, one.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	err = two.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
}

func TestEveryFrameAnnouncesItself(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{}))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{
		Frame:  &snapshot.FrameDraft{State: []snapshot.Change{output("n", "1")}},
		Events: []snapshot.Event{{Type: "NodeFinished", AtMs: 1}},
	}))
	events, err := head.Entry().Events()
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, "SnapshotCaptured", events[1].Type)
	assert.EqualValues(t, 2, events[1].Seq, "after that of frame 0")
	assert.JSONEq(t, fmt.Sprintf(`{"runId":"run","frameNo":1,"contentHash":%q}`, head.Entry().ContentHash.String()),
		string(events[1].Payload))
}

func TestUpdateBuildsOnTheTipAsItIs(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "run")
	other, err := open(t, repo).Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, other.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))

	var seen []int64
	require.NoError(t, head.Update(t.Context(), func() (*snapshot.Draft, error) {
		seen = append(seen, head.Row().Frame)
		return &snapshot.Draft{Subject: "built"}, nil
	}))
	assert.Equal(t, []int64{0, 1}, seen)
	before := head.Entry().ID
	require.NoError(t, head.Update(t.Context(), func() (*snapshot.Draft, error) { return nil, nil })) //nolint:nilnil // nothing to append
	assert.Equal(t, before, head.Entry().ID)
	require.ErrorIs(t, head.Update(t.Context(), func() (*snapshot.Draft, error) { return nil, errFault }), errFault)
}
