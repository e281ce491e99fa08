package inspect

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestAPromptWaitsForNoIndex(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: func(error) {}})
	require.NoError(t, err)
	id := "r`x`$(y)%z\x1b[1m" + strings.Repeat("ä", 100)
	_, err = store.Create(t.Context(), snapshot.Run{ID: id, Workflow: "flow", Status: snapshot.RunRunning}, snapshot.Draft{Subject: "started"})
	require.NoError(t, err)
	require.NoError(t, store.Close())

	prompt := func(ctx context.Context, limit time.Duration) string {
		var out, talk strings.Builder
		s := &session.Session{Terminal: &term.Terminal{Streams: term.Streams{Out: &out, Err: &talk, Env: repo.Env, Dir: repo.Dir, Now: time.Now}}}
		require.NoError(t, printPorcelain(ctx, s, limit))
		assert.Empty(t, talk.String())
		return out.String()
	}
	assert.Empty(t, prompt(t.Context(), 0), "nothing is there in no time")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Empty(t, prompt(ended, time.Minute))
	assert.Equal(t, "r_x___y__z__1m"+strings.Repeat("ä", 43)+"…\trunning\t0\n", prompt(t.Context(), time.Minute),
		"a shell finds nothing to run in the line, however it expands it")
}
