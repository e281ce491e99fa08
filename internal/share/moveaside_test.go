package share_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestAFetchThatIsOvertakenDropsNothingOfWhatTheFasterOneMade(t *testing.T) {
	t.Parallel()
	const runs = 3
	ours, theirs := twoClones(t)
	var heads [runs]*timeline.Head
	for i := range heads {
		heads[i] = theirs.play(fmt.Sprintf("run-%d", i), 1)
	}
	ours.fetch(theirs)
	for i, head := range heads {
		ours.goOn(ours.open(fmt.Sprintf("run-%d", i)), 2)
		theirs.goOn(head, 3)
	}
	faster := *ours
	faster.store = nil
	faster.reopen()
	overtaken := false
	// It knows the tips here by then, and has moved nothing.
	slow := share.New(ours.store, share.Options{Progress: func(string, int, int) {
		if !overtaken {
			overtaken = true
			faster.fetch(theirs)
		}
	}})

	fetched, err := slow.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})

	require.NoError(t, err)
	require.True(t, overtaken)
	assert.Empty(t, fetched.Runs, "nothing was left to do")
	for i := range heads {
		prefix := fmt.Sprintf("refs/smithers/run-%d/", i)
		assert.Equal(t, refsOf(theirs.Repo, prefix), refsOf(ours.Repo, prefix))
	}
	assert.Len(t, refsOf(ours.Repo, "refs/smithers/_tip/"), 2*runs, "each is split once")
}

func TestASplitMakesNoMoreFrameRefsThanThisCloneKeeps(t *testing.T) {
	t.Parallel()
	ours, theirs := twoClones(t)
	theirHead := theirs.play("one", 1)
	ours.fetch(theirs)
	ours.goOn(ours.open("one"), 5)
	theirs.goOn(theirHead, 5)
	ours.reopen("GIT_SMITHERS_FRAME_REFS=2")

	fork := ours.fetch(theirs)["one"].Fork

	assert.Len(t, refsOf(ours.Repo, "refs/smithers/"+fork+"/"), 2)
	refs := refsOf(ours.Repo, "refs/smithers/one/")
	assert.Len(t, refs, 2+2, "the two that it had in common, and the two newest")
	assert.Equal(t, theirHead.Entry().ID.String(), refs["refs/smithers/one/6"])
}
