package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// langGraphEnv returns the environment of programs that need node 20: that of .tools, if the machine has an older one.
func langGraphEnv(t *testing.T) []string {
	t.Helper()
	node, err := filepath.Abs(filepath.Join(".tools", "node", "bin"))
	require.NoError(t, err)
	if _, err := os.Stat(node); err != nil {
		return os.Environ()
	}
	return append(os.Environ(), "PATH="+node+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// langGraphClient builds the npm package of clients/langgraph in a folder of its own, and returns the folder. tool names the
// version of LangGraph.
func langGraphClient(t *testing.T, tool string) string {
	t.Helper()
	modules := repotest.LangGraph(t, tool)
	dir := t.TempDir()
	list, err := exec.Command("git", "ls-files", "-z", "-co", "--exclude-standard", "clients/langgraph").Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		copied := filepath.Join(dir, strings.TrimPrefix(name, "clients/langgraph/"))
		require.NoError(t, os.MkdirAll(filepath.Dir(copied), 0o777))
		require.NoError(t, os.WriteFile(copied, data, 0o666))
	}
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	for _, line := range [][]string{
		{"node_modules/.bin/tsc", "-p", "tsconfig.json"},
		{"node_modules/.bin/tsc", "-p", "tsconfig.cjs.json"},
		{"env", "node", "cjs.mjs"}, // env finds the node of the environment
	} {
		out, err := process(dir, langGraphEnv(t), line[0], line[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", line, out)
	}
	return dir
}

// langGraphSpecs runs files of tests of the package.
func langGraphSpecs(t *testing.T, client string, specs ...string) {
	t.Helper()
	var args []string
	for _, spec := range specs {
		args = append(args, "test/"+spec+".spec.mjs")
	}
	langGraphTests(t, client, args...)
}

// langGraphTests runs vitest in the folder of the package. The examples also run under the bun of Smithers.
func langGraphTests(t *testing.T, client string, args ...string) {
	t.Helper()
	binary, err := exec.LookPath("git-smithers")
	require.NoError(t, err)
	env := append(langGraphEnv(t), "GIT_SMITHERS="+binary, "BUN="+filepath.Join(repotest.Smithers(t), "bun", "bin", "bun.exe"), "NO_COLOR=1", "GORACE=atexit_sleep_ms=0")
	vitest := filepath.Join(client, "node_modules", ".bin", "vitest")
	out, err := process(client, env, vitest, append([]string{"run"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "skipped")
	t.Log(strings.TrimSpace(string(out[max(0, len(out)-300):])))
}

// TestLangGraph runs LangGraph's own tests for savers, a test for each rule of the contract, what commands do to threads, and the
// examples; uses the package as it would be published; and, in a soak, does most of it with the newest LangGraph, too, lets processes die, sends
// threads to a remote, where they are joined, and imports threads of the SqliteSaver.
func TestLangGraph(t *testing.T) {
	client := langGraphClient(t, "langgraph")
	t.Run("suite", func(t *testing.T) { langGraphSpecs(t, client, "validation", "rules", "log", "commands", "examples") })
	t.Run("package", func(t *testing.T) { usesLangGraphPackage(t, client) })
	t.Run("newest", func(t *testing.T) { // LONG of the Makefile leaves this part and the next two to a soak
		langGraphSpecs(t, langGraphClient(t, "langgraph-newest"), "rules", "commands", "examples")
	})
	t.Run("together", func(t *testing.T) {
		langGraphSpecs(t, client, "faults", "handoff")
		langGraphSpecs(t, langGraphClient(t, "langgraph-newest"), "validation", "log", "faults", "handoff")
	})
	t.Run("questions", func(t *testing.T) {
		t.Setenv("GIT_SMITHERS_CALL_LOG", "0") // each put waits for its answer
		langGraphSpecs(t, client, "validation", "rules", "faults")
	})
	t.Run("import", func(t *testing.T) {
		modules, err := filepath.Abs(filepath.Join(".tools", "langgraph-sqlite", "node_modules"))
		require.NoError(t, err)
		if _, err := os.Stat(modules); err != nil {
			t.Skip("there is no SqliteSaver: run `tools/langgraph-sqlite.sh`")
		}
		t.Setenv("SQLITE", modules)
		langGraphSpecs(t, client, "import")
		langGraphSpecs(t, langGraphClient(t, "langgraph-newest"), "import")
	})
	t.Run("upstream", func(t *testing.T) {
		if os.Getenv("LANGGRAPHJS") == "" {
			t.Skip("LANGGRAPHJS names no checkout of LangGraph.js, whose tests of time travel would run here")
		}
		langGraphTests(t, client, "--config", "vitest.upstream.config.mjs")
	})
}

// usesLangGraphPackage makes the package that would be published, and uses it from both kinds of modules.
func usesLangGraphPackage(t *testing.T, client string) {
	t.Helper()
	out, err := process(client, os.Environ(), "npm", "pack", "--ignore-scripts", "--offline", "--silent").CombinedOutput()
	require.NoError(t, err, "%s", out)
	list, err := process(client, os.Environ(), "tar", "-tzf", strings.TrimSpace(string(out))).Output()
	require.NoError(t, err)
	for _, name := range []string{"dist/esm/index.js", "dist/esm/index.d.ts", "dist/cjs/index.js", "dist/cjs/package.json", "README.md", "LICENSE", "examples/replay.mjs"} {
		require.Contains(t, string(list), "package/"+name+"\n")
	}
	require.NotContains(t, string(list), "package/test/")
	for _, code := range []string{
		`import("@git-smithers/langgraph").then(({ GitSmithersSaver }) => console.log(typeof GitSmithersSaver.open))`,
		`console.log(typeof require("@git-smithers/langgraph").GitSmithersSaver.open)`,
	} {
		out, err := process(client, langGraphEnv(t), "env", "node", "-e", code).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "function\n", string(out))
	}
}
