package dialect

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodexHooksAreUnderstood(t *testing.T) {
	t.Parallel()
	const common = `"session_id":"s","turn_id":"t","transcript_path":"/home/user/r.jsonl","cwd":"/repo","model":"m","permission_mode":"default",`
	base := Event{Session: "s", Folder: "/repo", Transcript: "/home/user/r.jsonl"}
	with := func(kind Kind, change func(*Event)) Event {
		ev := base
		ev.Kind = kind
		if change != nil {
			change(&ev)
		}
		return ev
	}
	bash := func(ev *Event) { ev.Calls = []Call{{ID: "call_1", Tool: "Bash"}} }
	for input, want := range map[string]Event{
		`"hook_event_name":"SessionStart","source":"startup"`:                                                                        with(Started, nil),
		`"hook_event_name":"SessionStart","source":"compact"`:                                                                        with(Ignored, nil),
		`"hook_event_name":"UserPromptSubmit","prompt":"please"`:                                                                     with(Prompted, func(ev *Event) { ev.Prompt = "please" }),
		`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_1"`:                     with(Calling, bash),
		`"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"","tool_use_id":"call_1"`: with(Called, bash),
		`"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"All done."`:                                     with(Answered, func(ev *Event) { ev.Answer = "All done." }),
		`"hook_event_name":"SessionEnd","reason":"other"`:                                                                            with(Ended, nil),
		`"hook_event_name":"SubagentStart"`:                                                                                          with(Ignored, nil),
	} {
		got, err := codex.Parse("any", []byte("{"+common+input+"}"))
		require.NoError(t, err, input)
		assert.Equal(t, want, got, input)
	}
	for _, input := range []string{"", "[]", "{}", `{"session_id":7}`} {
		_, err := codex.Parse("Stop", []byte(input))
		assert.Error(t, err, input)
	}
}

func TestCodexLinesAreUnderstood(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Facts{
		`{"timestamp":"1970-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c"}}`: {AtMs: 1000, Answers: true, Begun: []Call{{ID: "c", Tool: "exec_command", Input: []byte(`{"cmd":"ls"}`)}}},
		`{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"x","call_id":"c"}}`:                                                     {Answers: true, Begun: []Call{{ID: "c", Tool: "apply_patch", Input: []byte(`{"input":"x"}`)}}},
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Process exited with code 0\nOutput:\n"}}`:                                 {Answers: true, Ended: []Result{{ID: "c", Output: "Process exited with code 0\nOutput:\n"}}},
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Wall time: 0\nProcess exited with code 1\nOutput:\n"}}`:                   {Answers: true, Ended: []Result{{ID: "c", Failed: true, Output: "Wall time: 0\nProcess exited with code 1\nOutput:\n"}}},
		`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"a\",\"status\":\"pending\"}]}","call_id":"c"}}`: {Answers: true, Begun: []Call{{ID: "c", Tool: "update_plan", Input: []byte(`{"plan":[{"step":"a","status":"pending"}]}`), ReadOnly: true}}, Todos: []byte(`[{"content":"a","status":"pending"}]`)},
		`{"type":"response_item","payload":{"type":"message","role":"developer","content":[]}}`:                                                                             {Vendor: true},
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}`:                                                                                  {},
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}`:                                                                             {Answers: true},
		`{"type":"token_usage_record","payload":{"response_id":"r","usage":{"input_tokens":5,"cached_input_tokens":2,"output_tokens":3}}}`:                                  {Answers: true, Message: "r", Usage: Usage{Input: 3, CacheRead: 2, Output: 3}},
		`{"type":"turn_context","payload":{"cwd":"/repo"}}`:                                                                                                                 {Folder: "/repo"},
		`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":2}}`:                                                                                        {Undo: &Undo{Turns: 2}},
		`{"type":"compacted","payload":{"message":"sum"}}`:                                                                                                                  {Summary: true},
		`{"type":"compacted","payload":{"message":"","replacement_history":[{}]}}`:                                                                                          {Summary: true, Undo: &Undo{All: true}},
		`{"type":"of later versions"}`: {},
		`no JSON`:                      {},
	} {
		assert.Equal(t, want, codex.Read([]byte(text)), text)
	}
	meta := codex.Read([]byte(`{"type":"session_meta","payload":{"id":"s","cwd":"/repo","base_instructions":{"text":"You are an agent."},"x":1}}`))
	assert.True(t, meta.Header)
	assert.Equal(t, "s", meta.Session)
	assert.Equal(t, "/repo", meta.Folder)
	assert.JSONEq(t, `{"type":"session_meta","payload":{"id":"s","cwd":"/repo","base_instructions":null,"x":1}}`, string(meta.Slim))
}

