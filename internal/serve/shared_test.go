package serve_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/timeline"
)

// sharing starts what a process does for its client: it answers the client itself, and others, or passes its bytes on.
func sharing(t *testing.T, repo *repotest.Repo) (c *client, passed chan bool) {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=0"), Now: time.Now})
	require.NoError(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c = &client{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	passed = make(chan bool, 1)
	go func() {
		server := serve.New(langgraph.Open(s), "test", "process")
		was, stop := server.PassOrShare(t.Context(), serve.PlaceOf(s.Private(), "alike"), inR, outW)
		passed <- was
		var err error
		if !was {
			err = server.Serve(t.Context(), inR, outW)
			stop()
		}
		_ = outW.Close()
		_ = inR.Close()
		assert.NoError(t, s.Close())
		c.done <- err
	}()
	return c, passed
}

func TestClientsOfOneWorkingCopyShareAServer(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	first, firstPassed := sharing(t, repo)
	first.hello()
	require.False(t, <-firstPassed)
	second, secondPassed := sharing(t, repo)
	second.hello()
	require.Nil(t, second.call(putCall(1, "t", "1", 5), `"abc"`).Error)
	assert.Equal(t, []string{`"abc"`}, first.call(`{"id":1,"method":"getTuple","params":{"thread":"t","ns":"","id":""}}`).data)

	// A client that ends is answered first, and disturbs nobody.
	third, _ := sharing(t, repo)
	third.hello()
	require.Nil(t, third.call(putCall(1, "t", "2", 5), `"def"`).Error)
	require.NoError(t, third.in.Close())
	require.NoError(t, <-third.done)
	require.Nil(t, second.call(putCall(2, "t", "3", 5), `"ghi"`).Error)

	// The first one ends: its guests end, too, and the next process serves.
	require.NoError(t, first.in.Close())
	require.NoError(t, <-first.done)
	_, err := second.out.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.True(t, <-secondPassed)
	require.NoError(t, <-second.done)
	fourth, fourthPassed := sharing(t, repo)
	fourth.hello()
	assert.Equal(t, []string{`"ghi"`}, fourth.call(`{"id":1,"method":"getTuple","params":{"thread":"t","ns":"","id":""}}`).data)
	require.False(t, <-fourthPassed)
	require.NoError(t, fourth.in.Close())
	require.NoError(t, <-fourth.done)
}

func TestAServerThatCannotListenServesItsClientAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	passed, stop := serve.New(langgraph.Open(s), "test", "process").PassOrShare(t.Context(), serve.PlaceOf(file), nil, nil)
	assert.False(t, passed)
	stop()
	require.NoError(t, s.Close())
}
