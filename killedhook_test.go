package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// hookOf calls a hook of Claude Code in a process of its own, as the agent does. members are more members of the input. extra is one
// more variable of the environment. The result is false if the process was killed; a hook prints nothing and exits with 0.
func (s *storm) hookOf(extra, event, transcript, members string) bool {
	s.t.Helper()
	input := fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"cwd":%q,"hook_event_name":%q%s}`, transcript, s.Dir, event, members)
	status, out := s.callWith(input, extra, "session", "hook", "claude", event)
	require.Empty(s.t, out)
	if status != -1 {
		require.Zero(s.t, status)
	}
	return status == 0
}

// Hooks that are killed at random moments lose no frame of a hook that had ended, and no line of the conversation.
func TestHooksThatAreKilledAnywhereLoseNothing(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	transcript := filepath.Join(s.Home, "transcript.jsonl")
	say := func(text string) {
		file, err := os.OpenFile(transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	require.True(t, s.hookOf("", "UserPromptSubmit", transcript, `,"prompt":"write"`))
	began := time.Now()
	require.True(t, s.hookOf("", "UserPromptSubmit", transcript, `,"prompt":"write"`))
	longest := 2 * int(time.Since(began).Microseconds()) // so that some hooks end
	died, ended := 0, []string{}
	batch := func(round int, extra string) {
		id := fmt.Sprint("c", round)
		say(fmt.Sprintf(`{"type":"assistant","message":{"id":"m%s","content":[{"type":"tool_use","id":%[1]q,"name":"Bash","input":{}}]}}`+"\n"+
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%[1]q,"content":"ok"}]}}`+"\n", id))
		s.Write("made", id)
		if s.hookOf(extra, "PostToolBatch", transcript, `,"tool_calls":[{"tool_name":"Bash","tool_use_id":"`+id+`"}]`) {
			ended = append(ended, id)
		} else {
			died++
		}
	}
	rounds := repotest.Size(20, 600)
	for round := range rounds {
		extra := fmt.Sprintf("%s=1 %d", scripttest.KillVariable, rand.IntN(longest))
		if round%5 == 0 { // which does the upkeep that the dead have left undone
			extra = ""
		}
		batch(round, extra)
	}
	t.Logf("%d of %d hooks were killed, within %d µs", died, rounds, longest)
	assert.Positive(t, died)
	batch(rounds, "")

	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for _, id := range ended {
		loaded, err := store.Load(t.Context(), "claude-s@"+id)
		if assert.NoError(t, err, id) {
			assert.Equal(t, id, s.Git("show", loaded.Entry.ID.String()+":worktree/made"))
		}
	}
	head, err := store.Head(t.Context(), "claude-s")
	require.NoError(t, err)
	assert.Equal(t, readText(t, transcript), saidBy(t, head.Entry()))
	assert.True(t, agent.IsRecordedHere(store, "claude-s"))
	status, out := s.call("", "verify")
	require.Zero(t, status, out)
	s.Git("fsck", "--strict")
	left, err := filepath.Glob(filepath.Join(s.GitDir, "smithers", "worktrees", "*", "objects-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	locks, err := filepath.Glob(filepath.Join(s.GitDir, "refs", "smithers", "*", "*.lock"))
	require.NoError(t, err)
	assert.Empty(t, locks)
}

// readText returns the text of a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// saidBy returns the lines of the conversation that an entry has.
func saidBy(t *testing.T, entry *snapshot.Entry) string {
	t.Helper()
	rows, err := entry.Transcript()
	require.NoError(t, err)
	var said strings.Builder
	for row, err := range rows.Rows() {
		require.NoError(t, err)
		lines, err := snapshot.DecodeTranscript(row)
		require.NoError(t, err)
		for _, line := range lines {
			said.Write(line)
			said.WriteByte('\n')
		}
	}
	return said.String()
}
