package dialect

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClaudeSaysWhoSaidWhat(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]Saying{
		`{"type":"user","message":{"role":"user","content":"begin"}}`:                                       {{User, "begin"}},
		`{"type":"user","message":{"content":[{"type":"text","text":"look"},{"type":"image"}]}}`:            {{User, "look"}},
		`{"type":"assistant","message":{"content":[{"type":"thinking"},{"type":"text","text":"I look."}]}}`: {{Assistant, "I look."}},

		`{"type":"user","isMeta":true,"message":{"content":"a caveat"}}`:                                                       nil,
		`{"type":"user","isCompactSummary":true,"message":{"content":"before"}}`:                                               nil,
		`{"type":"user","isSidechain":true,"message":{"content":"to a subagent"}}`:                                             nil,
		`{"type":"user","message":{"content":"<task-notification>done"}}`:                                                      nil,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`:                       nil,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"a reminder"}]}}`: nil,
		`{"type":"queue-operation","content":"begin"}`:                                                                         nil,
		`{"type":"system","message":{"content":"stopped"}}`:                                                                    nil,
		`{"type":"user","message":{"content":7}}`:                                                                              nil,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}`:     nil,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"","id":"none"}]}}`:                                   nil,
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
