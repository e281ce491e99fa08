package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A call is one command line and what came of it.
type call struct {
	out, err bytes.Buffer
	exit     int
}

// invoke runs a command line in an empty folder, with nothing on standard input,
// after edit has changed its streams.
func invoke(t *testing.T, edit func(*cli.Streams), args ...string) *call {
	t.Helper()
	c := &call{}
	dir := t.TempDir()
	streams := cli.Streams{
		In: strings.NewReader(""), Out: &c.out, Err: &c.err, Dir: dir, Env: append(repotest.Env(dir), "TERM=xterm"),
		Now: func() time.Time { return time.UnixMilli(1795196864501).UTC() },
	}
	if edit != nil {
		edit(&streams)
	}
	c.exit = cli.Main(t.Context(), streams, args)
	return c
}

// golden compares text with a file, or rewrites the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// commands are the commands that help --all lists, but for a few.
func commands() []string {
	return []string{
		"run", "check", "resume", "cancel", "status", "runs", "timeline", "show", "diff", "compare", "frames", "revert", "restore",
		"inbox", "approve", "deny", "answer", "signal", "logs", "events", "sql",
		"supervise", "travel", "reset", "undo", "ops",
		"fork", "replay", "branches", "worktrees", "worktrees prune",
		"push", "remote", "scan", "secret add", "secret list", "secret remove",
		"fetch", "bundle", "unbundle", "import", "watch", "export",
		"session enable", "session disable", "session status", "session what-if", "session continue", "session replay", "session export", "session import", "session hook", "init", "capture", "verify", "doctor", "seal", "completion", "version",
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for _, path := range commands() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(path)
			flagged := invoke(t, nil, append(words, "--help")...)
			assert.Equal(t, fault.ExitOK, flagged.exit)
			assert.Empty(t, flagged.err.String())
			golden(t, filepath.Join("testdata", "help", strings.ReplaceAll(path, " ", "-")+".txt"), flagged.out.String())

			asked := invoke(t, nil, append([]string{"help"}, words...)...)
			assert.Equal(t, flagged.out.String(), asked.out.String(), "help %s is %s --help", path, path)
		})
	}
}

func TestWithoutACommandItShowsHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-h"}, {"help"}} {
		c := invoke(t, nil, args...)
		assert.Equal(t, fault.ExitOK, c.exit)
		assert.Empty(t, c.err.String())
		golden(t, filepath.Join("testdata", "help", "root.txt"), c.out.String())
	}
}

func TestManPageIsUpToDate(t *testing.T) {
	t.Parallel()
	c := invoke(t, nil, "man")
	require.Equal(t, fault.ExitOK, c.exit)
	golden(t, filepath.Join("..", "..", "docs", "git-smithers.1"), c.out.String())
	for _, path := range commands() {
		assert.Contains(t, c.out.String(), ".SS "+strings.ReplaceAll(path, "-", `\-`)+"\n")
	}
}

