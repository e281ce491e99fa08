package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// subjects returns the subjects of the session's entries, the newest last.
func (s *session) subjects() []string {
	s.t.Helper()
	return strings.Split(strings.TrimSpace(s.Git("log", "--reverse", "--format=%s", "refs/smithers/_tip/claude-s")), "\n")
}

// used returns what the session's table of tokens says of a turn.
func (s *session) used(turn int) string {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	value, _, err := state.Outputs("usage").Get(snapshot.Key("turn", turn))
	require.NoError(s.t, err)
	return string(value)
}

// An agent writes more between two hooks than a hook reads. Until a hook has caught up, later prompts come; the lines count for the turn in which they were
// said all the same, a course keeps what was said before its frame, and after the last hook all is there.
func TestLinesThatAreReadLateCountForTheirTurn(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	asked := func(turn int) string {
		return fmt.Sprintf(`{"type":"user","message":{"content":"prompt %d"}}`+"\n", turn)
	}
	// read is a call of a tool that no hook tells of, with 1 MB of text and ten tokens.
	read := func(id string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":10},"content":[{"type":"tool_use","id":"%[1]s","name":"Read","input":{}}]}}`+"\n"+
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"%[1]s","content":%[2]q}]}}`+"\n", id, strings.Repeat("many words ", 100_000))
	}
	done := func(turn int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"d%d","content":[{"type":"text","text":"done %[1]d"}]}}`+"\n", turn)
	}
	const turns, calls = 3, 7
	for turn := 1; turn <= turns; turn++ {
		s.event("UserPromptSubmit", fmt.Sprintf(`,"prompt":"prompt %d"`, turn))
		s.say(asked(turn))
		for call := range calls {
			s.say(read(fmt.Sprintf("c%d%d", turn, call)))
		}
		s.say(done(turn))
		if turn == 2 {
			s.event("Stop", fmt.Sprintf(`,"last_assistant_message":"done %d"`, turn))
		}
	}
	assert.Less(t, len(s.calls()), turns*calls, "the hooks are behind")
	s.event("SessionEnd", "")
	assert.Equal(t, []string{
		"turn 1: prompt 1", "turn 2: prompt 2", "turn 2 finished", "turn 3: prompt 3", "session ended", "more of the conversation",
	}, slices.Compact(s.subjects()))
	of := make(map[int]int)
	for _, call := range s.calls() {
		of[call.Iteration]++
		assert.Equal(t, snapshot.ToolCallSucceeded, call.Status)
		assert.Equal(t, fmt.Sprint("c", call.Iteration), call.CallToken[:2])
	}
	assert.Equal(t, map[int]int{1: calls, 2: calls, 3: calls}, of)
	for turn := 1; turn <= turns; turn++ {
		assert.Contains(t, s.used(turn), `"inputTokens":70`, "turn %d", turn)
	}
	perTurn := 2*calls + 2
	for from, kept := range map[string]int{"turn:1": 0, "turn:2": perTurn, "turn:3": 2 * perTurn} {
		assert.Equal(t, kept, s.whatIf("claude-s@"+from).Kept, from)
	}
	assert.Equal(t, 2*perTurn, s.whatIf("claude-s:2").Kept, "behind the second turn")
}
