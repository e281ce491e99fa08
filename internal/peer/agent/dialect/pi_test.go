package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lines of a session file of pi 0.73.1.
const (
	piSession = `{"type":"session","version":3,"id":"01a20347-44e6-7404-8aaa-973ea4abaeef","timestamp":"2026-11-22T12:42:12.093Z","cwd":"/repo"}`
	piModel   = `{"type":"model_change","id":"8b07e8bb","parentId":null,"timestamp":"2026-11-22T12:42:12.573Z","provider":"fake","modelId":"fake-1"}`
	piPrompt  = `{"type":"message","id":"2389259a","parentId":"8b07e8bb","timestamp":"2026-11-22T12:42:12.587Z","message":{"role":"user","content":[{"type":"text","text":"TASK-ONE please"}],"timestamp":1795351332585}}`
	piCall    = `{"type":"message","id":"6b86e1e8","parentId":"2389259a","timestamp":"2026-11-22T12:42:13.180Z","message":{"role":"assistant","content":[{"type":"text","text":"I will write."},{"type":"toolCall","id":"call_1_0","name":"write","arguments":{"path":"/repo/hello.txt","content":"hello\n"}}],"api":"openai-completions","provider":"fake","model":"fake-1","usage":{"input":160,"output":20,"cacheRead":3,"cacheWrite":4,"totalTokens":187},"stopReason":"toolUse","timestamp":1795351333053,"responseId":"chat_1"}}`
	piResult  = `{"type":"message","id":"96d6c700","parentId":"6b86e1e8","timestamp":"2026-11-22T12:42:13.204Z","message":{"role":"toolResult","toolCallId":"call_1_0","toolName":"write","content":[{"type":"text","text":"Successfully wrote 6 bytes to hello.txt"}],"isError":false,"timestamp":1795351333204}}`
)

func TestPiSaysWhatHappens(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]Event{
		`{"session":"s","event":"prompt","cwd":"/repo","transcript":"/t","prompt":"do"}`: {Kind: Prompted, Session: "s", Folder: "/repo", Transcript: "/t", Prompt: "do"},
		`{"session":"s","event":"tool","tools":[{"id":"a","name":"bash","failed":true,"readOnly":false},{"id":"b","name":"read","failed":false,"readOnly":true}]}`: {
			Kind: Called, Session: "s", Calls: []Call{{ID: "a", Tool: "bash"}, {ID: "b", Tool: "read", ReadOnly: true}},
		},
		`{"session":"s","event":"answer","answer":"done"}`: {Kind: Answered, Session: "s", Answer: "done"},
		`{"session":"s","event":"compact"}`:                {Kind: Compacting, Session: "s"},
		`{"session":"s","event":"start"}`:                  {Kind: Started, Session: "s"},
		`{"session":"s","event":"end"}`:                    {Kind: Ended, Session: "s"},
		`{"session":"s","event":"other","new":1}`:          {Kind: Ignored, Session: "s"},
	} {
		got, err := pi.Parse("", []byte(input))
		require.NoError(t, err, input)
		assert.Equal(t, want, got, input)
	}
}

func TestPiSessionFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want Facts
	}{
		{piSession, Facts{Header: true, Folder: "/repo", AtMs: 1795351332093, Session: "01a20347-44e6-7404-8aaa-973ea4abaeef"}},
		{piModel, Facts{Header: true, AtMs: 1795351332573, Link: &Link{ID: "8b07e8bb"}}},
		{piPrompt, Facts{AtMs: 1795351332587, Part: "2389259a", Link: &Link{ID: "2389259a", Parent: "8b07e8bb"}, Said: []Saying{{Role: User, Text: "TASK-ONE please"}}}},
		{piCall, Facts{
			Answers: true, AtMs: 1795351333180, Message: "6b86e1e8", Model: "fake-1", Part: "6b86e1e8", Link: &Link{ID: "6b86e1e8", Parent: "2389259a"}, Usage: Usage{Input: 160, Output: 20, CacheRead: 3, CacheCreation: 4},
			Begun: []Call{{ID: "call_1_0", Tool: "write", Input: []byte(`{"path":"/repo/hello.txt","content":"hello\n"}`)}},
			Said:  []Saying{{Role: Assistant, Text: "I will write."}},
		}},
		{strings.Replace(piCall, `"toolUse"`, `"aborted"`, 1), Facts{
			Answers: true, AtMs: 1795351333180, Message: "6b86e1e8", Model: "fake-1", Part: "6b86e1e8", Link: &Link{ID: "6b86e1e8", Parent: "2389259a"}, Usage: Usage{Input: 160, Output: 20, CacheRead: 3, CacheCreation: 4},
			Said: []Saying{{Role: Assistant, Text: "I will write."}},
		}},
		{piResult, Facts{
			Answers: true, AtMs: 1795351333204, Part: "96d6c700", Link: &Link{ID: "96d6c700", Parent: "6b86e1e8"}, Ended: []Result{{ID: "call_1_0", Output: "Successfully wrote 6 bytes to hello.txt"}},
		}},
		{strings.Replace(piResult, `"isError":false`, `"isError":true`, 1), Facts{
			Answers: true, AtMs: 1795351333204, Part: "96d6c700", Link: &Link{ID: "96d6c700", Parent: "6b86e1e8"},
			Ended: []Result{{ID: "call_1_0", Failed: true, Output: "Successfully wrote 6 bytes to hello.txt"}},
		}},
		{`{"type":"message","message":{"role":"user","content":"as one text"}}`, Facts{Said: []Saying{{Role: User, Text: "as one text"}}}},
		{`{"type":"custom_message","customType":"x","content":"of an extension"}`, Facts{}},
		{`{"type":"message","message":{"role":"user","content":[{"type":"image","data":"x"},{"type":"text","text":""}]}}`, Facts{}},
		{`{"type":"message","message":{"role":"bashExecution","command":"ls","output":"x"}}`, Facts{Answers: true}},
		{`{"type":"compaction","id":"a","summary":"x","firstKeptEntryId":"b"}`, Facts{Answers: true, Link: &Link{ID: "a"}}},
		{`{"type":"message","id":"s","message":{"role":"system","content":"","sections":{"preamble":"x"}}}`, Facts{Part: "s", Link: &Link{ID: "s"}}},
		{`{"type":"branch_summary","id":"a","parentId":"b","fromId":"c","summary":"x","usage":{"input":7,"output":2}}`, Facts{Answers: true, Link: &Link{ID: "a", Parent: "b"}, Message: "a", Usage: Usage{Input: 7, Output: 2}}},
		{`{"type":"usage","id":"a","kind":"cache_warm","provider":"p","model":"fake-1","usage":{"cacheRead":9}}`, Facts{Link: &Link{ID: "a"}, Message: "a", Model: "fake-1", Usage: Usage{CacheRead: 9}}},
		{`{"type":"custom","customType":"x","data":{}}`, Facts{}},
		{`{"type":"message","message":[]}`, Facts{}},
		{`no JSON`, Facts{}},
	} {
		assert.Equal(t, c.want, readPi([]byte(c.line)), c.line)
	}
}