func TestUsageErrorsAreTwoLinesOnStandardError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"too few arguments": {[]string{"branches"}, `
git-smithers: error: branches needs a run, such as @ for the newest one
git-smithers: hint: usage: git smithers branches <run> [--limit N] [--since TIME]
`},
		"too many arguments": {[]string{"branches", "a", "b"}, `
git-smithers: error: branches takes at most 1 argument, got 2: remove "b"
git-smithers: hint: usage: git smithers branches <run> [--limit N] [--since TIME]
`},
		"arguments where there are none": {[]string{"runs", "a"}, `
git-smithers: error: runs takes no arguments, got "a"
git-smithers: hint: usage: git smithers runs [--workflow NAME] [--limit N] [--since TIME] [--sessions] [--scores] [--with FACTS --json]
`},
		"an unknown flag": {[]string{"runs", "--colour"}, `
git-smithers: error: runs has no flag --colour
git-smithers: hint: did you mean --color?
`},
		"a value of the wrong type": {[]string{"run", "w", "--max-parallel", "many"}, `
git-smithers: error: --max-parallel cannot be "many": it takes a whole number
git-smithers: hint: usage: git smithers run <workflow> [--run-id ID] [--input JSON] [--wait] [--max-parallel N] [--dry-run]
`},
		"a boolean of the wrong type": {[]string{"runs", "--quiet=maybe"}, `
git-smithers: error: --quiet cannot be "maybe": it takes true or false
git-smithers: hint: usage: git smithers runs [--workflow NAME] [--limit N] [--since TIME] [--sessions] [--scores] [--with FACTS --json]
`},
		"a value out of range": {[]string{"run", "w", "--max-parallel", "0"}, `
git-smithers: error: --max-parallel cannot be 0
git-smithers: hint: use a number from 1
`},
		"a flag that is required": {[]string{"export", "a"}, `
git-smithers: error: export needs --to
git-smithers: hint: usage: git smithers export [<run>...] --to <smithers.db> [--root DIR] [--workflow FILE]
`},
		"a run that is required": {[]string{"replay", "w.yaml"}, `
git-smithers: error: replay needs a run after the workflow w.yaml
git-smithers: hint: usage: git smithers replay [<workflow>] <run>[:<frame>] [--restore-vcs [--to DIR]] [--set PATH=VALUE]... [--unset PATH]... [--node ID]... [--input JSON] [--label L] [--as ID] [--yes | --dry-run] | git smithers replay <workflow> <run>[:<frame>] --engine smithers [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L] [--as ID]
git-smithers: hint: if the run's id looks like the name of a file, use --run-id
`},
		"an unknown colour": {[]string{"--color", "sometimes", "runs"}, `
git-smithers: error: --color cannot be "sometimes"
git-smithers: hint: use auto, always or never
`},
		"an unknown shell": {[]string{"completion", "tcsh"}, `
git-smithers: error: completion does not support the shell "tcsh"
git-smithers: hint: choose bash, zsh or fish
`},
		"input that is not JSON": {[]string{"fork", "a", "--input", "{"}, `
git-smithers: error: --input is not JSON: unexpected end of JSON input
git-smithers: hint: --input takes JSON, @<file>, or - for standard input, for example --input '{"ticket":"T-12"}'
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := invoke(t, nil, test.args...)
			assert.Equal(t, fault.ExitUsage, c.exit)
			assert.Empty(t, c.out.String())
			assert.Equal(t, strings.TrimPrefix(test.want, "\n"), c.err.String())
		})
	}
}

func TestWithJSONAnErrorIsOneDocumentOnStandardError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"frok", "--json"}, {"--json", "frok"}} {
		c := invoke(t, nil, args...)
		assert.Equal(t, fault.ExitUsage, c.exit)
		assert.Empty(t, c.out.String())
		assert.JSONEq(t, `{"kind":"error","code":"unknown_command","exit":4,
			"message":"\"frok\" is not a command of git smithers",
			"hints":["did you mean `+"`git smithers fork`"+`?"],"details":{"command":"frok"}}`, c.err.String())
	}
	c := invoke(t, nil, "frok", "--", "--json")
	assert.Contains(t, c.err.String(), "git-smithers: error:", "an argument asks for nothing")
}

func TestOutsideARepositoryThereIsAHint(t *testing.T) {
	t.Parallel()
	c := invoke(t, nil, "runs")
	assert.Equal(t, fault.ExitNotFound, c.exit)
	assert.Empty(t, c.out.String())
	assert.Contains(t, c.err.String(), "git smithers init")
}

// A panicReader panics when it is read.
type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("the reader is broken") }

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	broken := func(env ...string) func(*cli.Streams) {
		return func(s *cli.Streams) { s.In, s.Env = panicReader{}, append(s.Env, env...) }
	}
	c := invoke(t, broken(), "fork", "a", "--input", "-")
	assert.Equal(t, fault.ExitBug, c.exit)
	assert.Empty(t, c.out.String())
	assert.Contains(t, c.err.String(), "git-smithers: error: internal error: the reader is broken\n")
	assert.Contains(t, c.err.String(), "report it at")
	assert.NotContains(t, c.err.String(), "goroutine")

	c = invoke(t, broken("GIT_SMITHERS_DEBUG=1"), "fork", "a", "--input", "-")
	assert.Contains(t, c.err.String(), "goroutine", "the stack is for those who ask")
}

// A failingWriter fails every write.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestOutput(t *testing.T) {
	t.Parallel()
	to := func(err error) func(*cli.Streams) {
		return func(s *cli.Streams) { s.Out = failingWriter{err} }
	}
	t.Run("a reader that has seen enough is success", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{syscall.EPIPE, io.ErrClosedPipe} {
			c := invoke(t, to(err), "version")
			assert.Equal(t, fault.ExitOK, c.exit)
			assert.Empty(t, c.err.String())
		}
	})
	t.Run("output that cannot be written is a failure", func(t *testing.T) {
		t.Parallel()
		c := invoke(t, to(errors.New("no room")), "version")
		assert.Equal(t, fault.ExitFailed, c.exit)
		assert.Contains(t, c.err.String(), "no room")
	})
}

func TestInterruptedBeforeItStarts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, talk bytes.Buffer
	exit := cli.Main(ctx, cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &talk, Dir: t.TempDir(), Env: repotest.Env(t.TempDir()), Now: time.Now,
	}, []string{"runs"})
	assert.Equal(t, fault.ExitInterrupt, exit)
	assert.Empty(t, out.String())
}

func TestVersionSaysWhichBuildThisIs(t *testing.T) {
	t.Parallel()
	c := invoke(t, nil, "--version")
	assert.Regexp(t, `^git-smithers \S+ go\S+ \S+/\S+\n$`, c.out.String())

	c = invoke(t, nil, "version", "--json")
	var doc map[string]any
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &doc))
	assert.Equal(t, "version", doc["kind"])
}

func TestCompletionKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		c := invoke(t, nil, "completion", shell)
		assert.Equal(t, fault.ExitOK, c.exit)
		for _, path := range commands() {
			words := strings.Fields(path)
			assert.Contains(t, c.out.String(), words[len(words)-1], shell)
		}
		golden(t, filepath.Join("testdata", "completion", shell), c.out.String())
	}
}
