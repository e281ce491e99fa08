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

// Lines as the program writes them: a prompt, a message of the model with a text and two calls, and its end.
const (
	opencodeHeader  = `{"type":"session","info":{"id":"ses_old","slug":"tidy-wizard","projectID":"p1","directory":"/work/repo","version":"1.18.33","title":"A title","time":{"created":1000}}}`
	opencodeAsked   = `{"type":"message","info":{"id":"msg_214d613c3001aaaaaaaaaaaaaa","role":"user","sessionID":"ses_old","time":{"created":2000},"agent":"build"}}`
	opencodePrompt  = `{"type":"part","role":"user","part":{"type":"text","text":"Look","messageID":"msg_214d613c3001aaaaaaaaaaaaaa","sessionID":"ses_old","id":"prt_214d61449001aaaaaaaaaaaaaa"}}`
	opencodeBegun   = `{"type":"message","info":{"id":"msg_214d62e27001bbbbbbbbbbbbbb","parentID":"msg_214d613c3001aaaaaaaaaaaaaa","role":"assistant","sessionID":"ses_old","path":{"cwd":"/work/repo"},"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":3000}}}`
	opencodeStep    = `{"type":"part","role":"assistant","part":{"id":"prt_214d648240010aaaaaaaaaaaaa","messageID":"msg_214d62e27001bbbbbbbbbbbbbb","sessionID":"ses_old","snapshot":"1ad3","type":"step-start"}}`
	opencodeWrote   = `{"type":"part","role":"assistant","part":{"type":"tool","tool":"write","callID":"call_1","state":{"status":"completed","input":{"filePath":"/work/repo/a"},"output":"Wrote","metadata":{},"time":{"start":3100,"end":3200}},"id":"prt_214d6482f001aaaaaaaaaaaaaa","sessionID":"ses_old","messageID":"msg_214d62e27001bbbbbbbbbbbbbb"}}`
	opencodeFailed  = `{"type":"part","role":"assistant","part":{"type":"tool","tool":"bash","callID":"call_2","state":{"status":"completed","input":{},"output":"","metadata":{"exit":1},"time":{"start":3100,"end":3300}},"id":"prt_214d64830001aaaaaaaaaaaaaa","sessionID":"ses_old","messageID":"msg_214d62e27001bbbbbbbbbbbbbb"}}`
	opencodePatched = `{"type":"part","role":"assistant","part":{"type":"patch","hash":"1ad3","files":["/work/repo/a"],"id":"prt_214d64840001aaaaaaaaaaaaaa","sessionID":"ses_old","messageID":"msg_214d62e27001bbbbbbbbbbbbbb"}}`
	opencodeEnded   = `{"type":"message","info":{"id":"msg_214d62e27001bbbbbbbbbbbbbb","parentID":"msg_214d613c3001aaaaaaaaaaaaaa","role":"assistant","sessionID":"ses_old","path":{"cwd":"/work/repo"},"tokens":{"input":10,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"time":{"created":3000,"completed":4000},"finish":"tool-calls"}}`
)

func TestLinesOfOpencode(t *testing.T) {
	t.Parallel()
	todos := strings.NewReplacer(`"write"`, `"todowrite"`, `"input":{`, `"input":{"todos":[{"content":"Look"}],`).Replace(opencodeWrote)
	for line, want := range map[string]Facts{
		opencodeHeader: {Header: true, AtMs: 1000, Folder: "/work/repo", Session: "ses_old"},
		opencodeAsked:  {AtMs: 2000, ID: "2000", Part: "msg_214d613c3001aaaaaaaaaaaaaa"},
		opencodePrompt: {Part: "msg_214d613c3001aaaaaaaaaaaaaa", Said: []Saying{{Role: User, Text: "Look"}}},
		strings.Replace(opencodePrompt, `"text":"Look"`, `"text":"Look","synthetic":true`, 1): {Part: "msg_214d613c3001aaaaaaaaaaaaaa"},
		strings.Replace(opencodePrompt, `"text":"Look"`, `"text":"Look","ignored":true`, 1):   {Part: "msg_214d613c3001aaaaaaaaaaaaaa"},
		strings.Replace(opencodePrompt, `"role":"user",`, ``, 1):                              {Part: "msg_214d613c3001aaaaaaaaaaaaaa"},
		strings.Replace(opencodePrompt, `"role":"user"`, `"role":"assistant"`, 1):             {Answers: true, Part: "msg_214d613c3001aaaaaaaaaaaaaa", Said: []Saying{{Role: Assistant, Text: "Look"}}},
		opencodeBegun: {Answers: true, AtMs: 3000, ID: "3000", Folder: "/work/repo", Part: "msg_214d62e27001bbbbbbbbbbbbbb"},
		opencodeStep:  {Answers: true, Part: "msg_214d62e27001bbbbbbbbbbbbbb"},
		opencodeWrote: {
			Answers: true, AtMs: 3200, Part: "msg_214d62e27001bbbbbbbbbbbbbb", Begun: []Call{{ID: "call_1", Tool: "write", Input: json.RawMessage(`{"filePath":"/work/repo/a"}`)}},
			Ended: []Result{{ID: "call_1", Output: "Wrote"}},
		},
		opencodeFailed: {
			Answers: true, AtMs: 3300, Part: "msg_214d62e27001bbbbbbbbbbbbbb", Begun: []Call{{ID: "call_2", Tool: "bash", Input: json.RawMessage(`{}`)}},
			Ended: []Result{{ID: "call_2", Failed: true}},
		},
		opencodeEnded: {Answers: true, AtMs: 4000, ID: "3000", Folder: "/work/repo", Message: "msg_214d62e27001bbbbbbbbbbbbbb", Part: "msg_214d62e27001bbbbbbbbbbbbbb", Usage: Usage{Input: 10, Output: 5, CacheRead: 4, CacheCreation: 5}},
		todos: {
			Answers: true, AtMs: 3200, Part: "msg_214d62e27001bbbbbbbbbbbbbb",
			Begun: []Call{{ID: "call_1", Tool: "todowrite", Input: json.RawMessage(`{"todos":[{"content":"Look"}],"filePath":"/work/repo/a"}`)}},
			Ended: []Result{{ID: "call_1", Output: "Wrote"}}, Todos: json.RawMessage(`[{"content":"Look"}]`),
		},
		`{"type":"message.removed","messageID":"m"}`:           {Undo: &Undo{Message: "m"}},
		`{"type":"part.removed","messageID":"m","partID":"p"}`: {Answers: true},
		`{"type":"other"}`:                {},
		`not JSON`:                        {},
		`{"type":"part","part":"a text"}`: {},
	} {
		assert.Equal(t, want, readOpencode([]byte(line)), line)
	}
	failed := strings.NewReplacer(`"status":"completed"`, `"status":"error"`, `"output":"Wrote"`, `"error":"No such file"`).Replace(opencodeWrote)
	assert.Equal(t, []Result{{ID: "call_1", Failed: true, Output: "No such file"}}, readOpencode([]byte(failed)).Ended)
}

