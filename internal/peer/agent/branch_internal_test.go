package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

// The lines of the agents' files, as short as they can be.
func claudeSays(kind, id, parent, more string) string {
	if parent = `"` + parent + `"`; parent == `""` {
		parent = "null"
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s%s}`, kind, id, parent, more)
}

func claudeAsks(id, parent string) string {
	return claudeSays("user", id, parent, `,"message":{"content":"`+id+`"}`)
}

func claudeAnswers(id, parent string) string {
	return claudeSays("assistant", id, parent, `,"message":{"id":"m-`+id+`","content":[{"type":"text","text":"`+id+`"}]}`)
}

func claudeCalls(id, parent, call string) string {
	return claudeSays("assistant", id, parent, `,"message":{"id":"m","content":[{"type":"tool_use","id":"`+call+`","name":"Bash","input":{}}]}`)
}

func claudeEnds(id, parent, call string) string {
	return claudeSays("user", id, parent, `,"message":{"content":[{"type":"tool_result","tool_use_id":"`+call+`","content":"ok"}]}`)
}

func piSays(kind, id, parent, more string) string {
	return fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%q%s}`, kind, id, parent, more)
}

func piTalks(role, id, parent string) string {
	return piSays("message", id, parent, fmt.Sprintf(`,"message":{"role":%q,"content":%q}`, role, id))
}

func geminiTalks(role, id string) string {
	return fmt.Sprintf(`{"id":%q,"type":%q,"content":%q}`, id, role, id)
}

func codexTalks(role, id string) string {
	kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
	return fmt.Sprintf(`{"type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":%q,"text":%q}],"id":%q}}`, role, kind, id, id)
}

func opencodeTalks(role, id string) []string {
	return []string{
		fmt.Sprintf(`{"type":"message","info":{"id":%q,"role":%q}}`, id, role),
		fmt.Sprintf(`{"type":"part","role":%q,"part":{"id":"p-%s","messageID":%q,"type":"text","text":%q}}`, role, id, id, id),
	}
}

