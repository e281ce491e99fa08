package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spoken is how a dialect says that a tool has ended, and what a line of its file looks like.
type spoken struct {
	called string // what the agent hands to a hook, without the last brace
	later  string // an event that nobody knows yet
	event  string // for which the hook of called was set up; "" if the input says it
	lines  []string
}

var spokenBy = map[string]spoken{
	Claude: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"Write","tool_use_id":"c1"}]`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{
			`{"type":"assistant","timestamp":"2026-01-02T03:04:05Z","cwd":"/repo","message":{"id":"m1","usage":{"input_tokens":1},"content":[{"type":"tool_use","id":"c1","name":"Write","input":{}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"no"}]}}`,
			`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c2","name":"TodoWrite","input":{"todos":[{"content":"a"}]}}]}}`,
		},
	},
	Codex: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c1"`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{
			`{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"cwd":"/repo","base_instructions":{"text":"long"}}}`,
			`{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"a\",\"status\":\"pending\"}]}","call_id":"c1"}}`,
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Process exited with code 1"}}`,
			`{"type":"token_usage_record","payload":{"response_id":"r","usage":{"input_tokens":1}}}`,
		},
	},
	Gemini: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"AfterTool","tool_name":"write_file","tool_input":{"file_path":"a"}`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{
			`{"sessionId":"s","directories":["/repo"]}`,
			`{"id":"m1","timestamp":"2026-01-02T03:04:05Z","type":"gemini","content":"a","tokens":{"input":1},"toolCalls":[{"id":"c1","name":"write_todos","args":{"todos":[]},"status":"success","timestamp":"2026-01-02T03:04:05Z"}]}`,
			`{"$set":{"messages":[{"id":"m","type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /repo\nlong"}]}]}}`,
			`{"id":"m2","type":"user","content":[{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}]}`,
			`{"$rewindTo":"m1"}`,
		},
	},
	Qwen: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"write_file","tool_use_id":"c1"}]`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{
			`{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","type":"user","cwd":"/repo","message":{"parts":[{"text":"begin"}]}}`,
			`{"uuid":"u2","parentUuid":"u1","type":"assistant","model":"m","message":{"parts":[{"text":"a"},{"functionCall":{"id":"c1","name":"todo_write","args":{"todos":[]}}}]},"usageMetadata":{"promptTokenCount":1}}`,
			`{"uuid":"u3","parentUuid":"u2","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c1","response":{"output":"ok"}}}]},"toolCallResult":{"status":"error"}}`,
			`{"uuid":"u4","parentUuid":"u3","type":"system","subtype":"ui_telemetry"}`,
		},
	},
	Cursor: {
		`{"conversation_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"postToolUse","tool_name":"Write","tool_use_id":"c1\nc2"`,
		`{"conversation_id":"s","hook_event_name":"later"}`,
		"",
		[]string{`{"any":"line"}`},
	},
	Droid: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"PostToolUse","tool_name":"Create","tool_use_id":"c1"`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{`{"any":"line"}`},
	},
	Kimi: {
		`{"session_id":"s","transcript_path":"/t","cwd":"/repo","hook_event_name":"PostToolUse","tool_name":"WriteFile","tool_call_id":"c1"`,
		`{"session_id":"s","hook_event_name":"Later"}`,
		"",
		[]string{`{"any":"line"}`},
	},
	Copilot: {
		`{"sessionId":"s","transcriptPath":"/t","cwd":"/repo","toolName":"create","toolArgs":{"path":"a"}`,
		`{"sessionId":"s","later":1}`,
		"postToolUse",
		[]string{copilotStart, copilotSystem, copilotPrompt, copilotUsage, copilotCall, copilotResult, copilotRewind},
	},
	Pi: {
		`{"session":"s","transcript":"/t","cwd":"/repo","event":"tool","tools":[{"id":"c1","name":"write"}]`,
		`{"session":"s","event":"later"}`,
		"",
		[]string{
			`{"type":"session","id":"s","timestamp":"2026-01-02T03:04:05Z","cwd":"/repo"}`,
			`{"type":"message","id":"m1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"write","arguments":{}}],"usage":{"input":1}}}`,
			`{"type":"message","message":{"role":"toolResult","toolCallId":"c1","isError":false}}`,
		},
	},
	Opencode: {
		`{"session":"s","transcript":"/t","cwd":"/repo","event":"tool","tools":[{"id":"c1","name":"write"}]`,
		`{"session":"s","event":"later"}`,
		"",
		[]string{opencodeHeader, opencodeAsked, opencodePrompt, opencodeBegun, opencodeWrote},
	},
	Kilo: {
		`{"session":"s","transcript":"/t","cwd":"/repo","event":"tool","tools":[{"id":"c1","name":"write"}]`,
		`{"session":"s","event":"later"}`,
		"",
		[]string{opencodeHeader, opencodeAsked, opencodePrompt, opencodeBegun, opencodeWrote},
	},
	Generic: {
		`{"session":"s","transcript":"/t","cwd":"/repo","event":"tool","tools":[{"id":"c1","name":"write","failed":true}]`,
		`{"session":"s","event":"later"}`,
		"",
		[]string{`{"any":"line"}`},
	},
}

// Versions of agents to come say more, and say other things. An event is understood as far as it can be.
func TestInputsOfVersionsToCome(t *testing.T) {
	t.Parallel()
	for _, d := range all {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			in, known := spokenBy[d.Name]
			require.True(t, known)
			want, err := d.Parse(in.event, []byte(in.called+"}"))
			require.NoError(t, err)
			require.Equal(t, Called, want.Kind)
			const levels, large = 5_000, 10 << 20
			for name, member := range map[string]string{
				"a member that nobody knows":       `"news":{"a":[1,null]}`,
				"deep nesting":                     `"news":` + strings.Repeat("[", levels) + strings.Repeat("]", levels),
				"10 MB":                            `"news":"` + strings.Repeat("x", large) + `"`,
				"invalid UTF-8":                    "\"news\":\"\xff\xfe\"",
				"a number where there was no text": `"prompt":7,"answer":7,"last_assistant_message":{"a":1},"prompt_response":[1]`,
			} {
				got, err := d.Parse(in.event, []byte(in.called+","+member+"}"))
				require.NoError(t, err, name)
				assert.Equal(t, want, got, name)
			}
			got, err := d.Parse(in.event, []byte(strings.Replace(in.called, `"/repo"`, "7", 1)+"}"))
			require.NoError(t, err)
			want.Folder = ""
			assert.Equal(t, want, got, "a number for the folder")
			got, err = d.Parse("", []byte(in.later))
			require.NoError(t, err)
			assert.Equal(t, Ignored, got.Kind)

			const tooDeep = 20_000
			for name, input := range map[string]string{
				"nothing": "", "half of it": in.called, "a list": "[]", "null": "null", "a text": `"s"`,
				"a session that is a number": strings.Replace(in.called, `"s"`, "7", 1) + "}",
				"nesting without end":        in.called + `,"news":` + strings.Repeat("[", tooDeep),
			} {
				_, err := d.Parse("", []byte(input))
				require.Error(t, err, name)
			}
		})
	}
}

