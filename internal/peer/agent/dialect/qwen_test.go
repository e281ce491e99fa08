package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What Qwen Code 0.24.4 hands to its hooks, and writes to its file.
const (
	qwenHook   = `{"session_id":"d9219d18-764f-4267-b337-93879f1fe591","transcript_path":"/home/user/.qwen/projects/-repo/chats/d9219d18-764f-4267-b337-93879f1fe591.jsonl","cwd":"/repo","hook_event_name":"%","timestamp":"2026-12-01T01:04:38.188Z","permission_mode":"yolo"`
	qwenPrompt = `{"uuid":"9a08184f","parentUuid":null,"sessionId":"d9219d18-764f-4267-b337-93879f1fe591","timestamp":"2026-12-01T01:04:39.395Z","type":"user","provenance":"real_user","cwd":"/repo","version":"0.24.4","gitBranch":"main","message":{"role":"user","parts":[{"text":"<system-reminder>\n1 background agent was restored.\n</system-reminder>\n\n"},{"text":"TASK-ONE"}]}}`
	qwenFigure = `{"uuid":"23dc5c47","parentUuid":"9a08184f","sessionId":"d9219d18-764f-4267-b337-93879f1fe591","timestamp":"2026-12-01T01:04:41.603Z","type":"system","cwd":"/repo","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","response_text":"I write."}}}`
	qwenAnswer = `{"uuid":"757ae978","parentUuid":"23dc5c47","sessionId":"d9219d18-764f-4267-b337-93879f1fe591","timestamp":"2026-12-01T01:04:41.677Z","type":"assistant","cwd":"/repo","model":"fake-1","message":{"role":"model","parts":[{"text":"I think.","thought":true},{"text":"I write."},{"functionCall":{"id":"call_1_0","name":"write_file","args":{"file_path":"/repo/hello.txt"}}}]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":5,"totalTokenCount":125,"cachedContentTokenCount":60}}`
	qwenResult = `{"uuid":"bde24841","parentUuid":"757ae978","sessionId":"d9219d18-764f-4267-b337-93879f1fe591","timestamp":"2026-12-01T01:04:42.197Z","type":"tool_result","cwd":"/repo","message":{"role":"user","parts":[{"functionResponse":{"id":"call_1_0","name":"write_file","response":{"output":"Wrote it."}}}]},"toolCallResult":{"callId":"call_1_0","status":"success"}}`
	qwenShort  = `{"uuid":"52386100","parentUuid":"bde24841","sessionId":"d9219d18-764f-4267-b337-93879f1fe591","timestamp":"2026-12-01T01:37:36.200Z","type":"system","cwd":"/repo","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"The summary of /repo."}]}]}}`
)

// qwenEvent parses an event of Qwen Code.
func qwenEvent(t *testing.T, name, members string) Event {
	t.Helper()
	ev, err := qwen.Parse("", []byte(strings.Replace(qwenHook, "%", name, 1)+members+"}"))
	require.NoError(t, err)
	return ev
}

func TestQwenAsksWithoutAPromptAfterTools(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Ignored, qwenEvent(t, "UserPromptSubmit", `,"prompt":""`).Kind)
	ev := qwenEvent(t, "UserPromptSubmit", `,"prompt":"<system-reminder>\n1 agent\n</system-reminder>\n\nTASK-ONE","submitted_prompt":"TASK-ONE"`)
	assert.Equal(t, Prompted, ev.Kind)
	assert.Equal(t, "TASK-ONE", ev.Prompt)
	ev = qwenEvent(t, "PostToolBatch", `,"tool_calls":[{"tool_name":"read_file","tool_use_id":"call_1_0","status":"success"}]`)
	assert.Equal(t, []Call{{ID: "call_1_0", Tool: "read_file", ReadOnly: true}}, ev.Calls)
	assert.Equal(t, Answered, qwenEvent(t, "Stop", `,"last_assistant_message":"Done."`).Kind)
	assert.True(t, qwenEvent(t, "StopFailure", `,"last_assistant_message":"No."`).Failed)
	ev = qwenEvent(t, "SubagentStop", `,"agent_id":"general-purpose-call_1","agent_transcript_path":"/a.jsonl"`)
	assert.Equal(t, "general-purpose-call_1", ev.Subagent)
	assert.Equal(t, "/home/.qwen/projects/-r/subagents/s/agent-a.jsonl", qwen.SubagentFile("/home/.qwen/projects/-r/chats/s.jsonl", "a"))
}

