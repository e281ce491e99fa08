package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestARunWhoseIDIsAnAddressIsOfferedAnother(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	store := c.open()
	defer func() { require.NoError(t, store.Close()) }()
	for id, ext := range map[string]*snapshot.ExtDraft{"one:2": nil, "user:7": {Engine: "peer", Files: map[string][]byte{"state": []byte("{}")}}} {
		series, err := timeline.SeriesAgain(t.Context(), store, snapshot.Run{ID: id, Workflow: "w", Status: snapshot.RunRunning})
		require.NoError(t, err)
		defer series.Close()
		_, err = series.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Ext: ext})
		require.NoError(t, err)
		_, err = series.Commit(t.Context())
		require.NoError(t, err)
	}
	d := doctor.New(store, nil)
	found, err := d.Examine(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1, "the other program finds its run by the id")
	assert.Equal(t, doctor.MistakableID, found[0].Kind)
	assert.Equal(t, "one:2", found[0].Where)
	assert.True(t, found[0].Harmless())
	require.NoError(t, d.Repair(t.Context(), &found[0]))
	old, err := store.Head(t.Context(), "one:2")
	require.NoError(t, err, "the run stays")
	fork, err := store.Load(t.Context(), "one.2-"+old.Entry().ID.String()[:8]+":0")
	require.NoError(t, err)
	assert.Equal(t, old.Entry().ID, fork.Entry.ID)
	found, err = d.Examine(t.Context())
	require.NoError(t, err)
	assert.Empty(t, found)
}