// A line of a later version says what is still understood of it.
func TestLinesOfVersionsToCome(t *testing.T) {
	t.Parallel()
	for name, in := range spokenBy {
		d, _ := Of(name)
		for _, line := range in.lines {
			want := d.Read([]byte(line))
			for _, news := range []string{`"news":{"a":[1,null]}`, "\"news\":\"\xff\"", `"version":7`} {
				got := d.Read([]byte(strings.TrimSuffix(line, "}") + "," + news + "}"))
				if want.Slim != nil {
					assert.NotNil(t, got.Slim)
					got.Slim = want.Slim
				}
				assert.Equal(t, want, got, "%s: %s with %q", name, line, news)
			}
		}
	}
	for name, line := range map[string]string{
		Claude:  `{"type":"assistant","timestamp":7,"cwd":7,"message":{"id":"m1","usage":{"input_tokens":"1"},"content":[{"type":"tool_use","id":"c1","name":"Write"},{"type":7}]}}`,
		Codex:   `{"type":"response_item","timestamp":7,"payload":{"type":"function_call","name":"exec","arguments":{},"call_id":"c1","usage":7}}`,
		Gemini:  `{"id":"m1","timestamp":7,"type":"gemini","tokens":7,"toolCalls":[{"id":"c1","name":"write_file","timestamp":7},7]}`,
		Copilot: `{"type":"assistant.message","timestamp":7,"agentId":7,"data":{"content":7,"usage":7,"toolRequests":[{"toolCallId":"c1","name":"create"},7]}}`,
		Qwen:    `{"uuid":7,"type":"assistant","timestamp":7,"usageMetadata":7,"message":{"parts":[{"functionCall":{"id":"c1","name":"edit"}},7]}}`,
		Pi:      `{"type":"message","timestamp":7,"cwd":7,"message":{"role":"assistant","usage":7,"content":[{"type":"toolCall","id":"c1","name":"write"},{"type":7}]}}`,
	} {
		d, _ := Of(name)
		if facts := d.Read([]byte(line)); assert.NotEmpty(t, facts.Begun, name) {
			assert.Equal(t, "c1", facts.Begun[0].ID, name)
		}
	}
}