func TestEventsOfOpencode(t *testing.T) {
	t.Parallel()
	ev, err := parseOpencode("tool", []byte(`{"session":"ses_1","cwd":"/work","transcript":"/t","tools":[{"id":"c1","name":"read"},{"id":"c2","name":"bash"}]}`))
	require.NoError(t, err)
	assert.Equal(t, Event{
		Kind: Called, Session: "ses_1", Folder: "/work", Transcript: "/t",
		Calls: []Call{{ID: "c1", Tool: "read", ReadOnly: true}, {ID: "c2", Tool: "bash"}},
	}, ev)
	ev, err = parseOpencode("tool", []byte(`{"session":"ses_1","subagent":"ses_2","tools":[{"id":"c1","name":"bash"}]}`))
	require.NoError(t, err)
	assert.Equal(t, []Call{{ID: "c1", Tool: "bash", Result: &Result{ID: "c1"}}}, ev.Calls, "no file says how it ends")
	_, err = parseOpencode("tool", []byte(`{}`))
	require.Error(t, err)
}

func TestOpencodeKeepsNoFilesOfAConversation(t *testing.T) {
	t.Parallel()
	const note = "[a file that was not kept: image/png, 5 bytes, SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]"
	image := `{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"file","mime":"image/png","url":"data:image/png;base64,aGVsbG8="}`
	var line struct{ Part map[string]any }
	slim := slimOpencode([]byte(`{"type":"part","role":"user","part":` + image + `}`))
	require.NoError(t, json.Unmarshal(slim, &line))
	assert.Equal(t, map[string]any{"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": note, "synthetic": true}, line.Part)

	shown := strings.Replace(opencodeWrote, `"output":"Wrote"`, `"output":"Wrote","attachments":[`+image+`,{"type":"file","url":"file:///a"}]`, 1)
	slim = slimOpencode([]byte(shown))
	assert.NotContains(t, string(slim), "aGVsbG8=")
	assert.Contains(t, string(slim), `"output":"Wrote\n`+note)
	assert.Contains(t, string(slim), "file:///a")
	assert.Equal(t, []Result{{ID: "call_1", Output: "Wrote\n" + note}}, readOpencode(slim).Ended)
	assert.Nil(t, slimOpencode([]byte(strings.Replace(opencodePrompt, "Look", `Look at \"data: \"`, 1))))
}

// opencodeResumed is the document that Resume writes.
type opencodeResumed struct {
	Info     map[string]any
	Messages []struct {
		Info  map[string]any
		Parts []map[string]any
	}
}

// resumeLines resumes a conversation with the lines.
func resumeLines(t *testing.T, lines ...string) (Resumed, opencodeResumed, string) {
	t.Helper()
	data := t.TempDir()
	c := Course{Sessions: []string{"ses_old"}, Session: "ses_new", Folder: "/work/repo", Dir: "/work/other", Prompt: "Go on", Env: []string{"XDG_DATA_HOME=" + data}}
	for _, text := range lines {
		c.Lines = append(c.Lines, Line{Text: []byte(text)})
	}
	out, err := opencode.Resume(c)
	require.NoError(t, err)
	file := filepath.Join(data, "opencode", "git-smithers", "ses_new.json")
	assert.Equal(t, file, out.File)
	assert.Equal(t, []string{"ses_new", "Go on"}, out.Command[len(out.Command)-2:])
	var doc opencodeResumed
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	kept, err := os.ReadFile(file + "l")
	require.NoError(t, err)
	assert.Len(t, kept, int(out.Size))
	return out, doc, string(kept)
}

