package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// course invokes session what-if at a terminal, where a program claude writes down what it was started with.
func course(t *testing.T, d *desk, answer string, args ...string) (c *call, started string) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	log := filepath.Join(bin, "log")
	repotest.WriteProgram(t, filepath.Join(bin, "claude"), "#!/bin/sh\n{ basename \"$PWD\"; printf '%s\\n' \"$@\"; cat; } >"+log+"\nexit 7\n")
	c = d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(answer)
		atTerminal("PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home)(s)
	}, append([]string{"session", "what-if"}, args...)...)
	text, _ := os.ReadFile(log)
	return c, string(text)
}

func TestAnotherCourseStartsItsAgentAtATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.repo.Git("commit", "-q", "--allow-empty", "-m", "one")
	hook := d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"x"}`)
	}, "session", "hook", "claude", "UserPromptSubmit")
	require.Equal(t, fault.ExitOK, hook.exit)

	dir := filepath.Join(t.TempDir(), "started")
	c, started := course(t, d, "typed", "@", "go on", "--to", dir)
	assert.Equal(t, fault.ExitOK, c.exit, "how the agent ends is its own matter: %s", c.err.String())
	assert.Regexp(t, `^started\n--session-id\n[0-9a-f-]{36}\ngo on\ntyped$`, started)
	assert.Empty(t, c.out.String())
	c, started = course(t, d, "", "@", "--no-start")
	assert.Empty(t, started)
	assert.Contains(t, c.out.String(), "claude --session-id ")

	// As in the clone of a colleague, who has fetched the session.
	notes, err := filepath.Glob(filepath.Join(d.repo.Dir, ".git", "smithers", "sessions", "recorded-*"))
	require.NoError(t, err)
	require.Len(t, notes, 3, "the session and its two courses")
	for _, note := range notes {
		require.NoError(t, os.Remove(note))
	}
	c, started = course(t, d, "n\n", "@", "go on")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.Contains(t, c.err.String(), "Session claude-s was not recorded in this clone.")
	assert.Contains(t, c.err.String(), "the course is there: `cd ")
	assert.Empty(t, started)
	c, started = course(t, d, "y\n", "@", "go on")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, started, "go on")
	_, started = course(t, d, "", "@", "go on", "--yes")
	assert.Contains(t, started, "go on")
}

func TestAnotherCourseWithoutItsAgentIsThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.repo.Git("commit", "-q", "--allow-empty", "-m", "one")
	d.invoke(t, func(s *cli.Streams) {
		s.In = strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"x"}`)
	}, "session", "hook", "claude", "UserPromptSubmit")
	home := t.TempDir()
	c := d.invoke(t, atTerminal("HOME="+home), "session", "what-if", "@", "go on")
	assert.Contains(t, c.err.String(), "claude is not installed, or not on PATH")
	assert.Contains(t, c.err.String(), "the course is there: `cd ")
}
