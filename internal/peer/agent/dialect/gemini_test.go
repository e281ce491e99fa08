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

// What Gemini CLI 0.61.0 hands to its hooks, and writes to its file.
const (
	geminiHook = `{"session_id":"52c3b724-39b9-4f3c-9275-e397a90a7f6f","transcript_path":"/home/user/.gemini/tmp/repo/chats/session-2026-11-22T12-43-52c3b724.jsonl","cwd":"/repo","hook_event_name":"%","timestamp":"2026-11-22T12:43:58.493Z"`

	geminiHeader = `{"sessionId":"52c3b724-39b9-4f3c-9275-e397a90a7f6f","projectHash":"dbab1aaa","startTime":"2026-11-22T12:43:58.491Z","lastUpdated":"2026-11-22T12:43:58.491Z","kind":"main"}`
	geminiStart  = `{"$set":{"messages":[{"id":"d04923d3","timestamp":"2026-11-22T12:43:58.491Z","type":"user","content":[{"text":"<session_context>\nThis is a long text.\n- **Workspace Directories:**\n  - /repo\n- **Directory Structure:**\n\n/repo/\n├───notes.txt\n</session_context>"}]}],"lastUpdated":"2026-11-22T12:43:58.491Z"}}`
	geminiPrompt = `{"id":"ad10eaed","timestamp":"2026-11-22T12:43:58.603Z","type":"user","content":[{"text":"TASK-ONE please"}]}`
	geminiSaid   = `{"id":"f72cb4ea","timestamp":"2026-11-22T12:43:59.285Z","type":"gemini","content":"I will write a file.","thoughts":[],"tokens":{"input":160,"output":20,"cached":60,"thoughts":5,"tool":0,"total":185},"model":"gemini-2.5-flash"}`
	geminiDone   = `{"id":"f72cb4ea","timestamp":"2026-11-22T12:43:59.285Z","type":"gemini","content":"I will write a file.","thoughts":[],"tokens":{"input":160,"output":20,"cached":60,"thoughts":5,"tool":0,"total":185},"model":"gemini-2.5-flash","toolCalls":[{"id":"write_file__fc_1_0","name":"write_file","args":{"file_path":"hello.txt","content":"hello\n"},"result":[{"functionResponse":{"id":"write_file__fc_1_0","name":"write_file","response":{"output":"Successfully created and wrote to new file: /repo/hello.txt."}}}],"status":"success","timestamp":"2026-11-22T12:43:59.467Z"},{"id":"read_file__fc_1_1","name":"read_file","args":{"file_path":"x"},"result":[],"status":"error","timestamp":"2026-11-22T12:43:59.468Z"}]}`
	geminiResult = `{"id":"83fb3a26","timestamp":"2026-11-22T12:43:59.576Z","type":"user","content":[{"functionResponse":{"id":"write_file__fc_1_0","name":"write_file","response":{"output":"Successfully created and wrote to new file: /repo/hello.txt."}}}]}`
	geminiTime   = `{"$set":{"lastUpdated":"2026-11-22T12:43:59.576Z"}}`
)

// geminiEvent parses an event of Gemini CLI.
func geminiEvent(t *testing.T, name, members string) Event {
	t.Helper()
	ev, err := geminiHooks.parse("", []byte(strings.Replace(geminiHook, "%", name, 1)+members+"}"))
	require.NoError(t, err)
	return ev
}

func TestHooksOfGemini(t *testing.T) {
	t.Parallel()
	ev := geminiEvent(t, "SessionStart", `,"source":"startup"`)
	assert.Equal(t, Event{
		Kind: Started, Session: "52c3b724-39b9-4f3c-9275-e397a90a7f6f", Folder: "/repo",
		Transcript: "/home/user/.gemini/tmp/repo/chats/session-2026-11-22T12-43-52c3b724.jsonl",
	}, ev)
	ev = geminiEvent(t, "BeforeAgent", `,"prompt":"TASK-ONE please"`)
	assert.Equal(t, Prompted, ev.Kind)
	assert.Equal(t, "TASK-ONE please", ev.Prompt)
	ev = geminiEvent(t, "AfterAgent", `,"prompt":"TASK-ONE please","prompt_response":"All done.","stop_hook_active":false`)
	assert.Equal(t, Answered, ev.Kind)
	assert.Equal(t, "All done.", ev.Answer)
	assert.Empty(t, ev.Prompt)
	assert.Equal(t, Ended, geminiEvent(t, "SessionEnd", `,"reason":"exit"`).Kind)
	for _, name := range []string{"PreCompress", "BeforeModel", "AfterModel", "BeforeTool", "Notification", "New"} {
		assert.Equal(t, Ignored, geminiEvent(t, name, "").Kind, name)
	}
	_, err := geminiHooks.parse("", []byte(`{"hook_event_name":"AfterTool"}`))
	require.ErrorContains(t, err, "names no session")
}

