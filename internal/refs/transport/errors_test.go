package transport_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

func TestWhatCannotBeReachedIsSaidToBeTheRemote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.Write("file", "no repository\n")
	w.Env = append(w.Env, "GIT_SSH_COMMAND=echo 'nobody@localhost: Permission denied (publickey).' >&2; false")
	to := open(t, w.Repo, nil)
	for _, remote := range []string{
		"nowhere", "../nowhere.git", "file", "file:///nowhere.git", "-option", "ext::true", "unknown::x",
		"git://127.0.0.1:1/x", "http://127.0.0.1:1/x", "ssh://nobody@localhost/x",
	} {
		t.Run(remote, func(t *testing.T) {
			t.Parallel()
			_, pushed := to.Push(t.Context(), remote, []transport.Move{tip(t, "run", w.commits[0])})
			_, listed := to.List(t.Context(), remote, "")
			fetched := to.Fetch(t.Context(), remote, []transport.Spec{allTips}, true)
			for _, err := range []error{pushed, listed, fetched} {
				require.ErrorIs(t, err, transport.ErrRemote)
				var failed *gitexec.Error
				require.ErrorAs(t, err, &failed)
				assert.NotEmpty(t, failed.Stderr, "git's own words are there")
			}
		})
	}
}

func TestNoErrorShowsThePasswordOfAURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	to := open(t, w.Repo, nil)
	for i, url := range []string{
		"http://user:secret@127.0.0.1:1/x", "git://user:secret@127.0.0.1:1/x", "ssh://user:secret@127.0.0.1:1/x", "unknown://user:secret@x/y",
	} {
		name := "remote" + strconv.Itoa(i)
		w.Git("config", "remote."+name+".url", url)
		for _, remote := range []string{url, name} {
			_, pushed := to.Push(t.Context(), remote, []transport.Move{tip(t, "run", w.commits[0])})
			_, listed := to.List(t.Context(), remote, "")
			fetched := to.Fetch(t.Context(), remote, []transport.Spec{allTips}, true)
			for _, err := range []error{pushed, listed, fetched} {
				require.ErrorIs(t, err, transport.ErrRemote)
				assert.NotContains(t, err.Error(), "secret")
				var failed *gitexec.Error
				require.ErrorAs(t, err, &failed)
				assert.NotContains(t, failed.Stderr, "secret")
			}
		}
	}
}

func TestARefHereThatNamesNothingIsNotTheRemotesFault(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	w := newWorld(t, 1)
	_, err := open(t, w.Repo, nil).Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[0])})
	require.NoError(t, err)
	colleague := w.colleague(t)
	path := refstest.RefPath(colleague, refstest.Tip(t, "q"))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, nil, 0o666))

	err = open(t, colleague, nil).Fetch(t.Context(), "origin", []transport.Spec{allTips}, true)

	require.ErrorIs(t, err, refs.ErrBroken)
	require.NotErrorIs(t, err, transport.ErrUnsound)
	assert.Contains(t, err.Error(), string(refstest.Tip(t, "q")))
	require.NoError(t, os.Remove(path))
}

func TestACancelledMoveIsNoFailureOfTheRemote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	// When the test is over and its files go, the other side is still there, and must not take over what it received.
	w.hook(t, "pre-receive", "touch "+begun+"; cat "+fifo(t, w.Repo)+"; exit 1")
	w.origin.Git("config", "receive.autogc", "false")
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				cancel()
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-watch })

	_, err := open(t, w.Repo, nil).Push(ctx, "origin", frames(t, w.commits))

	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, transport.ErrRemote)
	assert.Empty(t, has(t, w.origin))
}

// Progress that goes to the terminal is not part of errors and reasons.
func TestGitTalksWhileItMovesThings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30)
	w.hook(t, "update", `case "$refs" in */run/3) echo "a secret" >&2; exit 1;; esac`)
	var talk bytes.Buffer
	loud := func(o *transport.Options) { o.Talk = &talk }
	outcomes, err := open(t, w.Repo, loud).Push(t.Context(), "origin", frames(t, w.commits))
	require.NoError(t, err)
	assert.Contains(t, talk.String(), "Writing objects: 100%")
	assert.Equal(t, "hook declined\na secret\nerror: hook declined to update refs/smithers/run/3", outcomes[3].Reason)

	talk.Reset()
	colleague := w.colleague(t)
	from := open(t, colleague, loud)
	require.NoError(t, from.Fetch(t.Context(), "origin", []transport.Spec{{From: "refs/smithers/run/*", To: "refs/x/*"}}, false))
	assert.Contains(t, talk.String(), "Receiving objects: 100%")
	err = from.Fetch(t.Context(), "origin", []transport.Spec{{From: "refs/smithers/_tip/no", To: "refs/x/no"}}, false)
	require.ErrorIs(t, err, refs.ErrNotFound)
	assert.Equal(t, "ref not found: git fetch: fatal: couldn't find remote ref refs/smithers/_tip/no", err.Error())
}

func TestWithoutGitNothingMoves(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	none := open(t, repo, func(o *transport.Options) { o.Env = []string{"PATH="} })
	_, err := none.List(t.Context(), "origin", "")
	assert.ErrorIs(t, err, gitexec.ErrNoGit)
}