func TestACutConversationOfOpencode(t *testing.T) {
	t.Parallel()
	_, doc, kept := resumeLines(t, opencodeHeader, opencodeAsked, opencodePrompt, opencodeBegun, opencodeStep, opencodeWrote)
	assert.NotContains(t, kept, "ses_old")
	assert.NotContains(t, kept, "/work/repo")
	assert.Equal(t, 6, strings.Count(kept, "\n"))
	assert.Equal(t, "ses_new", doc.Info["id"])
	assert.Equal(t, "/work/other", doc.Info["directory"])
	require.Len(t, doc.Messages, 2)
	user, model := doc.Messages[0], doc.Messages[1]
	assert.Equal(t, "Look", user.Parts[0]["text"])
	assert.Equal(t, user.Info["id"], model.Info["parentID"])
	assert.Equal(t, map[string]any{"created": 3000.0, "completed": 3200.0}, model.Info["time"], "a message is complete with its last call")
	assert.Equal(t, "tool-calls", model.Info["finish"])
	require.Len(t, model.Parts, 2)
	assert.NotContains(t, model.Parts[0], "snapshot")
	assert.Equal(t, "call_1", model.Parts[1]["callID"])
	for _, id := range []any{user.Info["id"], model.Info["id"], user.Parts[0]["id"], model.Parts[1]["id"]} {
		assert.Regexp(t, `^(msg|prt)_214d6[0-9a-f]{21}$`, id)
		assert.NotContains(t, id, "aaaa", "the id would be known to the database")
	}
}

func TestALaterLineOfOpencodeReplacesAnEarlier(t *testing.T) {
	t.Parallel()
	_, doc, _ := resumeLines(t,
		opencodeAsked, opencodePrompt, opencodeBegun, opencodeWrote, opencodeFailed, opencodePatched, opencodeEnded,
		`{"type":"part.removed","messageID":"msg_214d62e27001bbbbbbbbbbbbbb","partID":"prt_214d6482f001aaaaaaaaaaaaaa"}`,
		`{"type":"message","info":{"id":"msg_214d62e28001cccccccccccccc","role":"user"}}`,
		`{"type":"message.removed","messageID":"msg_214d62e28001cccccccccccccc"}`,
		`{"type":"part","part":{"id":"prt_214d62e28001cccccccccccccc","messageID":"msg_214d00000001cccccccccccccc"}}`)
	require.Len(t, doc.Messages, 2)
	model := doc.Messages[1]
	assert.Equal(t, map[string]any{"created": 3000.0, "completed": 4000.0}, model.Info["time"])
	require.Len(t, model.Parts, 1, "the patch is of the former folder")
	assert.Equal(t, "call_2", model.Parts[0]["callID"])
}

func TestAnEmptyConversationOfOpencode(t *testing.T) {
	t.Parallel()
	out, doc, kept := resumeLines(t)
	assert.Zero(t, out.Size)
	assert.Empty(t, kept)
	assert.Empty(t, doc.Messages)
	for _, name := range []string{"id", "slug", "projectID", "directory", "title", "version", "time"} {
		assert.Contains(t, doc.Info, name)
	}
	_, err := opencode.Resume(Course{Session: "ses_new"})
	assert.ErrorContains(t, err, "HOME")
}

func TestIDsOfOpencode(t *testing.T) {
	t.Parallel()
	id := newOpencodeSession()
	assert.Regexp(t, `^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$`, id)
	assert.True(t, IsSessionID(id))
	assert.NotEqual(t, id, newOpencodeSession())
}

func TestTheProgramOfOpencode(t *testing.T) {
	t.Parallel()
	first, _, _ := strings.Cut(opencode.Hooks.Program, "import")
	assert.Contains(t, first, "git smithers session:")
	assert.Contains(t, first, "git smithers session disable opencode")
}

// Kilo is a fork of opencode: it has folders and a command of its own.
func TestKiloHasItsOwnFolders(t *testing.T) {
	t.Parallel()
	assert.Equal(t, strings.Count(opencode.Hooks.Program, "opencode"), strings.Count(kilo.Hooks.Program, "kilo"))
	assert.NotContains(t, kilo.Hooks.Program, "opencode")
	home := t.TempDir()
	out, err := kilo.Resume(Course{Session: "ses_new", Dir: "/other", Prompt: "Go on", Env: []string{"HOME=" + home}})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(home, ".local", "share", "kilo", "git-smithers", "ses_new.json"), out.File)
	assert.Equal(t, `kilo import "$1" && printf %s "$3" | kilo run --session "$2"`, out.Command[2])
}
