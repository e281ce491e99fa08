package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
)

// calls returns the tool calls in the journal as lines: key, tool, status, input, output and error.
func (s *scratch) calls() (lines []string) {
	s.t.Helper()
	for c, err := range s.entries[len(s.entries)-1].AllToolCalls() {
		require.NoError(s.t, err)
		parts := []string{snapshot.ToolCallKey(c.NodeID, c.Iteration, c.Attempt, c.Seq), c.ToolName, c.Status}
		for _, value := range []json.RawMessage{c.Input, c.Output, c.Error} {
			if value != nil {
				parts = append(parts, string(value))
			}
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}

// reporting is a task whose command reports the lines of a file.
func reporting(t *testing.T, lines ...string) (*scratch, *[]string) {
	t.Helper()
	return reportingAnd(t, ":", lines...)
}

// reportingAnd is reporting, and the command does something else afterwards.
func reportingAnd(t *testing.T, then string, lines ...string) (*scratch, *[]string) {
	t.Helper()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'cat lines >>"$SMITHERS_TOOL_CALLS"; `+then+`'}]}`, "")
	s.file("lines", strings.Join(lines, "\n"))
	s.opts.Logs = &keptLogs{logs: make(map[string]string), folder: t.TempDir()}
	warned := new([]string)
	s.opts.Warn = func(err error) { *warned = append(*warned, err.Error()) }
	return s, warned
}

func TestACommandReportsItsToolCalls(t *testing.T) {
	t.Parallel()
	s, warned := reporting(t,
		`{"id":"1","tool":"bash","input":{"command":"make"},"status":"started"}`,
		`{"id":"2","tool":"read","input":"a.go"}`,
		``,
		`{"tool":"edit","input":{"b":1, "a":2},"output":null,"startedAtMs":100,"durationMs":20,"sideEffect":true,"idempotent":false}`,
		`{"id":"1","output":"ok","finishedAtMs":1800000000000}`,
		`{"tool":"fetch","error":{"name":"Timeout"}}`,
		`{"tool":"mail","status":"unknown","finishedAtMs":700,"idempotencyKey":"k"}`,
		`{"tool":"list","durationMs":5}`, // without a line feed
	)
	_, err := s.run()
	require.NoError(t, err)
	assert.Empty(t, *warned)
	assert.Equal(t, []string{
		`a::0::1::1 bash succeeded {"command":"make"} "ok"`,
		`a::0::1::2 read intended "a.go"`,
		`a::0::1::3 edit succeeded {"b":1, "a":2} null`,
		`a::0::1::4 fetch failed {"name":"Timeout"}`,
		`a::0::1::5 mail unknown`,
		`a::0::1::6 list succeeded`,
	}, s.calls())
	var all []snapshot.ToolCall
	for c, err := range s.entries[len(s.entries)-1].AllToolCalls() {
		require.NoError(t, err)
		all = append(all, c)
	}
	assert.EqualValues(t, 1_800_000_000_000, *all[0].FinishedAtMs)
	assert.Equal(t, "1", all[0].CallToken)
	assert.EqualValues(t, 100, all[2].StartedAtMs)
	assert.EqualValues(t, 120, *all[2].FinishedAtMs)
	assert.True(t, *all[2].SideEffect)
	assert.False(t, *all[2].Idempotent)
	assert.EqualValues(t, 700, all[4].StartedAtMs)
	assert.EqualValues(t, 5, *all[5].FinishedAtMs-all[5].StartedAtMs)
}

func TestALineThatReportsNoCallIsAWarningAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, why string }{
		{`nonsense`, "not one JSON value"},
		{`{"tool":"a"} {"tool":"b"}`, "not one JSON value"},
		{`[]`, "not a JSON object"},
		{`{"tool":1}`, `member "tool" cannot be a number`},
		{`{"tool":"a","result":1}`, `unknown field "result"`},
		{`{"input":1}`, "no tool"},
		{`{"tool":"a","status":"done"}`, `status "done" is not started, succeeded, failed or unknown`},
		{`{"id":"ended","tool":"a","output":1}`, `call "ended" has ended before`},
		{`{"tool":"a","startedAtMs":-1}`, "startedAtMs -1 is out of range"},
		{`{"tool":"a","startedAtMs":1,"durationMs":9223372036854775807}`, "durationMs 9223372036854775807 is out of range"},
		{"{\"tool\":\"\xff\"}", "not UTF-8"},
		{`{"tool":"` + strings.Repeat("x", 1<<20) + `"}`, "longer than 1048576 bytes"},
		{`{"tool":"a","input":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			s, warned := reporting(t, `{"id":"ended","tool":"first","output":0}`, c.line, `{"tool":"last","output":1}`)
			_, err := s.run()
			require.NoError(t, err)
			assert.Equal(t, []string{"a::0::1::1 first succeeded 0", "a::0::1::2 last succeeded 1"}, s.calls())
			require.Len(t, *warned, 1)
			assert.Contains(t, (*warned)[0], "task a: tool calls are missing: 1 line of its file of tool calls cannot be read; line 2: ")
			assert.Contains(t, (*warned)[0], c.why)
		})
	}
}