// idsOf returns the ids of lines, in their order.
func idsOf(lines []dialect.Line, own []int) string {
	var ids []string
	for _, i := range own {
		var line struct {
			Type, ID, UUID string
			Info           struct{ ID string }
			Payload        struct{ ID string }
			Part           struct{ ID string }
		}
		_ = json.Unmarshal(lines[i].Text, &line)
		id := line.UUID + line.ID + line.Info.ID + line.Payload.ID + line.Part.ID
		if id == "" {
			id = line.Type
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

// readLinesOf returns the lines of an agent.
func readLinesOf(agent string, texts []string) (lines []dialect.Line) {
	for i, text := range texts {
		lines = append(lines, dialect.Line{Facts: dialect.For(agent).Read([]byte(text)), Offset: int64(i), Text: []byte(text)})
	}
	return lines
}

// A conversation is a tree: a course has the lines of its own branch, and not what the agent had taken back or put into a summary.
func TestACourseKeepsTheConversationThatTheAgentHad(t *testing.T) {
	t.Parallel()
	boundary := func(id, more string) string {
		return claudeSays("system", id, "", `,"subtype":"compact_boundary"`+more)
	}
	summary := func(id, parent string) string {
		return claudeSays("user", id, parent, `,"isCompactSummary":true,"message":{"content":"SUM"}`)
	}
	kept := func(list string) string {
		return `,"compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":[` + list + `]}}`
	}
	segment := `,"compactMetadata":{"preservedSegment":{"anchorUuid":"s","headUuid":"u2","tailUuid":"a2"}}`
	queued := `{"type":"queue-operation"}`
	talk := []string{claudeAsks("u1", ""), claudeAnswers("a1", "u1"), claudeAsks("u2", "a1"), claudeAnswers("a2", "u2")}
	with := func(more ...string) []string { return append(append([]string{}, talk...), more...) }
	flat := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	one := func(line string) []string { return []string{line} }
	for _, c := range []struct {
		what, agent string
		lines       []string
		before      int
		ids, want   string
	}{
		{"a prompt", dialect.Claude, with(), 2, "turn:2", "u1 a1"},
		{"a prompt after a rewind", dialect.Claude, with(claudeAsks("u3", "a1"), claudeAnswers("a3", "u3")), 4, "turn:3", "u1 a1"},
		{"a rewind to the beginning", dialect.Claude, with(claudeAsks("u3", ""), claudeAnswers("a3", "u3")), 4, "turn:3", ""},
		{"an answer after a rewind", dialect.Claude, with(claudeAsks("u3", "a1"), claudeAnswers("a3", "u3")), 6, "", "u1 a1 u3 a3"},
		{"a prompt that was taken back", dialect.Claude, with(claudeAsks("u3", "a1"), claudeAnswers("a3", "u3")), 2, "turn:2", "u1 a1"},
		{"lines without a place go with their neighbours", dialect.Claude, flat(one(queued), talk[:2], one(queued), talk[2:], one(queued), one(claudeAsks("u3", "a1"))), 7, "turn:3", "queue-operation u1 a1"},
		{"a line of the vendor is a place", dialect.Claude, []string{
			claudeAsks("u1", ""), claudeSays("attachment", "v1", "u1", ""), claudeAnswers("a1", "v1"), claudeSays("attachment", "v2", "a1", ""),
			claudeAsks("u2", "v2"), claudeAnswers("a2", "u2"), claudeAsks("u3", "v2"),
		}, 6, "turn:3", "u1 v1 a1"},
		{"a line whose parent is lost follows the line before", dialect.Claude, []string{claudeAsks("u1", ""), claudeAnswers("a1", "lost"), claudeAsks("u2", "a1")}, 2, "turn:2", "u1 a1"},
		{"a compaction", dialect.Claude, with(boundary("b", ""), summary("s", "b"), claudeAsks("u3", "s"), claudeAnswers("a3", "u3")), 6, "turn:3", "b s"},
		{"a compaction whose prompt is not there yet", dialect.Claude, with(boundary("b", ""), summary("s", "b")), 6, "turn:3", "b s"},
		{"an answer after a compaction", dialect.Claude, with(boundary("b", ""), summary("s", "b"), claudeAsks("u3", "s"), claudeAnswers("a3", "u3")), 8, "", "b s u3 a3"},
		{"a turn before a compaction", dialect.Claude, with(boundary("b", ""), summary("s", "b"), claudeAsks("u3", "s")), 2, "turn:2", "u1 a1"},
		{"a rewind to before a compaction", dialect.Claude, with(boundary("b", ""), summary("s", "b"), claudeAsks("u3", "a1")), 6, "turn:3", "u1 a1"},
		{"a compaction that keeps messages", dialect.Claude, with(boundary("b", kept(`"u2","a2"`)), summary("s", "b"), claudeAsks("u3", "s")), 6, "turn:3", "u2 a2 b s"},
		{"a prompt behind a message that was kept", dialect.Claude, with(boundary("b", kept(`"u2","a2"`)), summary("s", "b"), claudeAsks("u3", "a2")), 6, "turn:3", "u2 a2 b s"},
		{"a compaction that keeps a segment", dialect.Claude, with(boundary("b", segment), summary("s", "b"), claudeAsks("u3", "a2")), 6, "turn:3", "u2 a2 b s"},
		{"parallel calls", dialect.Claude, []string{
			claudeAsks("u1", ""), claudeCalls("a1", "u1", "c1"), claudeCalls("a2", "a1", "c2"), claudeEnds("r2", "a2", "c2"), claudeEnds("r1", "a1", "c1"),
		}, 3, "c1 c2", "u1 a1 a2 r2 r1"},
		{"an answer after parallel calls", dialect.Claude, []string{
			claudeAsks("u1", ""), claudeCalls("a1", "u1", "c1"), claudeCalls("a2", "a1", "c2"), claudeEnds("r1", "a1", "c1"), claudeEnds("r2", "a2", "c2"), claudeAnswers("a3", "r2"),
		}, 6, "", "u1 a1 a2 r1 r2 a3"},
		{"a circle", dialect.Claude, []string{claudeAsks("u1", "a1"), claudeAnswers("a1", "u1"), claudeAsks("u2", "u2")}, 3, "", "u1 a1 u2"},

		{"a branch of pi", dialect.Pi, []string{
			`{"type":"session","id":"x"}`, piTalks("user", "u1", ""), piTalks("assistant", "a1", "u1"), piTalks("user", "u2", "a1"), piTalks("assistant", "a2", "u2"),
			piSays("branch_summary", "b", "a1", ""), piTalks("user", "u3", "b"),
		}, 6, "turn:3", "x u1 a1 b"},
		{"a branch of pi without a summary", dialect.Pi, []string{
			piTalks("user", "u1", ""), piTalks("assistant", "a1", "u1"), piTalks("user", "u2", "a1"), piTalks("assistant", "a2", "u2"), piTalks("user", "u3", "a1"),
		}, 4, "turn:3", "u1 a1"},
		{"a compaction of pi", dialect.Pi, []string{
			piTalks("user", "u1", ""), piTalks("assistant", "a1", "u1"), piSays("compaction", "c", "a1", `,"firstKeptEntryId":"a1"`), piTalks("user", "u2", "c"),
		}, 3, "turn:2", "u1 a1 c"},

		{"a rewind of Gemini CLI", dialect.Gemini, []string{
			`{"sessionId":"x"}`, geminiTalks("user", "u1"), geminiTalks("gemini", "a1"), geminiTalks("user", "u2"), geminiTalks("gemini", "a2"), geminiTalks("gemini", "a2"),
			`{"$rewindTo":"u2"}`, geminiTalks("user", "u3"), geminiTalks("gemini", "a3"),
		}, 7, "turn:3", " u1 a1"},
		{"an answer after a rewind of Gemini CLI", dialect.Gemini, []string{
			geminiTalks("user", "u1"), geminiTalks("gemini", "a1"), geminiTalks("user", "u2"), geminiTalks("gemini", "a2"), `{"$rewindTo":"u2"}`, geminiTalks("user", "u3"), geminiTalks("gemini", "a3"),
		}, 7, "", "u1 a1 u3 a3"},
		{"a rewind of a message that was written twice", dialect.Gemini, []string{
			geminiTalks("user", "u1"), geminiTalks("gemini", "a1"), geminiTalks("user", "u2"), geminiTalks("gemini", "a1"), `{"$rewindTo":"u2"}`, `{"$rewindTo":"a1"}`, geminiTalks("user", "u3"),
		}, 7, "", "u1 u3"},
		{"a compression of Gemini CLI", dialect.Gemini, []string{
			geminiTalks("user", "u1"), geminiTalks("gemini", "a1"), `{"$set":{"messages":[{"id":"s","type":"user","content":"SUM"}]},"type":"set"}`, geminiTalks("user", "u2"),
		}, 3, "turn:2", "set"},

		{"a rewind of Codex", dialect.Codex, []string{
			`{"type":"session_meta","payload":{"id":"x"}}`, codexTalks("user", "u1"), codexTalks("assistant", "a1"), codexTalks("user", "u2"), codexTalks("assistant", "a2"),
			codexTalks("user", "u3"), codexTalks("assistant", "a3"), `{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":2}}`, codexTalks("user", "u4"),
		}, 8, "turn:4", "x u1 a1"},
		{"a rewind of more turns than there are", dialect.Codex, []string{
			`{"type":"session_meta","payload":{"id":"x"}}`, codexTalks("user", "u1"), codexTalks("assistant", "a1"),
			`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":9}}`, codexTalks("user", "u2"),
		}, 4, "turn:2", "x"},
		{"a compaction of Codex", dialect.Codex, []string{
			`{"type":"session_meta","payload":{"id":"x"}}`, codexTalks("user", "u1"), codexTalks("assistant", "a1"),
			`{"type":"compacted","payload":{"replacement_history":[{}]}}`, codexTalks("user", "u2"),
		}, 4, "turn:2", "x compacted"},
		{"a compaction of an older Codex", dialect.Codex, []string{
			codexTalks("user", "u1"), codexTalks("assistant", "a1"), `{"type":"compacted","payload":{"message":"SUM"}}`, codexTalks("user", "u2"),
		}, 3, "turn:2", "u1 a1 compacted"},

		{"messages that opencode has removed", dialect.Opencode, flat(
			opencodeTalks("user", "u1"), opencodeTalks("assistant", "a1"), opencodeTalks("user", "u2"), opencodeTalks("assistant", "a2"),
			one(`{"type":"message.removed","messageID":"a2"}`), one(`{"type":"message.removed","messageID":"u2"}`), opencodeTalks("user", "u3"),
		), 8, "turn:3", "u1 p-u1 a1 p-a1"},
	} {
		lines := readLinesOf(c.agent, c.lines)
		got := strings.ReplaceAll(idsOf(lines, cut(lines, c.before, strings.Fields(c.ids))), "message ", "")
		assert.Equal(t, strings.TrimSpace(c.want), strings.TrimSpace(got), c.what)
	}
}

// Lines can be a stranger's.
func TestABranchIsFoundInLinearTime(t *testing.T) {
	t.Parallel()
	const many = 100_000
	link := func(l dialect.Link) dialect.Line { return dialect.Line{Facts: dialect.Facts{Link: &l, Answers: true}} }
	var chain, keeping, circles, rewound, removed []dialect.Line
	for i := range many {
		id, before := strconv.Itoa(i), strconv.Itoa(i-1)
		chain = append(chain, link(dialect.Link{ID: id, Parent: before}))
		circles = append(circles, link(dialect.Link{ID: id, Parent: strconv.Itoa(i + 1)}))
		keeping = append(keeping, link(dialect.Link{ID: id, Parent: before, Head: "0", Tail: before, Anchor: before}))
		removed = append(removed, dialect.Line{Facts: dialect.Facts{Part: "x", Undo: &dialect.Undo{Message: "x"}}}, dialect.Line{Facts: dialect.Facts{Part: "x"}})
		rewound = append(rewound, dialect.Line{Facts: dialect.Facts{Part: "x"}}, dialect.Line{Facts: dialect.Facts{Undo: &dialect.Undo{Turns: 1}, Part: "y"}})
	}
	began := time.Now()
	for _, lines := range [][]dialect.Line{circles, keeping, rewound, removed} {
		ownLines(lines, len(lines), -1)
	}
	assert.Len(t, ownLines(chain, many, -1), many)
	assert.Less(t, time.Since(began), 20*time.Second, "quadratic time would be minutes")
}