func TestACallOfGeminiHasTheSameAliasInHookAndLine(t *testing.T) {
	t.Parallel()
	ev := geminiEvent(t, "AfterTool", `,"tool_name":"write_file","tool_input":{"content":"hello\n", "file_path":"hello.txt"},"tool_response":{"llmContent":"ok"}`)
	require.Len(t, ev.Calls, 1)
	call := ev.Calls[0]
	assert.Regexp(t, `^[0-9a-f]{16}$`, call.Alias)
	assert.Equal(t, Call{Tool: "write_file", Alias: call.Alias}, call)
	assert.True(t, ev.ChangesFiles())
	begun := readGemini([]byte(geminiDone)).Begun
	require.Len(t, begun, 2)
	assert.Equal(t, Call{
		ID: "write_file__fc_1_0", Tool: "write_file", Alias: call.Alias, Input: json.RawMessage(`{"file_path":"hello.txt","content":"hello\n"}`),
	}, begun[0])

	ev = geminiEvent(t, "AfterTool", `,"tool_name":"read_file","tool_input":{"file_path":"x"}`)
	assert.False(t, ev.ChangesFiles())
	assert.Equal(t, begun[1].Alias, ev.Calls[0].Alias)
	aliases := map[string]bool{}
	for _, input := range []string{`{"a":1}`, `{"a":1.0}`, `{"a":"<"}`, `{"a":12345678901234567890}`, `{"a":12345678901234567891}`, `{`, ``} {
		aliases[geminiAlias("x", json.RawMessage(input))] = true
	}
	assert.Len(t, aliases, 7)
	assert.Equal(t, geminiAlias("x", json.RawMessage(`{"a":"<","b":[1,{"c":2,"d":3}]}`)), geminiAlias("x", json.RawMessage(` {"b": [1, {"d":3,"c":2}],"a":"\u003c"}`)))
}

func TestLinesOfGemini(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Facts{Header: true, Session: "52c3b724-39b9-4f3c-9275-e397a90a7f6f"}, readGemini([]byte(geminiHeader)))
	assert.Equal(t, Facts{}, readGemini([]byte(geminiTime)))
	assert.Equal(t, Facts{}, readGemini([]byte(`{"$set":{"messages":1}}`)))
	assert.Equal(t, Facts{Answers: true, Undo: &Undo{From: "ad10eaed"}}, readGemini([]byte(`{"$rewindTo":"ad10eaed"}`)))
	assert.Equal(t, Facts{AtMs: 1795351438603, Part: "ad10eaed", Said: []Saying{{Role: User, Text: "TASK-ONE please"}}}, readGemini([]byte(geminiPrompt)))
	usage := Usage{Input: 100, Output: 25, CacheRead: 60}
	assert.Equal(t, Facts{
		Answers: true, AtMs: 1795351439285, Message: "f72cb4ea", Part: "f72cb4ea", Usage: usage, Model: "gemini-2.5-flash",
		Said: []Saying{{Role: Assistant, Text: "I will write a file."}},
	}, readGemini([]byte(geminiSaid)))

	done := readGemini([]byte(geminiDone))
	assert.Equal(t, []Result{
		{ID: "write_file__fc_1_0", AtMs: 1795351439467, Output: "Successfully created and wrote to new file: /repo/hello.txt."},
		{ID: "read_file__fc_1_1", Failed: true, AtMs: 1795351439468},
	}, done.Ended)
	assert.Empty(t, done.Said, "it was said in the line before")
	assert.Equal(t, usage, done.Usage)
	assert.Equal(t, Facts{Answers: true, AtMs: 1795351439576, Part: "83fb3a26"}, readGemini([]byte(geminiResult)))

	todos := readGemini([]byte(`{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"t","name":"write_todos","args":{"todos":[{"description":"a"}]},"status":"executing"}]}`))
	assert.JSONEq(t, `[{"description":"a"}]`, string(todos.Todos))
	assert.Empty(t, todos.Ended)
	assert.Equal(t, []Saying{{Role: Assistant, Text: "b"}}, readGemini([]byte(`{"id":"1","type":"gemini","content":[{"text":"a","thought":true},{"text":"b"}]}`)).Said)
	compressed := readGemini([]byte(`{"$set":{"messages":[{"id":"1","type":"user","content":"sum"},{"id":"2","type":"gemini","content":"ok","toolCalls":[{"id":"t","name":"x"}]}]}}`))
	assert.Equal(t, Facts{Answers: true, Summary: true, Undo: &Undo{All: true}}, compressed, "the calls were told before")
}

