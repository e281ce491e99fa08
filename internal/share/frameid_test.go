package share_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// TestIDsAreFoundInWhatWasSplitOff has a fork of a frame that a split moves to another run.
func TestIDsAreFoundInWhatWasSplitOff(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 1)
	alice.append(alice.open("triage"), snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"common"}}})
	alice.give("triage")
	bob.fetchAll()
	bob.append(bob.open("triage"), snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"his"}}})
	bob.append(bob.open("triage"), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	bob.fork("triage:4", "late")
	bob.goOn(bob.open("late"), 1)
	fork := divide(t, alice, bob, "triage", 1, 0)
	for address, want := range map[string]string{
		"triage@common":  "triage:2",
		fork + "@his":    fork + ":1",
		fork + "@common": fork + ":0", // the frame that was forked
		"late@his":       fork + ":1",
		"late@common":    fork + ":0",
	} {
		at, err := bob.store.Load(t.Context(), address)
		require.NoError(t, err, address)
		assert.Equal(t, want, at.Address.String(), address)
	}
	_, err := bob.store.Load(t.Context(), "triage@his")
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err), "it is not of this run any more")
}
