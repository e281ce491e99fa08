package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lines of a file of GitHub Copilot CLI 1.0.102, without members that say nothing here.
const (
	copilotStart  = `{"type":"session.start","data":{"sessionId":"s1","version":1,"selectedModel":"fake-1","context":{"cwd":"/repo","gitRoot":"/repo"}},"id":"e1","timestamp":"2026-11-22T12:42:12.093Z","parentId":null}`
	copilotSystem = `{"type":"system.message","data":{"role":"system","content":"You are the GitHub Copilot CLI"},"id":"e2","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e1"}`
	copilotPrompt = `{"type":"user.message","data":{"content":"Write it","transformedContent":"<current_datetime/>Write it","delivery":"idle"},"id":"e3","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e2"}`
	copilotUsage  = `{"type":"session.usage_record","data":{"usage":{"model":"fake-1","inputTokens":10,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":1}},"id":"e4","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e3"}`
	copilotCall   = `{"type":"assistant.message","data":{"content":"I write.","toolRequests":[{"toolCallId":"c1","name":"create","arguments":{"path":"/repo/a","file_text":"a"}}]},"id":"e5","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e4"}`
	copilotResult = `{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"Created"}},"id":"e6","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e5"}`
	copilotRewind = `{"type":"session.snapshot_rewind","data":{"upToEventId":"e3","eventsRemoved":4},"id":"e7","timestamp":"2026-11-22T12:42:12.093Z","parentId":"e6"}`
)

func TestEventsOfCopilot(t *testing.T) {
	t.Parallel()
	args := `"toolName":"bash","toolArgs":{"command":"ls","description":"d"}`
	alias := geminiAlias("bash", []byte(`{"description":"d","command":"ls"}`))
	for _, c := range []struct {
		event, input string
		want         Event
	}{
		{"sessionStart", `{"sessionId":"s","cwd":"/repo","source":"new"}`, Event{Kind: Started, Session: "s", Folder: "/repo"}},
		{"userPromptSubmitted", `{"sessionId":"s","prompt":"do"}`, Event{Kind: Prompted, Session: "s", Prompt: "do"}},
		{"postToolUse", `{"sessionId":"s",` + args + `}`, Event{Kind: Called, Session: "s", Calls: []Call{{Tool: "bash", Alias: alias}}}},
		{"postToolUseFailure", `{"sessionId":"s","error":"no",` + args + `}`, Event{Kind: Called, Session: "s", Calls: []Call{{Tool: "bash", Alias: alias}}}},
		{"postToolUse", `{"sessionId":"s","toolName":"bash","toolArgs":"{\"command\":\"ls\",\"description\":\"d\"}"}`, Event{Kind: Called, Session: "s", Calls: []Call{{Tool: "bash", Alias: alias}}}},
		{"postToolUse", `{"sessionId":"sub","agentId":"sub","parentAgentId":"s",` + args + `}`, Event{Kind: Called, Session: "s", Subagent: "sub", Calls: []Call{{Tool: "bash", Alias: alias}}}},
		{"userPromptSubmitted", `{"sessionId":"sub","agentId":"sub","parentAgentId":"s","prompt":"count"}`, Event{Kind: Ignored, Session: "s", Subagent: "sub", Prompt: "count"}},
		{"agentStop", `{"sessionId":"sub","agentId":"sub","parentAgentId":"other","transcriptPath":"/x/s/events.jsonl"}`, Event{Kind: Ignored, Session: "s", Subagent: "sub", Transcript: "/x/s/events.jsonl"}},
		{"subagentStop", `{"sessionId":"s","agentId":"sub","parentAgentId":"s"}`, Event{Kind: Delegated, Session: "s", Subagent: "sub"}},
		{"preCompact", `{"sessionId":"s"}`, Event{Kind: Compacting, Session: "s"}},
		{"agentStop", `{"sessionId":"s","transcriptPath":"/x/s/events.jsonl"}`, Event{Kind: Answered, Session: "s", Transcript: "/x/s/events.jsonl"}},
		{"sessionEnd", `{"sessionId":"s","timestamp":1796088650480}`, Event{Kind: Ended, Session: "s", Mark: `"timestamp":1796088650480`}},
		{"preToolUse", `{"sessionId":"s",` + args + `}`, Event{Kind: Ignored, Session: "s"}},
	} {
		got, err := copilot.Parse(c.event, []byte(c.input))
		require.NoError(t, err, c.input)
		assert.Equal(t, c.want, got, c.event)
	}
	assert.Equal(t, "/h/.copilot/session-state/s/events.jsonl", copilotFile([]string{"HOME=/h"}, "s"))
	assert.Equal(t, "/c/session-state/s/events.jsonl", copilotFile([]string{"HOME=/h", "COPILOT_HOME=/c"}, "s"))
}