func TestOutputsOfGemini(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`[{"functionResponse":{"id":"t","name":"x","response":{"output":"a\nb"}}}]`:                           "a\nb",
		`[{"functionResponse":{"id":"t","name":"x","response":{"error":"File not found."}}}]`:                 "File not found.",
		`{"functionResponse":{"id":"t","name":"x","response":{"output":""}}}`:                                 "",
		`[{"functionResponse":{"id":"t","name":"x","response":{"rows":[1]}}}]`:                                `{"rows":[1]}`,
		`[{"functionResponse":{"id":"t","response":{"output":"a"}}},{"text":"b"},{"inlineData":{"data":""}}]`: "a\nb",
		`"a"`:  "a",
		`[]`:   "",
		`null`: "",
	} {
		line := readGemini([]byte(`{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"t","name":"x","status":"success","result":` + result + `}]}`))
		require.Len(t, line.Ended, 1, result)
		assert.Equal(t, want, line.Ended[0].Output, result)
	}
}

func TestLinesOfGeminiAreSlim(t *testing.T) {
	t.Parallel()
	start := readGemini([]byte(geminiStart))
	assert.Equal(t, "/repo", start.Folder)
	assert.NotContains(t, string(start.Slim), "long text")
	assert.NotContains(t, string(start.Slim), "notes.txt")
	again := readGemini(start.Slim)
	assert.Equal(t, "/repo", again.Folder)
	assert.Nil(t, again.Slim)
	assert.Nil(t, readGemini([]byte(geminiDone)).Slim)

	image := `{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}`
	note := "[left out: image/png, 5 bytes, SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]"
	assert.JSONEq(t, `{"id":"1","type":"user","content":[{"text":"look"},{"text":"`+note+`"}]}`,
		string(readGemini([]byte(`{"id":"1","type":"user","content":[{"text":"look"},`+image+`]}`)).Slim))
	assert.JSONEq(t, `{"id":"1","type":"user","content":[{"functionResponse":{"id":"t","response":{"output":"ok","leftOut":["`+note+`"]}}}]}`,
		string(readGemini([]byte(`{"id":"1","type":"user","content":[{"functionResponse":{"id":"t","response":{"output":"ok"},"parts":[`+image+`]}}]}`)).Slim))
}

// geminiCourse is a course of a session of Gemini CLI with the lines.
func geminiCourse(t *testing.T, lines ...string) (c Course, home string) {
	t.Helper()
	home = t.TempDir()
	c = Course{
		Sessions: []string{"52c3b724-39b9-4f3c-9275-e397a90a7f6f"}, Session: "0f0f0f0f-1111-4222-8333-444444444444", Folder: "/repo",
		Dir: "/work/Repo.2 what-if", Prompt: "-go on", AtMs: 1795351440000, Env: []string{"HOME=" + home},
	}
	for _, line := range lines {
		c.Lines = append(c.Lines, Line{Facts: readGemini([]byte(line)), Text: []byte(line)})
	}
	return c, home
}

