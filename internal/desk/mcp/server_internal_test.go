package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// served returns a client of a server with a tool that does do.
func served(t *testing.T, options *sdk.ClientOptions, do func()) *sdk.ClientSession {
	t.Helper()
	to := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1"}, nil)
	addTool(to, "slow", "", &sdk.ToolAnnotations{}, func(context.Context, *sdk.CallToolRequest, struct{}) *sdk.CallToolResult {
		do()
		return result("done", false)
	})
	to.AddReceivingMiddleware((&server{tick: time.Millisecond}).tell, caught)
	near, far := sdk.NewInMemoryTransports()
	_, err := to.Connect(t.Context(), far, nil)
	require.NoError(t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, options).Connect(t.Context(), near, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestALongCallSaysThatItIsAtWork(t *testing.T) {
	t.Parallel()
	told := make(chan *sdk.ProgressNotificationParams, 100)
	session := served(t, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
		told <- req.Params
	}}, func() {
		for len(told) < 2 {
			<-time.After(time.Millisecond)
		}
	})
	params := &sdk.CallToolParams{Name: "slow"}
	params.SetProgressToken("mine")
	res, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.False(t, res.IsError)
	for n := 1.0; n < 3; n++ {
		note := <-told
		assert.Equal(t, "mine", note.ProgressToken)
		assert.InDelta(t, n, note.Progress, 0)
		assert.Equal(t, "slow is at work", note.Message)
	}
}

func TestAPanicIsAnErrorOfOneCall(t *testing.T) {
	t.Parallel()
	calls := 0
	session := served(t, nil, func() {
		if calls++; calls == 1 {
			panic("a bug")
		}
	})
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "slow"})
	wire := new(jsonrpc.Error)
	require.ErrorAs(t, err, &wire)
	assert.Equal(t, int64(jsonrpc.CodeInternalError), wire.Code)
	_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "slow"})
	require.NoError(t, err)
}

func TestAPageEndsWithALineIfItCan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text       string
		room       int
		head, rest string
	}{
		"all":                      {"a\nb\n", 6, "a\nb\n", ""},
		"a line feed takes two":    {"a\nb\n", 5, "a\n", "b\n"},
		"a long line":              {"abcdef\n", 4, "abcd", "ef\n"},
		"a character is not split": {"aäö", 4, "aä", "ö"},
		"escapes count":            {"<<<", 12, "<<", "<"},
	} {
		head, rest := cut(test.text, test.room)
		assert.Equal(t, [2]string{test.head, test.rest}, [2]string{head, rest}, name)
	}
	head, rest := cut(strings.Repeat("x", 9), 0)
	assert.Empty(t, head)
	assert.Len(t, rest, 9)
}