func TestLinesOfQwen(t *testing.T) {
	t.Parallel()
	facts := readQwen([]byte(qwenPrompt))
	assert.Equal(t, []Saying{{Role: User, Text: "TASK-ONE"}}, facts.Said)
	assert.Equal(t, &Link{ID: "9a08184f"}, facts.Link)
	assert.Equal(t, "/repo", facts.Folder)

	facts = readQwen([]byte(qwenFigure))
	assert.True(t, facts.Vendor)
	assert.JSONEq(t, `{"parentUuid":"9a08184f","subtype":"ui_telemetry","type":"system","uuid":"23dc5c47"}`, string(facts.Slim))
	assert.True(t, readQwen(facts.Slim).LeftOut)

	facts = readQwen([]byte(qwenAnswer))
	assert.Equal(t, Usage{Input: 40, Output: 25, CacheRead: 60}, facts.Usage)
	assert.Equal(t, "fake-1", facts.Model)
	assert.Equal(t, []Saying{{Role: Assistant, Text: "I write."}}, facts.Said)
	assert.Equal(t, []Call{{ID: "call_1_0", Tool: "write_file", Input: json.RawMessage(`{"file_path":"/repo/hello.txt"}`)}}, facts.Begun)

	assert.Equal(t, []Result{{ID: "call_1_0", Output: "Wrote it."}}, readQwen([]byte(qwenResult)).Ended)
	for _, failed := range []string{
		strings.Replace(qwenResult, `"status":"success"`, `"status":"error"`, 1),
		strings.NewReplacer(`,"status":"success"`, ``, `"output"`, `"error"`).Replace(qwenResult), // of a subagent
	} {
		assert.Equal(t, []Result{{ID: "call_1_0", Failed: true, Output: "Wrote it."}}, readQwen([]byte(failed)).Ended)
	}
	assert.True(t, readQwen([]byte(qwenShort)).Summary)
	for subtype, want := range map[string][]Saying{
		"notification": nil, "cron": nil, "mid_turn_user_message": {{Role: User, Text: "TASK-ONE", Beside: true}},
	} {
		assert.Equal(t, want, readQwen([]byte(strings.Replace(qwenPrompt, `"type":"user"`, `"type":"user","subtype":"`+subtype+`"`, 1))).Said, subtype)
	}
	forked := readQwen([]byte(strings.TrimSuffix(qwenResult, "}") + `,"forkedFrom":{"sessionId":"other","messageUuid":"bde24841"}}`))
	assert.Equal(t, "other", forked.ForkOf)
	assert.True(t, forked.Copied)
}

func TestQwenGoesOnWithACutConversation(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	course := Course{
		Sessions: []string{"d9219d18-764f-4267-b337-93879f1fe591"}, Session: "00000000-0000-4000-8000-000000000000",
		Folder: "/repo", Dir: "/work/what.if", Prompt: "go on", Env: []string{"HOME=" + home},
	}
	for _, line := range []string{qwenPrompt, qwenFigure, qwenAnswer, qwenResult, qwenShort} {
		facts := readQwen([]byte(line))
		text := []byte(line)
		if facts.Slim != nil {
			text = facts.Slim
			facts = readQwen(text)
		}
		course.Lines = append(course.Lines, Line{Facts: facts, Text: text})
	}
	got, err := qwen.Resume(course)
	require.NoError(t, err)
	assert.Equal(t, []string{"qwen", "--resume", course.Session, "--prompt-interactive=go on"}, got.Command)
	assert.Equal(t, filepath.Join(home, ".qwen", "projects", "-work-what-if", "chats", course.Session+".jsonl"), got.File)
	text, err := os.ReadFile(got.File)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 4, "figures are left out")
	assert.Contains(t, lines[1], `"parentUuid":"9a08184f"`)
	assert.Contains(t, lines[3], "The summary of /work/what.if.")
	assert.NotContains(t, string(text), "d9219d18")
	assert.NotContains(t, string(text), `"/repo`)

	course.Env = append(course.Env, "QWEN_HOME="+filepath.Join(home, "own"), "QWEN_RUNTIME_DIR="+filepath.Join(home, "run"))
	got, err = qwen.Resume(course)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(got.File, filepath.Join(home, "run", "projects")), got.File)
	course.Lines = nil
	got, err = qwen.Resume(course)
	require.NoError(t, err)
	assert.Equal(t, Resumed{Command: []string{"qwen", "--session-id", course.Session, "--prompt-interactive=go on"}}, got)
}