func TestGeminiGoesOnWithACutConversation(t *testing.T) {
	t.Parallel()
	c, home := geminiCourse(t, geminiHeader, geminiStart, geminiPrompt, geminiTime, geminiSaid, geminiDone, geminiResult)
	c.Lines[1].Text = c.Lines[1].Slim
	got, err := resumeGemini(c)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(home, ".gemini/tmp/repo-2-what-if-0f0f0f0f/chats/session-2026-11-22T12-44-0f0f0f0f.jsonl"), got.File)
	assert.Equal(t, []string{"gemini", "--resume", c.Session, "--prompt-interactive=-go on"}, got.Command)
	data, err := os.ReadFile(got.File)
	require.NoError(t, err)
	assert.EqualValues(t, len(data), got.Size)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	require.Len(t, lines, 7, "the results are in the line of the calls")
	assert.JSONEq(t, `{"sessionId":"0f0f0f0f-1111-4222-8333-444444444444","kind":"main","startTime":"2026-11-22T12:44:00.000Z","lastUpdated":"2026-11-22T12:44:00.000Z",
"projectHash":"fcb70eac20b0801479bb8d1bce8931e7adfef1a27f7999e80b1a33560d18c21f"}`, lines[0])
	assert.Contains(t, lines[5], "/work/Repo.2 what-if/hello.txt")
	assert.NotContains(t, string(data), "/repo")
	assert.JSONEq(t, `{"$set":{"lastUpdated":"2026-11-22T12:44:00.000Z"}}`, lines[6])
	for _, base := range []string{"tmp", "history"} {
		root, err := os.ReadFile(filepath.Join(home, ".gemini", base, "repo-2-what-if-0f0f0f0f", ".project_root"))
		require.NoError(t, err)
		assert.Equal(t, c.Dir, string(root))
	}
	c.Session = "1f1f1f1f-1111-4222-8333-444444444444"
	got, err = resumeGemini(c)
	require.NoError(t, err)
	assert.Contains(t, got.File, "repo-2-what-if-0f0f0f0f", "the project has a folder")
}

func TestGeminiGoesOnInTheFolderOfItsRegistry(t *testing.T) {
	t.Parallel()
	c, home := geminiCourse(t, geminiHeader, geminiPrompt)
	registry := filepath.Join(home, ".gemini", "projects.json")
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".gemini/tmp/mine"), 0o700))
	require.NoError(t, os.WriteFile(registry, []byte(`{"projects":{"/work/Repo.2 what-if":"mine"}}`), 0o600))
	got, err := resumeGemini(c)
	require.NoError(t, err)
	assert.Contains(t, got.File, "/.gemini/tmp/mine/chats/")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gemini/tmp/mine/.project_root"), []byte("/other"), 0o600))
	got, err = resumeGemini(c)
	require.NoError(t, err)
	assert.Contains(t, got.File, "/.gemini/tmp/repo-2-what-if-0f0f0f0f/chats/")

	c.Env = []string{"HOME=" + home, "GEMINI_CLI_HOME=" + filepath.Join(home, "other")}
	got, err = resumeGemini(c)
	require.NoError(t, err)
	assert.Contains(t, got.File, "/other/.gemini/tmp/")
	c.Env = nil
	_, err = resumeGemini(c)
	require.ErrorContains(t, err, "HOME is not set")
}

func TestGeminiStartsAnewWhereNothingWasSaid(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		nil,
		{geminiHeader, geminiStart},
		{geminiPrompt, `{"$rewindTo":"ad10eaed"}`},
		{geminiPrompt, `{"$rewindTo":"gone"}`},
		{geminiPrompt, geminiDone, `{"$set":{"messages":[]}}`},
	} {
		c, home := geminiCourse(t, lines...)
		c.Prompt = ""
		got, err := resumeGemini(c)
		require.NoError(t, err)
		assert.Equal(t, Resumed{Command: []string{"gemini", "--session-id", c.Session}}, got)
		assert.NoDirExists(t, filepath.Join(home, ".gemini"))
	}
	for _, lines := range [][]string{
		{geminiPrompt},
		{geminiPrompt, geminiDone, `{"$rewindTo":"f72cb4ea"}`},
		{geminiStart, geminiDone, geminiTime},
	} {
		c, _ := geminiCourse(t, lines...)
		assert.True(t, hasGeminiTalk(c.Lines))
	}
}
