package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Claude Code can write the result of a subagent's last call after SubagentStop, and no later event names the subagent's file.
func TestASubagentCanWriteAResultAfterItsHook(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	folder := filepath.Join(strings.TrimSuffix(s.transcript, ".jsonl"), "subagents")
	require.NoError(t, os.MkdirAll(folder, 0o777))
	path := filepath.Join(folder, "agent-a1.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(callLine), 0o600))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.event("SubagentStop", fmt.Sprintf(`,"agent_id":"a1","agent_transcript_path":%q`, path))
	require.Equal(t, snapshot.ToolCallIntended, s.calls()[0].Status)
	require.NoError(t, os.WriteFile(path, []byte(callLine+answerLine), 0o600))
	s.event("Stop", "")
	calls := s.calls()
	require.Len(t, calls, 1)
	assert.Equal(t, snapshot.ToolCallSucceeded, calls[0].Status)
	assert.Equal(t, "a1", calls[0].OutputAt.Transcript)
}