func TestCodexLinesSayWhatWasSaid(t *testing.T) {
	t.Parallel()
	// what Codex CLI 0.169.0 writes in the name of the user, beside the prompt itself
	const context, agents = `<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>`, `# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>`
	user := func(kinds string, texts ...string) string {
		parts := make([]string, len(texts))
		for i, text := range texts {
			parts[i] = `{"type":"input_text","text":"` + text + `"}`
		}
		return `{"type":"response_item","payload":{"type":"message","role":"user","content":[` + strings.Join(parts, ",") + `]` + kinds + `}}`
	}
	kinds := func(list string) string {
		return `,"internal_chat_message_metadata_passthrough":{"content_item_kinds":[` + list + `]}`
	}
	for line, want := range map[string][]Saying{
		user(kinds(`"user.text"`), "TASK-ONE please"):                                                   {{Role: User, Text: "TASK-ONE please"}},
		user(kinds(`"user.text"`), "<turn_aborted> is a tag"):                                           {{Role: User, Text: "<turn_aborted> is a tag"}},
		user(kinds(`"environments.environment_context"`), context):                                      nil,
		user(kinds(`"of.later.versions"`), "You are in a maze"):                                         nil,
		user(kinds(`"environments.environment_context","user.text"`), context, "And"):                   {{Role: User, Text: "And"}},
		user(kinds(`"user.text"`), "one", "two"):                                                        {{Role: User, Text: "one"}, {Role: User, Text: "two"}},
		user(kinds(`"unknown"`), context):                                                               nil,
		user("", context):                                                                               nil,
		user("", agents, context):                                                                       nil,
		user("", `<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>`): nil,
		user("", `<user_instructions>\nx\n</user_instructions>`):                                        nil,
		user("", "<b> is a tag"):                                                                        {{Role: User, Text: "<b> is a tag"}},
		user("", ""):                                                                                    nil,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"Look"}]}}`: {{Role: User, Text: "Look"}},
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will write a file."}]}}`:                      {{Role: Assistant, Text: "I will write a file."}},
		`{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}}`:                                          nil,
		`{"type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}],"content":null}}`:                                          nil,
		`{"type":"event_msg","payload":{"type":"agent_message","message":"I will write a file."}}`:                                                                       nil,
	} {
		assert.Equal(t, want, codex.Read([]byte(line)).Said, line)
	}
}

func TestCodexLinesHaveInputsAndOutputs(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`"type":"function_call","name":"x","arguments":"{\"cmd\":\"ls\"}"`:                                 `{"cmd":"ls"}`,
		`"type":"function_call","name":"x","arguments":"{\"cmd\":"`:                                        `"{\"cmd\":"`,
		`"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n"`:                       `{"input":"*** Begin Patch\n"}`,
		`"type":"local_shell_call","status":"completed","action":{"type":"exec","command":["ls"]}`:         `{"type":"exec","command":["ls"]}`,
		`"type":"local_shell_call","name":"shell","status":"completed","action":{"type":"exec"},"input":7`: `{"type":"exec"}`,
	} {
		begun := codex.Read([]byte(`{"type":"response_item","payload":{"call_id":"c",` + payload + `}}`)).Begun
		require.Len(t, begun, 1, payload)
		assert.JSONEq(t, want, string(begun[0].Input), payload)
	}
	for output, want := range map[string]string{
		`"a\nb"`:                          "a\nb",
		`{"content":"a","success":false}`: "a",
		`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"b"}]`: "a\nb",
		`{"content":[{"type":"input_text","text":"a"}]}`:                                                                 "a",
		`{}`: "",
		`7`:  "",
	} {
		ended := codex.Read([]byte(`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":` + output + `}}`)).Ended
		require.Len(t, ended, 1, output)
		assert.Equal(t, want, ended[0].Output, output)
	}
}

func TestCodexFindsAConversationByItsID(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	line := `{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"old","cwd":"/repo"}}`
	course := Course{
		Lines: []Line{{Facts: codex.Read([]byte(line)), Text: []byte(line)}}, Sessions: []string{"old"}, Session: "new", Folder: "/repo", Dir: "/other",
		Prompt: "go on", Env: []string{"HOME=/nowhere", "CODEX_HOME=" + home},
	}
	got, err := codex.Resume(course)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(home, "sessions/2026/01/02/rollout-2026-01-02T03-04-05-new.jsonl"), got.File)
	assert.Equal(t, []string{"codex", "resume", "new", "go on"}, got.Command)
	assert.FileExists(t, got.File)
	assert.Equal(t, int64(len(strings.NewReplacer("old", "new", "/repo", "/other").Replace(line))+1), got.Size)
	course.Env = nil
	_, err = codex.Resume(course)
	assert.ErrorContains(t, err, "HOME is not set")
}
