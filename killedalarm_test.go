package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// grim has a task that fails, and a task that the failure starts.
const grim = `
name: grim
outputs: {alarm: {}}
tasks:
  - {id: red, run: "./task; exit 1"}
  - {id: alarm, when: failed(), output: alarm, run: "./task '{\"told\":1}'"}
`

func TestAKilledRunStillStartsWhatAsksForFailures(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "grim.yaml"), []byte(grim), 0o666))
	counted := filepath.Join(t.TempDir(), "count")
	status, out := s.call(scripttest.CountVariable+"="+counted, "run", "grim.yaml", "--run-id", "calm")
	require.Equal(t, 1, status, out)
	text, err := os.ReadFile(counted)
	require.NoError(t, err)
	calls, err := strconv.Atoi(string(text))
	require.NoError(t, err)

	var killed []string
	for call := 1; call <= calls; call += max(1, calls/repotest.Size(10, 100)) {
		id := fmt.Sprintf("grim-%d", call)
		if status, out := s.call(fmt.Sprintf("%s=%d 0", scripttest.KillVariable, call), "run", "grim.yaml", "--run-id", id); status != -1 {
			require.Equal(t, 1, status, out)
		}
		for status, out = s.call("", "resume", id); status == 11; status, out = s.call("", "resume", id) {
			time.Sleep(10 * time.Millisecond) // a command of the killed process has its lock
		}
		if status == 10 {
			continue // it was killed before there was a run
		}
		require.Equal(t, 1, status, out)
		killed = append(killed, id)
	}
	require.NotEmpty(t, killed)

	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for _, id := range killed {
		head, err := store.Head(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, snapshot.RunFailed, head.Row().Status, id)
		nodes := nodesOf(t, head)
		assert.Equal(t, snapshot.NodeFailed, nodes["red::0"].State, id)
		assert.Equal(t, snapshot.NodeFinished, nodes["alarm::0"].State, id)
		ran, err := os.ReadFile(filepath.Join(s.Dir, "ran", id))
		require.NoError(t, err)
		keys := strings.Fields(string(ran))
		assert.Equal(t, "alarm::0", keys[len(keys)-1][:len("alarm::0")], id)
		for i, key := range keys {
			assert.NotContains(t, keys[:i], key, "an attempt of %s ran twice", id)
		}
	}
}
