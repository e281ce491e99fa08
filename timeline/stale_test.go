package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestAClaimedRunIsStaleUnlessALiveProcessOwnsIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	clock := newWatch()
	s := openWith(t, repo, clock.now)
	stale := func() map[string]bool {
		runs, err := list.Runs(t.Context(), s)
		require.NoError(t, err)
		out := make(map[string]bool)
		for _, run := range runs {
			out[run.RunID] = list.Stale(s, run)
		}
		return out
	}
	running(t, s, "never")
	c := takeClaim(t, running(t, s, "released"), claim.Request{})
	takeClaim(t, running(t, s, "claimed"), claim.Request{})
	require.NoError(t, running(t, s, "elsewhere").Append(t.Context(), snapshot.Draft{
		Run: func(row *snapshot.Run) { row.Epoch, row.Owner = 1, "0123456789abcdef" },
	}))
	assert.Equal(t, map[string]bool{"claimed": false, "released": false, "never": false, "elsewhere": false}, stale())
	require.NoError(t, c.Release(t.Context()))
	assert.Equal(t, map[string]bool{"claimed": false, "released": true, "never": false, "elsewhere": false}, stale())

	// A process that is there, but has given no sign for too long, owns nothing.
	clock.pass(time.Hour)
	assert.True(t, stale()["claimed"])
}
