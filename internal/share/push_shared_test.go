package share_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTenWritersPushToOneRemoteAtOnce(t *testing.T) {
	t.Parallel()
	const writers = 10
	origin := newOrigin(t)
	want := make(map[string]string)
	var clones []*clone
	for i := range writers {
		// Two of each clone, so that they also meet at what the clone remembers.
		if i%2 == 0 {
			clones = append(clones, newClone(t, origin))
			for _, run := range []string{fmt.Sprintf("run-%d", i), fmt.Sprintf("more-%d", i)} {
				want["refs/smithers/_tip/"+run] = tipOf(clones[i].play(run, 2))
			}
			continue
		}
		other := *clones[i-1]
		other.store = nil
		other.reopen()
		clones = append(clones, &other)
	}
	var all sync.WaitGroup
	errs := make([]error, writers)
	for i, c := range clones {
		all.Go(func() { _, errs[i] = c.sharer.Push(context.Background(), share.PushRequest{}) })
	}
	all.Wait()

	for _, err := range errs {
		assert.NoError(t, err)
	}
	assert.Equal(t, want, refsOf(origin, "refs/smithers"))
	for i := 0; i < writers; i += 2 {
		assert.Len(t, refsOf(clones[i].Repo, "refs/smithers-remote"), 2, "what was pushed is remembered")
	}
}

func TestOneRunThatManyGoOnWithIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	const writers = 4
	origin := newOrigin(t)
	first := newClone(t, origin)
	first.play("run", 1)
	first.push()
	clones := make([]*clone, writers)
	for i := range clones {
		clones[i] = newClone(t, origin)
		clones[i].take("run")
		head, err := clones[i].store.Head(t.Context(), "run")
		require.NoError(t, err)
		clones[i].goOn(head, 1)
	}
	var all sync.WaitGroup
	pushed := make([]*share.PushResult, writers)
	errs := make([]error, writers)
	for i, c := range clones {
		all.Go(func() { pushed[i], errs[i] = c.sharer.Push(context.Background(), share.PushRequest{}) })
	}
	all.Wait()

	won := 0
	for i, c := range clones {
		if errs[i] == nil {
			won++
			assert.Equal(t, c.Git("rev-parse", "refs/smithers/_tip/run"), origin.Git("rev-parse", "refs/smithers/_tip/run"))
			continue
		}
		assert.Equal(t, fault.PushRefused, fault.CodeOf(errs[i]))
		assert.Equal(t, map[string]string{"run": share.StateDiverged}, states(pushed[i]))
	}
	assert.Equal(t, 1, won)
}

func TestAPushThatDiesIsRepeated(t *testing.T) {
	t.Parallel()
	const (
		rest = "git-receive-pack \"$@\"\n"
		// The pushing git is above receive-pack, perhaps with a shell between them.
		hook = `p=$PPID
until ps -o args= -p $p | grep -q " push "; do [ $p -gt 1 ] || exit 1; p=$(($(ps -o ppid= -p $p))); done
kill -KILL $p
`
	)
	origin := newOrigin(t)
	c := newClone(t, origin)
	program := filepath.Join(c.Home, "receive-pack")
	for i, death := range []struct{ hook, receive string }{
		{receive: "kill -KILL $PPID\n"},
		{receive: "pusher=$PPID; (head -c 40; kill -KILL $pusher) | " + rest},
		{receive: "pusher=$PPID; (head -c 400; kill -KILL $pusher) | " + rest},
		{hook: "pre-receive"},
		{hook: "update"},
		{hook: "reference-transaction"},
		{hook: "post-receive"},
	} {
		run := c.play(fmt.Sprintf("run-%d", i), 3)
		if death.hook != "" {
			program = filepath.Join(origin.GitDir, "hooks", death.hook)
			require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o777))
			repotest.WriteProgram(t, program, "#!/bin/sh\n"+hook)
		} else {
			repotest.WriteProgram(t, program, "#!/bin/sh\n"+death.receive)
			c.Git("config", "remote.origin.receivepack", program)
		}
		c.reopen()
		_, err := c.sharer.Push(t.Context(), share.PushRequest{})
		require.Error(t, err, "death %d", i)
		require.NoError(t, os.Remove(program))
		if death.receive != "" {
			c.Git("config", "--unset", "remote.origin.receivepack")
		}
		c.reopen()

		c.push()

		assert.Equal(t, tipOf(run), origin.Git("rev-parse", "refs/smithers/_tip/"+run.Row().ID), "death %d", i)
		tips := refsOf(origin, "refs/smithers")
		assert.Len(t, tips, i+1)
		for name, id := range tips {
			assert.Equal(t, id, c.Git("rev-parse", strings.Replace(name, "smithers/_tip", "smithers-remote/origin", 1)))
		}
		assert.Empty(t, c.push().Runs)
	}
}
