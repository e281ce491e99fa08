package share_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// capture captures a line, as another engine does.
func capture(t *testing.T, c *captures.Capturer, line string) (captures.Answer, error) {
	t.Helper()
	req, err := captures.ParseCapture([]byte(line))
	require.NoError(t, err)
	return c.Capture(t.Context(), req)
}

func TestACaptureThatIsOpenWhileItsRunIsSplitDoesNotGoOnWithTheOthers(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirHead := theirs.play("one", 2)
	ours.fetch(theirs)
	capturer, err := captures.Open(t.Context(), ours.store, "one")
	require.NoError(t, err)
	before, err := capture(t, capturer, `{"id":"n::5","changes":[]}`)
	require.NoError(t, err)
	theirs.append(theirHead, snapshot.Draft{Frame: &snapshot.FrameDraft{}, Operation: "n::6"}) // their engine has got that far, too
	fork := ours.fetch(theirs)["one"].Fork
	require.NotEmpty(t, fork)
	one := refsOf(ours.Repo, "refs/smithers/")

	for _, line := range []string{`{"id":"n::6","changes":[]}`, `{"id":"n::6","expect":"` + before.Commit + `","changes":[]}`, `{"changes":[]}`} {
		_, err := capture(t, capturer, line)
		require.Error(t, err, line)
		assert.Equal(t, fault.Conflict, fault.CodeOf(err))
		assert.Contains(t, err.Error(), `the history of run "one" was replaced`)
	}
	assert.Equal(t, one, refsOf(ours.Repo, "refs/smithers/"), "nothing was written")
	again, err := capture(t, capturer, `{"id":"n::5","changes":[]}`)
	require.NoError(t, err)
	assert.Equal(t, before, again, "what was acknowledged stays so")

	// A capture that is opened now takes the run as it is, or the fork.
	for _, run := range []string{"one", fork} {
		opened, err := captures.Open(t.Context(), ours.store, run)
		require.NoError(t, err)
		_, err = capture(t, opened, `{"id":"n::7","changes":[]}`)
		require.NoError(t, err)
	}
}

func TestAHeadThatIsOpenWhileItsRunIsSplitKnowsNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirHead := theirs.play("one", 2)
	ours.fetch(theirs)
	head := ours.open("one")
	ours.goOn(head, 1)
	theirs.goOn(theirHead, 1)
	require.Equal(t, share.StateSplit, ours.fetch(theirs)["one"].State)
	known := head.Entry().ID

	err := head.Update(t.Context(), func() (*snapshot.Draft, error) { return &snapshot.Draft{Subject: "more"}, nil })

	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Equal(t, fault.Conflict, fault.CodeOf(head.Refresh(t.Context())))
	assert.Equal(t, known, head.Entry().ID)
	assert.Equal(t, theirHead.Entry().ID, ours.open("one").Entry().ID)
}
