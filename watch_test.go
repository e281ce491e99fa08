package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
)

// engine begins to write smithers.db in the working copy, from what Smithers has written elsewhere.
func (w *world) engine() *sourcetest.Engine {
	w.t.Helper()
	content, err := os.ReadFile("testdata/smithers/git-run-fork-replay.db")
	require.NoError(w.t, err)
	source := filepath.Join(w.t.TempDir(), "source.db")
	require.NoError(w.t, os.WriteFile(source, content, 0o600))
	require.NoError(w.t, sourcetest.Exec(context.Background(), source,
		"UPDATE _smithers_runs SET vcs_root = '"+w.Dir+"'; UPDATE _smithers_attempts SET jj_cwd = '"+w.Dir+"' WHERE jj_cwd IS NOT NULL"))
	engine, err := sourcetest.Begin(context.Background(), source, filepath.Join(w.Dir, "smithers.db"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, engine.Close()) })
	return engine
}

func TestAWatchThatWasKilledCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: one, run: 'true'}]}")
	watch := w.start("watch", "smithers.db", "--json")
	watch.says(`{"kind":"watching","database":"smithers.db"}`)
	engine := w.engine()
	for frame := int64(1); frame <= 6; frame++ {
		w.write("draft.md", strings.Repeat("x", int(frame)))
		require.NoError(t, engine.Frame(t.Context(), "run-a", frame))
		if frame == 3 {
			watch.says(`"frame":3,`)
			require.NoError(t, watch.Process.Kill())
			watch.exits(-1)
		}
	}
	assert.Equal(t, "xxx", w.Git("show", "refs/smithers/run-a/3:worktree/draft.md"))

	again := w.start("watch", "smithers.db", "--quiet")
	again.says("run-a: continued, 3 frames up to 6\n")
	w.write("draft.md", "seven")
	require.NoError(t, engine.Frame(t.Context(), "run-a", 7))
	again.says("run-a: continued, frame 7\n")
	assert.Equal(t, "seven", w.Git("show", "refs/smithers/run-a/7:worktree/draft.md"))
	require.NoError(t, engine.End(t.Context(), "run-a"))
	again.signal(syscall.SIGINT)
	again.exits(130)
	assert.Equal(t, "finished", w.status("run-a"), "what was there when it was stopped is imported")
	assert.Empty(t, strings.ReplaceAll(again.err.String(), "git-smithers: error: interrupted\n", ""))
}

func TestFilesOfFramesThatAWatchMissedAreSaidToBeOlderThanTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: one, run: 'true'}]}")
	engine := w.engine()
	step := func(frame int64) {
		w.write("draft.md", strings.Repeat("x\n", int(frame)))
		require.NoError(t, engine.Frame(t.Context(), "run-a", frame))
	}
	says := func(args ...string) string {
		out, err := w.command(args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	watch := w.start("watch", "smithers.db", "--json")
	watch.says(`{"kind":"watching","database":"smithers.db"}`)
	for frame := int64(1); frame <= 3; frame++ {
		step(frame)
		watch.says(`"frame":` + string(rune('0'+frame)) + `,`)
	}
	require.NoError(t, watch.Process.Kill())
	watch.exits(-1)
	for frame := int64(4); frame <= 6; frame++ {
		step(frame)
	}
	again := w.start("watch", "smithers.db", "--quiet")
	again.says("run-a: continued, 3 frames up to 6\n")
	step(7)
	again.says("run-a: continued, frame 7\n")

	assert.NotContains(t, says("show", "run-a:3"), "older")
	assert.Contains(t, says("show", "run-a:5"), "  older        than the state: later changes by these attempts were not captured: p1 (attempt 1), p2 (attempt 1)\n")
	assert.Contains(t, says("show", "run-a:5", "--json"), `"filesBehind":{"":{"frame":3,"attempts":["p1::0::1","p2::0::1"]}}`)
	assert.NotContains(t, says("show", "run-a:7"), "older")
	const warning = "warning: run-a:5 has the files of frame 3: later changes by these attempts were not captured: p1 (attempt 1), p2 (attempt 1)\n"
	assert.Contains(t, says("diff", "--code", "run-a:5", "run-a:7"), warning)
	assert.NotContains(t, says("diff", "--code", "run-a:3", "run-a:7"), "warning")
	assert.Contains(t, says("frames", "--path", "draft.md", "--run", "run-a"),
		"\tmodify (since frame 3: the frames in between have no captured files)\n")
	assert.Contains(t, says("frames", "--path", "draft.md", "--run", "run-a", "--json"), `"since":3}`)
	require.NoError(t, engine.End(t.Context(), "run-a"))
	again.signal(syscall.SIGINT)
	again.exits(130)
}

// status is that of a run.
func (w *world) status(run string) string {
	w.t.Helper()
	out, err := w.command("show", run, "--json").Output()
	require.NoError(w.t, err)
	_, rest, _ := strings.Cut(string(out), `"status":"`)
	status, _, _ := strings.Cut(rest, `"`)
	return status
}

func TestAWatchIsStoppedBeforeThereIsADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: one, run: 'true'}]}")
	watch := w.start("watch", "smithers.db", "--json")
	watch.says(`"kind":"watching"`)
	watch.signal(syscall.SIGTERM)
	watch.exits(143)
}

func TestAWatchOfWhatIsNoDatabaseEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: one, run: 'true'}]}")
	watch := w.start("watch", "flow.yaml", "--json")
	watch.exits(4)
	assert.Contains(t, watch.err.String(), `"code":"invalid_database"`)
	assert.Empty(t, watch.out.String())
}

func TestAWatchWaitsForACopyAndSaysWhichAnswersAnswerNothingAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "{name: flow, tasks: [{id: one, run: 'true'}]}")
	const run = "8805e8f3-364c-48f2-a529-c256b52b3593"
	content, err := os.ReadFile("testdata/smithers/git-run-fork-replay.db")
	require.NoError(t, err)
	database := filepath.Join(w.Dir, "smithers.db")
	require.NoError(t, os.WriteFile(database, content[:5000], 0o600))
	watch := w.start("watch", "smithers.db")
	watch.warns("smithers.db is incomplete; git-smithers waits for the rest of the file\n")
	assert.NotContains(t, watch.err.String(), "watching")
	require.NoError(t, os.WriteFile(database, content, 0o600))
	watch.says(run + ": created, 15 frames up to 14\n")
	watch.warns("watching smithers.db\n")

	asksAgain := func() {
		require.NoError(t, w.command("approve", run).Run())
		require.NoError(t, sourcetest.Exec(t.Context(), database, "UPDATE _smithers_approvals SET requested_at_ms = requested_at_ms + 1"))
	}
	asksAgain()
	watch.warns("ship::0 was approved in this repository, but Smithers was not told and has asked this question again\n")
	watch.signal(syscall.SIGINT)
	watch.exits(130)
	watch = w.start("watch", "smithers.db", "--json")
	watch.says(`"kind":"watching"`)
	asksAgain()
	watch.says(`"dropped":[{"nodeId":"ship","iteration":0,"requestKind":"approval","here":"approved","askedAgain":true}]`)
	watch.signal(syscall.SIGINT)
	watch.exits(130)
}

// warns waits until the process has written a text to standard error.
func (j *job) warns(text string) {
	j.t.Helper()
	require.Eventually(j.t, func() bool { return strings.Contains(j.err.String(), text) },
		patience, 5*time.Millisecond, text)
}