func TestLinesOfCopilot(t *testing.T) {
	t.Parallel()
	const at = 1795351332093
	input := `{"path":"/repo/a","file_text":"a"}`
	for line, want := range map[string]Facts{
		copilotStart:  {Header: true, Session: "s1", Folder: "/repo", Model: "fake-1", ID: "e1", Part: "e1"},
		copilotSystem: {Vendor: true, ID: "e2", Part: "e2"},
		copilotPrompt: {Said: []Saying{{Role: User, Text: "Write it"}}, ID: "e3", Part: "e3"},
		copilotUsage: {
			Answers: true, Message: "e4", Model: "fake-1", Usage: Usage{Input: 6, Output: 2, CacheRead: 3, CacheCreation: 1}, ID: "e4", Part: "e4",
		},
		copilotCall: {
			Answers: true, Said: []Saying{{Role: Assistant, Text: "I write."}}, ID: "e5", Part: "e5",
			Begun: []Call{{ID: "c1", Tool: "create", Input: []byte(input), Alias: geminiAlias("create", []byte(input))}},
		},
		copilotResult: {Answers: true, Ended: []Result{{ID: "c1", Output: "Created"}}, ID: "e6", Part: "e6"},
		copilotRewind: {Answers: true, Undo: &Undo{From: "e3"}, ID: "e7", Part: "e7"},
		strings.Replace(copilotResult, `"success":true`, `"success":true,"shellExecution":{"exitCode":1}`, 1): {
			Answers: true, Ended: []Result{{ID: "c1", Failed: true, Output: "Created"}}, ID: "e6", Part: "e6",
		},
		strings.Replace(copilotResult, `"success":true,"result":{"content":"Created"}`, `"success":false,"error":{"message":"no"}`, 1): {
			Answers: true, Ended: []Result{{ID: "c1", Failed: true, Output: "no"}}, ID: "e6", Part: "e6",
		},
		strings.Replace(copilotPrompt, `"delivery"`, `"source":"agent-s1","delivery"`, 1):     {ID: "e3", Part: "e3"},
		strings.Replace(copilotPrompt, `"idle"`, `"steering"`, 1):                             {Said: []Saying{{Role: User, Text: "Write it", Beside: true}}, ID: "e3", Part: "e3"},
		strings.Replace(copilotPrompt, `"type"`, `"agentId":"sub","type"`, 1):                 {Aside: true, Said: []Saying{{Role: User, Text: "Write it"}}, ID: "e3", Part: "e3"},
		strings.Replace(copilotPrompt, `"delivery"`, `"isAutopilotContinuation":true,"d"`, 1): {ID: "e3", Part: "e3"},
	} {
		want.AtMs = at
		assert.Equal(t, want, copilot.Read([]byte(line)), line)
	}
	assert.True(t, copilot.Read([]byte(`{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"s"},"id":"e"}`)).Summary)
	fork := `{"type":"session.info","data":{"infoType":"fork","message":"Forked from \"A (b) as \" (s1) as \"A (fork)\" (s2)."},"id":"e"}`
	assert.Equal(t, "s1", copilot.Read([]byte(fork)).ForkOf)
	failed := copilot.Read([]byte(`{"type":"session.error","data":{"message":"no model"},"id":"e"}`))
	assert.True(t, failed.Failed)
	assert.Equal(t, "no model", failed.Notice)
}

// A course has neither the lines of subagents, nor of the vendor. Its lines follow each other.
func TestACutConversationOfCopilot(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	course := Course{
		Sessions: []string{"s1"}, Session: "s2", Folder: "/repo", Dir: "/other", Prompt: "-p", Env: []string{"COPILOT_HOME=" + home},
	}
	for _, line := range []string{copilotStart, copilotPrompt, strings.Replace(copilotPrompt, `"type"`, `"agentId":"sub","type"`, 1), copilotCall} {
		course.Lines = append(course.Lines, Line{Facts: copilot.Read([]byte(line)), Text: []byte(line)})
	}
	out, err := copilot.Resume(course)
	require.NoError(t, err)
	assert.Equal(t, []string{"copilot", "--resume=s2", "--interactive=-p"}, out.Command)
	assert.Equal(t, filepath.Join(home, "session-state", "s2", "events.jsonl"), out.File)
	text, err := os.ReadFile(out.File)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Len(t, lines, 3)
	assert.Contains(t, lines[0], `"sessionId":"s2"`)
	assert.Contains(t, lines[1], `"parentId":"e1"`)
	assert.Contains(t, lines[2], `"parentId":"e3"`)
	assert.Contains(t, lines[2], `"/other/a"`)

	course.Lines = course.Lines[:1] // nothing was said
	out, err = copilot.Resume(course)
	require.NoError(t, err)
	assert.Equal(t, Resumed{Command: []string{"copilot", "--session-id=s2", "--interactive=-p"}}, out)
}
