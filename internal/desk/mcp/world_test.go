package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/desk/mcp"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// A world is a repository with a server, and a clock that stands still.
type world struct {
	*repotest.Repo

	t  *testing.T
	ms atomic.Int64
}

// newWorld returns a world with a commit.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Repo: repotest.New(t, repotest.Commit), t: t}
	w.Env = append(w.Env, "GIT_SMITHERS_WORKTREE=all")
	w.ms.Store(1795196864501)
	return w
}

// streams are those of a process in the repository.
func (w *world) streams() cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer), Dir: w.Dir, Env: w.Env, Now: func() time.Time {
		return time.UnixMilli(w.ms.Load()).UTC()
	}}
}

// smithers runs a command, which must succeed, with a standard input.
func (w *world) smithers(in string, args ...string) string {
	w.t.Helper()
	var out, said bytes.Buffer
	s := w.streams()
	s.In, s.Out, s.Err = strings.NewReader(in), &out, &said
	require.Zero(w.t, cli.Main(w.t.Context(), s, args), "%s", said.String())
	return out.String()
}

// hook tells of an event of the session s1 of Claude Code.
func (w *world) hook(event string, with map[string]any) {
	w.t.Helper()
	all := map[string]any{"session_id": "s1", "cwd": w.Dir, "hook_event_name": event}
	maps.Copy(all, with)
	text, err := json.Marshal(all)
	require.NoError(w.t, err)
	w.smithers(string(text), "session", "hook", "claude", event)
}

// turn is a turn of the session: a prompt, a file that a tool writes, and an answer.
func (w *world) turn(prompt, file, content, answer string) {
	w.t.Helper()
	w.hook("UserPromptSubmit", map[string]any{"prompt": prompt})
	w.Write(file, content)
	w.ms.Add(1000)
	w.hook("PostToolBatch", map[string]any{"tool_calls": []any{map[string]any{
		"tool_name": "Write", "tool_input": map[string]any{"file_path": filepath.Join(w.Dir, file), "content": content}, "tool_use_id": fmt.Sprint("toolu_", w.ms.Load()),
	}}})
	w.hook("Stop", map[string]any{"last_assistant_message": answer})
}

// A client is a client of a server in the same process.
type client struct {
	*sdk.ClientSession

	t *testing.T
}

// connect returns a client of a new server.
func (w *world) connect(options *sdk.ClientOptions, allow ...string) *client {
	w.t.Helper()
	near, far := sdk.NewInMemoryTransports()
	_, err := mcp.New(w.t.Context(), w.streams(), allow).Connect(w.t.Context(), far, nil)
	require.NoError(w.t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(w.t.Context(), near, nil)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = session.Close() })
	return &client{session, w.t}
}

// result calls a tool. args are names and values by turns.
func (c *client) result(tool string, args ...any) *sdk.CallToolResult {
	c.t.Helper()
	given := make(map[string]any)
	for i := 0; i < len(args); i += 2 {
		given[args[i].(string)] = args[i+1] //nolint:errcheck,forcetypeassert // a name
	}
	res, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
	require.NoError(c.t, err)
	return res
}

// said returns the text of a result.
func said(res *sdk.CallToolResult) string {
	var all strings.Builder
	for _, part := range res.Content {
		if text, ok := part.(*sdk.TextContent); ok {
			all.WriteString(text.Text)
		}
	}
	return all.String()
}

// call calls a tool, which must succeed, and returns what it says.
func (c *client) call(tool string, args ...any) string {
	c.t.Helper()
	res := c.result(tool, args...)
	require.False(c.t, res.IsError, said(res))
	return said(res)
}

// refused calls a tool, which must not succeed, and returns what it says.
func (c *client) refused(tool string, args ...any) string {
	c.t.Helper()
	res := c.result(tool, args...)
	require.True(c.t, res.IsError, said(res))
	return said(res)
}

// asks returns options of a client whose person answers with an action. It keeps the questions.
func asks(action string, questions *[]string) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		*questions = append(*questions, req.Params.Message)
		return &sdk.ElicitResult{Action: action, Content: map[string]any{}}, nil
	}}
}
