package jjbridge

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestACaptureThatFailsAtItsEndIsClosedAndNotReturned(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w, err := Locate(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	folder, err := w.lockIndex(t.Context())
	require.NoError(t, err)
	q, err := folder.NewQuarantine()
	require.NoError(t, err)
	require.NoError(t, folder.Unlock())
	released := false
	c := &CapturedFiles{quarantine: q, release: func() { released = true }}
	failed := errors.New("close: input/output error")

	got, err := c.unless(failed)

	require.ErrorIs(t, err, failed)
	assert.Nil(t, got)
	assert.True(t, released)
	assert.NoDirExists(t, q.Dir)

	got, err = (*CapturedFiles)(nil).unless(failed)
	require.ErrorIs(t, err, failed)
	assert.Nil(t, got)

	fine := &CapturedFiles{}
	got, err = fine.unless(nil)
	require.NoError(t, err)
	assert.Same(t, fine, got)
}
