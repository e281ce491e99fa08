package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSmithersReadsScoresAndSchedulesOfAnExport has the real Smithers show what came from its own database and what was added here.
func TestSmithersReadsScoresAndSchedulesOfAnExport(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	for _, name := range []string{"calls-scores-human.db", "cron.db"} {
		data, err := os.ReadFile(filepath.Join("testdata", "smithers", name))
		require.NoError(t, err)
		p.write(name, string(data))
		p.ok("import", name)
	}
	p.write("w.yaml", "{name: w, outputs: {t: {}}, tasks: [{id: a, output: t, run: 'echo ''{\"tool\":\"fetch\",\"input\":1,\"output\":2}'' >>$SMITHERS_TOOL_CALLS; echo 1', scorers: [{name: live, run: echo 0.5}]}]}")
	p.ok("run", "w.yaml", "--run-id", "ours")
	p.ok("score", "m1", "scored", "--with", `echo '{"score":0.25,"reason":"judged here"}'`, "--name", "judge")
	p.ok("cron", "add", "@daily", "w.yaml", "--name", "daily")
	p.ok("export", "m1", "ours", "--to", "smithers.db")
	p.ok("export", "--to", "all.db")

	shown := func(args ...string) string {
		p.t.Helper()
		j := p.smithers(args...)
		j.exits(0)
		return j.out.String()
	}
	scores := shown("scores", "m1")
	assert.Contains(t, scores, `scored,Half,"0.50",because,live`, "its own")
	assert.Contains(t, scores, `scored,judge,"0.25",judged here,batch`, "one of ours")
	assert.Contains(t, shown("scores", "ours"), `a,live,"0.50",—,live`, "of a run of ours")

	require.NoError(t, os.Rename(filepath.Join(p.Dir, "all.db"), filepath.Join(p.Dir, "smithers.db")))
	crons := shown("cron", "list")
	assert.Contains(t, crons, `daily,@daily,w.yaml,false,`, "ours, which Smithers cannot run, is not enabled")
	assert.Contains(t, crons, `nofile,0 0 1 1 *,nope.tsx,true,`, "its own is as it was")
}

// TestSmithersReadsNestedLoopsAndCalledRunsOfAnExport has the real Smithers show a loop in a loop and a called run of ours.
func TestSmithersReadsNestedLoopsAndCalledRunsOfAnExport(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.write("inner.yaml", "{name: inner, outputs: {t: {}}, tasks: [{id: deep, output: t, run: echo 7}]}")
	p.write("w.yaml", "{name: w, outputs: {t: {}}, tasks: [{loop: outer, until: iteration >= 1, max: 3, tasks: [{loop: inner, until: iteration >= 1, max: 3, tasks: [{id: try, run: echo}]}]}, {id: call, workflow: inner.yaml, output: t}]}")
	p.ok("run", "w.yaml", "--run-id", "ours")
	p.ok("export", "ours", "ours.call.1", "--to", "smithers.db")
	shown := func(args ...string) string {
		p.t.Helper()
		j := p.smithers(args...)
		j.exits(0)
		return j.out.String()
	}
	assert.Contains(t, shown("inspect", "ours"), "activeDescendantRunId: ours.call.1")
	assert.Contains(t, shown("inspect", "ours.call.1"), "parentRunId: ours")
	tree := shown("tree", "ours")
	assert.Regexp(t, `<loop name="ralph" id="outer"[^>]*>\s*<loop name="ralph" id="inner"[^>]*>\s*<task name="task" nodeId="try"`, tree)
	assert.Contains(t, tree, `<subflow name="subflow" id="call" mode="childRun"`)
}

// TestSmithersTakesResultsFromTheCacheOfAnExport has the real Smithers use a result of its own again, from a database that was exported here, beside one of ours.
func TestSmithersTakesResultsFromTheCacheOfAnExport(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	data, err := os.ReadFile(filepath.Join("testdata", "smithers", "cached.tsx"))
	require.NoError(t, err)
	p.write("cached.tsx", string(data))
	p.write("w.yaml", "{name: w, outputs: {t: {}}, tasks: [{id: a, output: t, run: echo 1, cache: {files: none}}]}")
	p.ends(0, up("cached.tsx", "first", "{}")...)
	p.ok("import", "smithers.db")
	p.ok("run", "w.yaml", "--run-id", "ours")
	p.ok("export", "--to", "all.db")
	p.ok("import", "all.db")
	assert.Contains(t, p.ok("sql", "SELECT workflow_name, node_id FROM _smithers_cache ORDER BY 1"), "cached\tmade")
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "all.db"), filepath.Join(p.Dir, "smithers.db")))
	p.ends(0, up("cached.tsx", "second", "{}")...)
	assert.Equal(t, "made\n", p.read("ran.txt"), "the second run took the result of the first")
	p.ok("import", "smithers.db")
	assert.Contains(t, p.ok("sql", "SELECT cached FROM _smithers_attempts WHERE run_id = 'second'"), "1")
	p.ok("verify")
}
