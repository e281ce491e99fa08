package dialect

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClaudeSaysWhoSaidWhat(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]Saying{
		`{"type":"user","message":{"role":"user","content":"begin"}}`:                                       {{Role: User, Text: "begin"}},
		`{"type":"user","message":{"content":[{"type":"text","text":"look"},{"type":"image"}]}}`:            {{Role: User, Text: "look"}},
		`{"type":"assistant","message":{"content":[{"type":"thinking"},{"type":"text","text":"I look."}]}}`: {{Role: Assistant, Text: "I look."}},

		`{"type":"user","isMeta":true,"message":{"content":"a caveat"}}`:                                                                                          nil,
		`{"type":"user","isCompactSummary":true,"message":{"content":"before"}}`:                                                                                  nil,
		`{"type":"user","isSidechain":true,"message":{"content":"to a subagent"}}`:                                                                                nil,
		`{"type":"user","message":{"content":"<task-notification>done"}}`:                                                                                         nil,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`:                                                          nil,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"<system-reminder>a reminder</system-reminder>"}]}}`: nil,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"keep it"}]}}`:                                       {{Role: User, Text: "keep it", Beside: true}},
		`{"type":"user","message":{"content":[{"type":"text","text":"<ide_selection>1 to 2"},{"type":"text","text":"why?"}]}}`:                                    {{Role: User, Text: "why?"}},
		`{"type":"user","message":{"content":"<bash-input>pwd</bash-input>"}}`:                                                                                    {{Role: User, Text: "!pwd", Local: true}},
		`{"type":"user","message":{"content":"<bash-stdout>/w</bash-stdout><bash-stderr></bash-stderr>"}}`:                                                        nil,
		`{"type":"user","message":{"content":"<command-name>/clear</command-name>\n<command-args></command-args>"}}`:                                              {{Role: User, Text: "/clear", Local: true}},
		`{"type":"user","message":{"content":"<command-message>x</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>"}}`:     {{Role: User, Text: "/review 12"}},
		`{"type":"user","message":{"content":[{"type":"image"},{"type":"image"}]}}`:                                                                               {{Role: User, Text: "[2 images]"}},
		`{"type":"user","message":{"content":[{"type":"image"},{"type":"text","text":"What is it?"}]}}`:                                                           {{Role: User, Text: "What is it?"}},
		`{"type":"queue-operation","content":"begin"}`:                                                                                                            nil,
		`{"type":"system","message":{"content":"stopped"}}`:                                                                                                       nil,
		`{"type":"user","message":{"content":7}}`:                                                                                                                 nil,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}`:                                        nil,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"","id":"none"}]}}`:                                                                      nil,
		`no JSON`: nil,
	} {
		assert.Equal(t, want, readClaude([]byte(line)).Said, line)
	}
	assert.True(t, readClaude([]byte(`{"type":"user","isSidechain":true}`)).Aside)
}

func TestClaudeSaysWhatToolsWereAskedAndAnswered(t *testing.T) {
	t.Parallel()
	facts := readClaude([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}`))
	assert.Equal(t, []Call{{ID: "c", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}, facts.Begun)
	for content, want := range map[string]string{
		`"a\nb"`: "a\nb",
		`[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`: "a\nb",
		`7`: "",
	} {
		facts := readClaude([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":` + content + `}]}}`))
		assert.Equal(t, []Result{{ID: "c", Failed: true, Output: want}}, facts.Ended)
	}
}