// A time that no row can have counts as unknown: one line must not keep a session from being recorded.
func TestTimesThatNoRowCanHaveAreUnknown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "now", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"} {
		assert.Zero(t, timeOf(text), text)
	}
	assert.EqualValues(t, 1_767_323_045_006, timeOf("2026-01-02T03:04:05.006Z"))
}

func FuzzParse(f *testing.F) {
	for i, d := range all {
		f.Add(i, spokenBy[d.Name].event, []byte(spokenBy[d.Name].called+"}"))
		f.Add(i, "later", []byte(spokenBy[d.Name].later))
	}
	f.Fuzz(func(t *testing.T, speaks int, name string, input []byte) {
		d := all[uint(speaks)%uint(len(all))]
		ev, err := d.Parse(name, input)
		if err != nil {
			assert.Equal(t, Event{}, ev, "where there is an error, there is no event")
			return
		}
		assert.True(t, json.Valid(input))
		assert.NotEmpty(t, ev.Session)
		texts := []string{ev.Session, ev.Agent, ev.Folder, ev.Transcript, ev.Subagent, ev.SubagentTranscript, ev.Prompt, ev.Answer}
		for _, c := range ev.Calls {
			texts = append(texts, c.ID, c.Tool)
		}
		requireBounded(t, input, texts)
	})
}

func FuzzRead(f *testing.F) {
	for i, d := range all {
		for _, line := range spokenBy[d.Name].lines {
			f.Add(i, []byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, speaks int, line []byte) {
		d := all[uint(speaks)%uint(len(all))]
		before := slices.Clone(line)
		facts := d.Read(line)
		require.Equal(t, before, line, "a line stays as it is")
		texts := []string{string(facts.Slim), facts.Message, facts.Folder, string(facts.Todos)}
		for _, c := range facts.Begun {
			require.NotEmpty(t, c.ID)
			require.NotEmpty(t, c.Tool)
			texts = append(texts, c.ID, c.Tool)
		}
		for _, r := range facts.Ended {
			require.NotEmpty(t, r.ID)
			require.GreaterOrEqual(t, r.AtMs, int64(0))
			texts = append(texts, r.ID)
		}
		for _, s := range facts.Said {
			texts = append(texts, s.Text)
		}
		require.GreaterOrEqual(t, facts.AtMs, int64(0))
		requireBounded(t, line, texts)
		if facts.Todos != nil {
			require.True(t, json.Valid(facts.Todos))
		}
		for _, slim := range [][]byte{facts.Slim, WithoutImages(line)} {
			if slim != nil {
				require.True(t, json.Valid(slim), "%s", slim)
				require.NotContains(t, string(slim), "\n")
			}
		}
	})
}

// requireBounded requires that texts are not much longer than what they come from: a character that is not valid becomes three bytes,
// and a note stands for each image.
func requireBounded(t *testing.T, from []byte, texts []string) {
	t.Helper()
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	const factor, spare = 16, 256
	require.LessOrEqual(t, size, factor*len(from)+spare, "%q", texts)
}
