package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/desk/mcp"
)

// hello begins a session of an older protocol.
const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{%s},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// callOf returns a line that calls a tool.
func callOf(id int, tool, args string) string {
	return fmt.Sprintf(`{"method":"tools/call","params":{"name":%q,"arguments":%s},"jsonrpc":"2.0","id":%d}`+"\n", tool, args, id)
}

// answers serves the lines of an input until its end, and returns what was answered, by id.
func (w *world) answers(in string) map[string]string {
	w.t.Helper()
	var out bytes.Buffer
	s := w.streams()
	s.In, s.Out = strings.NewReader(in), &out
	require.NoError(w.t, mcp.Serve(w.t.Context(), s, nil))
	all := make(map[string]string)
	for line := range strings.Lines(out.String()) {
		var msg struct{ ID json.RawMessage }
		require.NoError(w.t, json.Unmarshal([]byte(line), &msg))
		all[string(msg.ID)] += line
	}
	return all
}

// A client may write its calls and close the pipe: each is answered.
func TestLinesThatAreNoMessagesAreAnsweredAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	big := strings.Repeat("x", 10<<20)
	got := w.answers(fmt.Sprintf(hello, "") + "no JSON\n\n[]\n{}\n" + `[{"jsonrpc":"2.0","id":8,"method":"ping"}]` + "\n" +
		callOf(1, "timeline", `{"run":"`+big+`"}`) + `{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"` + big + `"}}` + "\n" +
		`{"params":"` + big + `\"id\":3}` + "\n" + callOf(4, "nope", "{}") + callOf(5, "timeline", `{"run":7}`) +
		`{"jsonrpc":"2.0","id":6,"method":"nope"}` + "\n" + callOf(9, "status", "{}"))
	assert.Contains(t, got["null"], `{"code":-32700,"message":"the line is no JSON"}`)
	assert.Equal(t, 5, strings.Count(got["null"], "error"), got["null"])
	assert.Contains(t, got["1"], `{"code":-32600,"message":"a message has at most 1 MiB"}`)
	assert.Contains(t, got[`"two"`], "a message has at most 1 MiB")
	assert.Contains(t, got["4"], `{"code":-32602,"message":"unknown tool \"nope\""}`)
	assert.Contains(t, got["5"], `"isError":true`)
	assert.Contains(t, got["6"], `-32601`)
	assert.Contains(t, got["9"], `No runs yet`)
}

func TestTooManyCallsAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var in strings.Builder
	fmt.Fprintf(&in, hello, "")
	for i := range 300 {
		in.WriteString(callOf(i+1, "status", "{}"))
	}
	got := w.answers(in.String())
	assert.Len(t, got, 301)
	refused := 0
	for _, line := range got {
		if strings.Contains(line, "too many calls at once") {
			refused++
		}
	}
	assert.Greater(t, refused, 100)
	assert.Less(t, refused, 300-60)
}

func TestWhatIsReadIsNotKept(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	w := newWorld(t)
	in, feed := io.Pipe()
	s := w.streams()
	s.In, s.Out = in, io.Discard
	done := make(chan error, 1)
	go func() { done <- mcp.Serve(t.Context(), s, nil) }()
	part := bytes.Repeat([]byte("y"), 1<<20)
	measure := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	for range 50 {
		_, err := feed.Write(part)
		require.NoError(t, err)
	}
	assert.Less(t, measure(), before+8<<20)
	require.NoError(t, feed.Close())
	require.NoError(t, <-done)
}

// An older client is asked while its call is open.
func TestAnOlderClientIsAskedByElicitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("break it", "a.txt", "broken\n", "done")
	in, feed := io.Pipe()
	out, said := io.Pipe()
	s := w.streams()
	s.In, s.Out = in, said
	done := make(chan error, 1)
	go func() { done <- mcp.Serve(t.Context(), s, nil) }()
	lines := bufio.NewReader(out)
	say := func(text string) string {
		go func() { _, _ = io.WriteString(feed, text) }()
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		return line
	}
	say(fmt.Sprintf(hello, `"elicitation":{}`))
	for _, action := range []string{"decline", "accept"} {
		question := say(callOf(1, "restore", `{"at":"claude-s1:1"}`))
		assert.Contains(t, question, `"method":"elicitation/create"`)
		assert.Contains(t, question, `1 file would change:\n  modify  a.txt`)
		var msg struct{ ID json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(question), &msg))
		answer := say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q,"content":{}}}`+"\n", msg.ID, action))
		if action == "decline" {
			assert.Contains(t, answer, "nobody has agreed")
			assert.Equal(t, "broken\n", w.file())
		} else {
			assert.NotContains(t, answer, "isError")
		}
	}
	assert.Equal(t, "one\n", w.file())
	require.NoError(t, feed.Close())
	require.NoError(t, <-done)
}