// piCourse is a course of lines of a session of pi.
func piCourse(t *testing.T, lines ...string) Course {
	t.Helper()
	c := Course{
		Sessions: []string{"01a20347-44e6-7404-8aaa-973ea4abaeef"}, Session: "new", Folder: "/repo", Dir: "/work/re.po:2",
		Prompt: "other", AtMs: 1795351332093, Env: []string{"HOME=" + t.TempDir()},
	}
	for _, l := range lines {
		c.Lines = append(c.Lines, Line{Facts: readPi([]byte(l)), Text: []byte(l)})
	}
	return c
}

// resumed returns the lines of the file that a course of pi writes, and checks the file and the command.
func resumed(t *testing.T, c Course, dir, folder string) []string {
	t.Helper()
	r, err := resumePi(c)
	require.NoError(t, err)
	text, err := os.ReadFile(r.File)
	require.NoError(t, err)
	assert.Equal(t, int64(len(text)), r.Size)
	assert.Equal(t, dir, filepath.Dir(r.File))
	assert.Equal(t, "2026-11-22T12-42-12-093Z_new.jsonl", filepath.Base(r.File))
	assert.Equal(t, []string{"pi", "--session", r.File, "other"}, r.Command)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.JSONEq(t, `{"type":"session","version":3,"id":"new","timestamp":"2026-11-22T12:42:12.093Z","cwd":"`+folder+`"}`, lines[0])
	return lines[1:]
}

func TestPiGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	c := piCourse(t, piSession, piModel, piPrompt, piCall, piResult)
	home := strings.TrimPrefix(c.Env[0], "HOME=")
	dir := filepath.Join(home, ".pi", "agent", "sessions", "--work-re.po-2--")
	moved := strings.Replace(piCall, "/repo/hello.txt", "/work/re.po:2/hello.txt", 1)
	assert.Equal(t, []string{piModel, piPrompt, moved, piResult}, resumed(t, c, dir, "/work/re.po:2"))

	below := strings.Replace(piSession, `"/repo"`, `"/repo/sub"`, 1)
	elsewhere := strings.Replace(piSession, `"/repo"`, `"/elsewhere"`, 1)
	for _, header := range []string{below, elsewhere} {
		c := piCourse(t, header, piModel)
		c.Env = append(c.Env, "PI_CODING_AGENT_SESSION_DIR="+filepath.Join(home, "flat"))
		folder := map[string]string{below: "/work/re.po:2/sub", elsewhere: "/work/re.po:2"}[header]
		assert.Equal(t, []string{piModel}, resumed(t, c, filepath.Join(home, "flat"), folder))
	}

	c = piCourse(t)
	c.Env = []string{"HOME=" + home, "PI_CODING_AGENT_DIR=~/config"}
	assert.Empty(t, resumed(t, c, filepath.Join(home, "config", "sessions", "--work-re.po-2--"), "/work/re.po:2"))

	c.Env = nil
	_, err := resumePi(c)
	assert.ErrorContains(t, err, "HOME is not set")
}

func TestPiLinesAreATreeAgain(t *testing.T) {
	t.Parallel()
	c := piCourse(t, piSession, piModel, piSession, piModel, piPrompt, piResult) // the line with the call was too long
	c.Sessions = nil
	want := strings.Replace(piResult, `"parentId":"6b86e1e8"`, `"parentId":"2389259a"`, 1)
	assert.Equal(t, piModel+"\n"+piPrompt+"\n"+want+"\n", string(relinkPi(c)))
	orphan := strings.Replace(piPrompt, `"parentId":"8b07e8bb"`, `"parentId":null`, 1)
	assert.Equal(t, orphan+"\n", string(relinkPi(piCourse(t, piPrompt))))
}

func TestPiPromptsAreNoOptions(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{"-x": {" -x"}, "@x": {" @x"}, "x -y": {"x -y"}, "": {}} {
		c := piCourse(t, piSession)
		c.Prompt = prompt
		r, err := resumePi(c)
		require.NoError(t, err)
		assert.Equal(t, want, r.Command[3:])
	}
}
