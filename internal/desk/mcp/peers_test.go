package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/desk/mcp"
)

// program returns a command of node with a program of the Model Context Protocol, and skips the test unless MCP is set.
func program(t *testing.T, w *world, file string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getenv("MCP") == "" {
		t.Skip("`make test-mcp` runs the programs of the Model Context Protocol")
	}
	modules, err := filepath.Abs("../../../.tools/mcp/node_modules")
	require.NoError(t, err)
	node := filepath.Join(modules, ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no inspector for MCP")
		t.Skip("there is no inspector for MCP")
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(modules, "@modelcontextprotocol", file)}, args...)...)
	cmd.Dir, cmd.Env = w.Dir, append(w.Env, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
	return cmd
}

// TestTheInspectorReadsASession runs the inspector against the programs over standard streams.
func TestTheInspectorReadsASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inspector := "inspector/clients/launcher/build/index.js"
	program(t, w, inspector)
	w.turn("write it", "a.txt", "one\n", "written")
	bin := t.TempDir()
	for name, pkg := range map[string]string{"git-smithers": "../../..", "git-smithers-desk": "../../../cmd/git-smithers-desk"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-o", filepath.Join(bin, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	inspect := func(args ...string) string {
		out, _ := program(t, w, inspector, append([]string{"--cli", filepath.Join(bin, "git-smithers"), "mcp", "--method"}, args...)...).CombinedOutput() // it fails with a tool
		return string(out)
	}
	var list struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(inspect("tools/list")), &list))
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	assert.Equal(t, "checkpoint diff restore search show status timeline what_if who_changed", strings.Join(names, " "))
	assert.Contains(t, inspect("tools/call", "--tool-name", "who_changed", "--tool-arg", "path=a.txt"), "(turn 1 write it ")
	assert.Contains(t, inspect("resources/read", "--uri", "smithers://run/claude-s1/1"), "claude-s1:1  running")
	assert.Contains(t, inspect("tools/call", "--tool-name", "restore", "--tool-arg", "at=claude-s1:0"), "unconfirmed")
	assert.FileExists(t, filepath.Join(w.Dir, "a.txt"))
}

// TestTheServerConforms runs the conformance tests that need no tools of their own against the server over HTTP, which the program itself does not speak.
func TestTheServerConforms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conformance := "conformance/dist/index.js"
	program(t, w, conformance)
	w.turn("write it", "a.txt", "one\n", "written")
	server := mcp.New(t.Context(), w.streams(), nil)
	serve := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(serve.Close)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			out, err := program(t, w, conformance, "server", "--url", serve.URL, "--scenario", scenario).CombinedOutput()
			assert.NoError(t, err, string(out))
			assert.NotContains(t, string(out), "FAILURE")
			t.Log(string(out))
		})
	}
}
