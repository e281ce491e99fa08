package snapshot_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestAFrameSaysWithWhomItsFilesAreShared(t *testing.T) {
	t.Parallel()
	with := func(d snapshot.Draft, others ...string) snapshot.Draft {
		d.VCS.With = others
		return d
	}
	sharedWith := func(t *testing.T, e *snapshot.Entry) []string {
		t.Helper()
		again, err := e.SharedWith()
		require.NoError(t, err)
		return again
	}
	c := start(t, snapshot.Draft{})
	assert.Equal(t, []string{"claude-1", "y"}, sharedWith(t, c.append(t, with(frameOf("a"), "claude-1", "y"))))
	assert.Empty(t, sharedWith(t, c.append(t, with(frameOf("a"), "y"))), "no file has changed")
	assert.Empty(t, sharedWith(t, c.append(t, frameOf("b"))), "the run was alone")
}

func TestAListOfWhomFilesAreSharedWithIsDecodedStrictly(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{}`, `{"with":[]}`, `{"with":"y"}`, `{"with":["y","x"]}`, `{"with":[""]}`, `{"with":["x"],"more":1}`, `{"With":["x"]}`,
	} {
		c := start(t, snapshot.Draft{})
		d := frameOf("a")
		d.Events = []snapshot.Event{{Type: "FilesShared", Payload: json.RawMessage(payload)}}
		_, err := c.append(t, d).SharedWith()
		assert.ErrorIs(t, err, objstore.ErrCorrupt, payload)
	}
}

func TestARunThatIsNamedTwiceSharedTheFilesOnce(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	d := frameOf("a")
	d.Events = []snapshot.Event{{Type: "FilesShared", Payload: json.RawMessage(`{"with":["x","x","y"]}`)}}
	with, err := c.append(t, d).SharedWith()
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "y"}, with, "0.1.1 could write this")
}
