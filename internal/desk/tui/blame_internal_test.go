package tui

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const listYAML = `name: list
tasks:
  - {id: first, run: "printf 'one\ntwo\n' >list.txt"}
  - {id: second, needs: [first], run: "printf 'zero\none\ntwo\nthree\n' >list.txt; echo x >other.txt; printf '\\0' >data.bin; rm README"}
`

func TestALineOpensTheFrameThatWroteIt(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"list.yaml": listYAML, "README": "as it was\n"})
	v.do(fault.ExitOK, "run", "list.yaml", "--run-id", "l-1")
	v.open("l-1", 80, 24)
	v.press("g", "b")
	assert.Contains(t, v.screen(), "[ and ] go to frames")
	v.press("]", "]", "2", "b")
	v.golden("blame")
	v.press("j", "enter")
	assert.Contains(t, v.screen(), "diff --code l-1:1 l-1:2")
	v.press("esc", "}")
	assert.Contains(t, v.screen(), "other.txt")
	v.press("}")
	assert.Contains(t, v.screen(), nothingThere)
	left, ok := v.m.top().(*blameScreen)
	require.True(t, ok)
	left.stop = nil
	reading := left.load(v.m)
	v.press("esc")
	assert.Contains(t, v.screen(), "diff --code l-1:3 l-1:4", "back where it was opened")
	assert.Nil(t, reading(), "nobody waits for a file that was left")

	v.open("l-1:4", 120, 40)
	v.press("b")
	v.golden("blame-wide")
	v.open("l-1:4", 40, 10)
	v.press("2", "tab", "j", "j", "j", "j", "j", "j")
	assert.Contains(t, strings.Split(v.screen(), "\n")[3], "two", "the first line that is shown")
	v.press("b")
	v.golden("blame-narrow")
}

func TestALineThatNoRunWroteSaysItsCommit(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"list.yaml": strings.ReplaceAll(listYAML, "rm README", "echo more >>README"), "README": "as it was\n"})
	v.repo.Git("add", "README")
	v.repo.Git("commit", "--quiet", "--message=the readme")
	v.do(fault.ExitOK, "run", "list.yaml", "--run-id", "l-1")
	v.env = append(v.env, "GIT_SMITHERS_ASCII=1")
	v.open("l-1:4", 120, 40)
	v.press("b")
	commit := strings.TrimSpace(v.repo.Git("rev-parse", "HEAD"))[:8]
	screen := v.screen()
	assert.Regexp(t, " > "+commit+" +A U Thor +1 [|]as it was\n", screen)
	assert.Regexp(t, " {3}l-1:4 +second +2 [|]more\n", screen)
	assert.Contains(t, screen, "the readme")
	assert.Equal(t, -1, strings.IndexFunc(screen, func(r rune) bool { return r > 126 }))
	v.press("enter")
	assert.Contains(t, v.screen(), "no run wrote this line: commit "+commit+" of A U Thor did")
	v.press("/", "m", "o", "r", "enter", "enter")
	assert.Contains(t, v.screen(), "l-1:3 l-1:4")
}

// record records a session of a coding agent in which each prompt writes its file.
func (v *viewer) record(prompts, texts []string) {
	v.t.Helper()
	transcript := filepath.Join(v.t.TempDir(), "s.jsonl")
	require.NoError(v.t, os.WriteFile(transcript, nil, 0o600))
	hook := func(event string, members map[string]any) {
		members["session_id"], members["transcript_path"], members["hook_event_name"] = "s", transcript, event
		input, err := json.Marshal(members)
		require.NoError(v.t, err)
		agent.Hook{Agent: dialect.Claude, Event: event, Input: strings.NewReader(string(input)), Dir: v.repo.Dir, Env: v.env, Now: func() time.Time { return v.now }}.Run(v.t.Context())
	}
	for i, prompt := range prompts {
		v.now = v.now.Add(time.Minute)
		hook("UserPromptSubmit", map[string]any{"prompt": prompt})
		id := fmt.Sprint("c", i)
		line, err := json.Marshal(map[string]any{"type": "assistant", "message": map[string]any{"id": "m" + id, "content": []any{map[string]any{"type": "tool_use", "id": id, "name": "Edit", "input": map[string]any{"file_path": "notes.txt"}}}}})
		require.NoError(v.t, err)
		require.NoError(v.t, os.WriteFile(transcript, append(line, '\n'), 0o600))
		v.repo.Write("notes.txt", texts[i])
		hook("PostToolBatch", map[string]any{"tool_calls": []any{map[string]any{"tool_name": "Edit", "tool_use_id": id}}})
		hook("Stop", map[string]any{"last_assistant_message": "Done."})
	}
}

func TestALineOpensItsTurnAndNothingStoredControlsTheTerminal(t *testing.T) {
	t.Parallel()
	v := newViewer(t, nil)
	v.record([]string{"Write the notes " + hostile, "And the end"}, []string{"first " + hostile + "\n", "first " + hostile + "\nlast\n"})
	v.open("claude-s", 80, 24)
	v.press("[", "2", "b")
	v.golden("blame-session")
	assert.NotContains(t, v.m.View().Content, "\x1b]")
	assert.NotContains(t, v.m.View().Content, "\u202e")
	v.press("enter")
	v.golden("blame-turn")
	assert.NotContains(t, v.m.View().Content, "\x1b]")
	assert.NotContains(t, v.m.View().Content, "\u202e")
}
