package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// killedAt is the repository as it was when a new run, "three", came by a point of its first write: what a kill leaves.
func (c *clinic) killedAt(point string) {
	c.t.Helper()
	c.killedIn(point, time.Now, func(s *timeline.Store) {
		_, err := s.Create(c.t.Context(), snapshot.Run{ID: "three", Status: snapshot.RunRunning}, draft("three", 0))
		require.NoError(c.t, err)
	})
}

// killedIn is the repository as it was when write first came by a point: what a kill leaves.
func (c *clinic) killedIn(point string, now func() time.Time, write func(*timeline.Store)) {
	c.t.Helper()
	left := filepath.Join(c.t.TempDir(), "left")
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: c.Dir, Env: c.Env, Now: now,
		Failpoint: func(name string) error {
			if _, err := os.Stat(left); name != point || err == nil {
				return nil
			}
			return os.CopyFS(left, os.DirFS(c.GitDir))
		},
	})
	require.NoError(c.t, err)
	write(s)
	require.NoError(c.t, s.Close())
	require.NoError(c.t, os.RemoveAll(c.GitDir))
	require.NoError(c.t, os.Rename(left, c.GitDir))
	kept, err := filepath.Glob(filepath.Join(c.GitDir, "objects/pack/*.keep"))
	require.NoError(c.t, err)
	for _, keep := range kept { // which are links
		require.NoError(c.t, os.Remove(keep))
		require.NoError(c.t, os.Link(filepath.Join(c.GitDir, "smithers/tmp/empty"), keep))
	}
}

// lost is what is said of runs that may be lost.
func (c *clinic) lost() []string {
	c.t.Helper()
	var lost []string
	for _, f := range c.examine() {
		if f.Kind == doctor.LostTip {
			lost = append(lost, f.Where+": "+f.What)
		}
	}
	return lost
}

func TestARunThatWasNeverAcknowledgedIsNotLost(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before-refs", "refs-locked"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			c.killedAt(point)
			assert.Empty(t, c.lost())
		})
	}
}

func TestWhereNothingTellsARunMayBeLost(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.killedAt("before-refs")
	kept, err := filepath.Glob(filepath.Join(c.GitDir, "objects/pack/*.keep"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, os.Remove(kept[0]))
	lost := c.lost()
	require.Len(t, lost, 1)
	assert.Contains(t, lost[0], "refs/smithers/_tip/three: ")
	assert.Contains(t, lost[0], "a command that was killed before it created the run may have left the entries")
}

// A .keep file may stay of a run whose tip has moved.
func TestARunThatHasAFrameRefIsLostWhateverItsPackSays(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.killedAt("refs-done")
	c.Git("update-ref", "-d", "refs/smithers/_tip/three")
	assert.Equal(t, []string{"lost-tip refs/smithers/_tip/three"}, c.mend())
}