func TestWhatIsReportedIsBounded(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 70_000) + `"`
	lines := make([]string, 0, 10_100)
	lines = append(lines, `{"tool":"large","input":`+large+`}`)
	for range 300 {
		lines = append(lines, `{"tool":"many","output":"`+strings.Repeat("y", 60_000)+`"}`)
	}
	for range 9_800 {
		lines = append(lines, `{"tool":"small","output":1}`)
	}
	s, warned := reporting(t, lines...)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"task a: tool calls are missing: 101 lines of its file of tool calls cannot be read; line 10001: more than 10000 calls"}, *warned)
	stored, cut := 0, 0
	for _, line := range s.calls() {
		if strings.Contains(line, `{"truncated":true,`) {
			cut++
			assert.Less(t, len(line), 2000)
		}
		stored += len(line)
	}
	assert.Greater(t, cut, 20)
	assert.Less(t, stored, 20<<20)
}

func TestAFileOfToolCallsThatIsReplacedIsAWarning(t *testing.T) {
	t.Parallel()
	s, warned := reportingAnd(t, `rm "$SMITHERS_TOOL_CALLS"; mkfifo "$SMITHERS_TOOL_CALLS"`, `{"tool":"bash"}`)
	s.dieAt("a finished")
	_, err := s.run() // nobody waits for a writer of the pipe
	require.NoError(t, err)
	require.NotEmpty(t, *warned)
	assert.Contains(t, (*warned)[0], "task a: tool calls are missing: the file of tool calls is no file any more: p")
	assert.Equal(t, []string{"a::0::2::1 bash intended"}, s.calls())
}

func TestALargeFileOfToolCallsIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	s, warned := reportingAnd(t, `echo >>"$SMITHERS_TOOL_CALLS"; truncate -s 100G "$SMITHERS_TOOL_CALLS"`, `{"tool":"bash"}`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"task a: tool calls are missing: 1 line of its file of tool calls cannot be read; the file has more than 268435456 bytes"}, *warned)
	assert.Equal(t, []string{"a::0::1::1 bash intended"}, s.calls())
}

func TestToolCallsAreThereWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo "{\"id\":\"1\",\"tool\":\"bash\"}" >>"$SMITHERS_TOOL_CALLS"; read x < fifo; echo "{\"id\":\"1\",\"output\":1}" >>"$SMITHERS_TOOL_CALLS"'}]}`, "")
	s.fifo("fifo")
	s.opts.Logs = &keptLogs{logs: make(map[string]string), folder: t.TempDir()}
	s.opts.Watch = 10 * time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if p.Running == 1 {
			go func() {
				assert.Eventually(t, func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					newest := s.entries[len(s.entries)-1]
					rows, err := newest.ToolCalls()
					return err == nil && rows.Len() == 1 && newest.Frame == snapshot.NoFrame
				}, time.Minute, time.Millisecond)
				s.file("fifo", "\n")
			}()
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"a::0::1::1 bash succeeded 1"}, s.calls())
	assert.EqualValues(t, 3, s.tipRow().Frame, "tool calls alone make no frame")
}

func TestToolCallsOfAnInterruptedAttemptAreNotLost(t *testing.T) {
	t.Parallel()
	s, warned := reporting(t, `{"id":"1","tool":"bash","output":1}`, `{"tool":"edit"}`)
	s.dieAt("a finished")
	assert.Empty(t, s.calls())
	_, err := s.run()
	require.NoError(t, err)
	assert.Empty(t, *warned)
	assert.Equal(t, []string{
		"a::0::1::1 bash succeeded 1", "a::0::1::2 edit intended", "a::0::2::1 bash succeeded 1", "a::0::2::2 edit intended",
	}, s.calls())
}
