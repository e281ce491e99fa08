package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// cachedWorld is a repository in which runs use the cache.
type cachedWorld struct {
	t      *testing.T
	repo   *repotest.Repo
	store  *timeline.Store
	opts   engine.Options
	warned []string
}

func newCachedWorld(t *testing.T, repo *repotest.Repo) *cachedWorld {
	t.Helper()
	w := &cachedWorld{t: t, repo: repo}
	w.store, w.opts = openIn(t, repo)
	w.opts.Cache = cache.Of(w.store)
	w.opts.Warn = func(err error) { w.warned = append(w.warned, err.Error()) }
	return w
}

// run executes a run of a workflow and returns, for each attempt, "task state" and the frame that its result is from.
func (w *cachedWorld) run(id, definition, input string) []string {
	w.t.Helper()
	wf, err := workflow.Parse("w.yaml", []byte(definition))
	require.NoError(w.t, err)
	var given json.RawMessage
	if input != "" {
		given = json.RawMessage(input)
	}
	head := create(w.t, w.store, id, wf, given)
	_, err = engine.RunParsed(w.t.Context(), head, wf, w.opts)
	require.NoError(w.t, err)
	return w.attempts(head)
}

// attempts returns the attempts of a run as lines.
func (w *cachedWorld) attempts(head *timeline.Head) (lines []string) {
	w.t.Helper()
	rows, err := head.Entry().Attempts()
	require.NoError(w.t, err)
	for row, err := range rows.Rows() {
		require.NoError(w.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(w.t, err)
		lines = append(lines, strings.TrimSpace(snapshot.Key(a.NodeID, a.Iteration)+" "+a.State+" "+a.CachedFrom))
	}
	return lines
}

// reasons returns why attempts of a run took no result.
func (w *cachedWorld) reasons(id string) (reasons []string) {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), id)
	require.NoError(w.t, err)
	for entry, err := range w.store.Chain(head.Entry()) {
		require.NoError(w.t, err)
		events, err := entry.Events()
		require.NoError(w.t, err)
		for _, e := range events {
			var p struct{ Reason string }
			if e.Type == "CacheMiss" {
				require.NoError(w.t, json.Unmarshal(e.Payload, &p))
				reasons = append(reasons, p.Reason)
			}
		}
	}
	return reasons
}

// write writes a file of the working copy.
func (w *cachedWorld) write(path, text string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(filepath.Join(w.repo.Dir, path)), 0o777))
	require.NoError(w.t, os.WriteFile(filepath.Join(w.repo.Dir, path), []byte(text), 0o666))
}

// ran returns how often commands have appended to a file outside of the working copy.
func ran(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	return strings.Count(string(text), "x")
}

func TestAnEqualTaskTakesTheResultWithItsFiles(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		w := newCachedWorld(t, repo)
		w.write("made/a", "a")
		w.write("gone", "g")
		counter := filepath.Join(t.TempDir(), "ran")
		flow := `{name: w, outputs: {sum: {type: object}}, tasks: [{id: a, output: sum, cache: true,
			run: 'printf x >>` + counter + `; cat made/a >made/b; chmod +x made/b; ln -s b made/link; rm gone; echo ''{"n":1}'''}]}`
		assert.Equal(t, []string{"a::0 finished"}, w.run("one", flow, `{"k":1}`))
		require.NoError(t, os.RemoveAll(filepath.Join(w.repo.Dir, "made")))
		w.write("made/a", "a")
		w.write("gone", "g")
		assert.Equal(t, []string{"a::0 finished one:2"}, w.run("two", flow, `{"k":1}`))

		assert.Equal(t, 1, ran(t, counter))
		info, err := os.Stat(filepath.Join(w.repo.Dir, "made/b"))
		require.NoError(t, err)
		assert.EqualValues(t, 0o100, info.Mode()&0o100)
		target, err := os.Readlink(filepath.Join(w.repo.Dir, "made/link"))
		require.NoError(t, err)
		assert.Equal(t, "b", target)
		assert.NoFileExists(t, filepath.Join(w.repo.Dir, "gone"))
		head, err := w.store.Head(t.Context(), "two")
		require.NoError(t, err)
		output, ok, err := head.State().Outputs("sum").Get("a::0")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.JSONEq(t, `{"n":1}`, string(output))
		assert.Empty(t, w.warned)
	})
}

func TestAKeyHasEverythingThatTheTaskDependsOn(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	w.write("f", "1")
	counter := filepath.Join(t.TempDir(), "ran")
	flow := func(task, schema, name string) string {
		return `{name: ` + name + `, outputs: {sum: ` + schema + `}, tasks: [{id: a, output: sum, run: 'printf x >>` + counter + `; echo 1', ` + task + `}]}`
	}
	count := 0
	run := func(what, definition, input string, hit bool) {
		t.Helper()
		before := ran(t, counter)
		w.run("r"+string(rune('a'+count)), definition, input)
		count++
		assert.Equal(t, hit, ran(t, counter) == before, what)
	}
	run("the first", flow(`cache: true`, `{}`, "w"), `{"a":1}`, false)
	run("the same", flow(`cache: true`, `{}`, "w"), `{"a":1}`, true)
	run("another input", flow(`cache: true`, `{}`, "w"), `{"a":2}`, false)
	run("a further member of the input", flow(`cache: true`, `{}`, "w"), `{"a":1,"b":1}`, false)
	run("another schema", flow(`cache: true`, `{minimum: 0}`, "w"), `{"a":1}`, false)
	run("another workflow", flow(`cache: true`, `{}`, "v"), `{"a":1}`, false)
	run("a version", flow(`cache: {version: v2}`, `{}`, "w"), `{"a":1}`, false)
	run("an environment", flow(`cache: true, env: {A: b}`, `{}`, "w"), `{"a":1}`, false)
	run("retries are no part of it", flow(`cache: true, retries: 2`, `{}`, "w"), `{"a":1}`, true)
	run("by: the first", flow(`cache: {by: [input.a]}`, `{}`, "w"), `{"a":1,"b":1}`, false)
	run("by: another member", flow(`cache: {by: [input.a]}`, `{}`, "w"), `{"a":1,"b":2}`, true)
	run("by: the value", flow(`cache: {by: [input.a]}`, `{}`, "w"), `{"a":3}`, false)
	w.write("f", "2")
	run("another file", flow(`cache: true`, `{}`, "w"), `{"a":1}`, false)
	w.write("f", "1")
	run("the file as before", flow(`cache: true`, `{}`, "w"), `{"a":1}`, true)
	run("paths: the first", flow(`cache: {paths: [src, f]}`, `{}`, "w"), `{"a":1}`, false)
	w.write("g", "2")
	run("paths: another file", flow(`cache: {paths: [src, f]}`, `{}`, "w"), `{"a":1}`, true)
	w.write("src/h", "2")
	run("paths: in the folder", flow(`cache: {paths: [src, f]}`, `{}`, "w"), `{"a":1}`, false)
	run("no files: the first", flow(`cache: {files: none}`, `{}`, "w"), `{"a":1}`, false)
	w.write("f", "3")
	run("no files: any file", flow(`cache: {files: none}`, `{}`, "w"), `{"a":1}`, true)
	w.opts.NoCache = true
	run("without the cache", flow(`cache: {files: none}`, `{}`, "w"), `{"a":1}`, false)
	assert.Empty(t, w.warned)
}

func TestAResultIsTooOldAfterItsTTL(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	flow := `{name: w, tasks: [{id: a, run: ":", cache: {ttl: 24h}}]}`
	w.run("one", flow, "")
	assert.Equal(t, []string{"a::0 finished one:2"}, w.run("two", flow, ""))
	now := w.opts.Now
	w.opts.Now = func() (at time.Time) { return now().AddDate(0, 0, 2) }
	assert.Equal(t, []string{"a::0 finished"}, w.run("three", flow, ""))
	assert.Equal(t, []string{"the entry is too old"}, w.reasons("three"))
}

func TestFailedTasksLeaveNoResult(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	counter := filepath.Join(t.TempDir(), "ran")
	flow := `{name: w, tasks: [{id: a, retries: 1, cache: true, run: 'printf x >>` + counter + `; test $(wc -c <` + counter + `) -gt 1'}]}`
	assert.Equal(t, []string{"a::0 failed", "a::0 finished"}, w.run("one", flow, ""))
	assert.Equal(t, []string{"a::0 finished one:4"}, w.run("two", flow, ""), "the result is that of the attempt after the failed one")
}

func TestEachIterationOfALoopHasItsOwnResult(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	flow := `{name: w, outputs: {n: {type: integer}}, tasks: [{loop: l, until: outputs.n >= 1, max: 5, tasks: [
		{id: a, output: n, cache: true, run: 'echo $SMITHERS_ITERATION'}]}]}`
	assert.Equal(t, []string{"a::0 finished", "a::1 finished"}, w.run("one", flow, ""))
	assert.Equal(t, []string{"a::0 finished one:2", "a::1 finished one:5"}, w.run("two", flow, ""))
}

func TestAResultThatDoesNotFitTheFilesIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	flow := `{name: w, tasks: [{id: a, cache: {files: none}, run: 'echo made >out'}]}`
	w.run("one", flow, "")
	w.write("out", "mine\n")
	assert.Equal(t, []string{"a::0 finished"}, w.run("two", flow, ""))
	assert.Equal(t, []string{"the files that the entry changes are not as they were"}, w.reasons("two"))
	text, err := os.ReadFile(filepath.Join(w.repo.Dir, "out"))
	require.NoError(t, err)
	assert.Equal(t, "made\n", string(text), "the task ran")
}

func TestTasksSideBySideLeaveResultsOnlyIfNoFileChanges(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	both := `for i in $(seq 500); do if [ $(ls ../both-$SMITHERS_RUN_ID | wc -l) -ge 2 ]; then break; fi; sleep 0.01; done`
	flow := func(last string) string {
		begin := `mkdir -p ../both-$SMITHERS_RUN_ID; : >../both-$SMITHERS_RUN_ID/`
		return `{name: w, tasks: [{id: a, cache: {version: "v` + last + `"}, run: '` + begin + `a; ` + both + `'}, {id: b, cache: true, run: '` + begin + `b; ` + both + last + `'}]}`
	}
	w.run("one", flow(""), "")
	assert.Equal(t, []string{"a::0 finished one:2", "b::0 finished one:2"}, onlyFrom(w.run("two", flow(""), "")), "no file changed")
	w.run("three", flow("; echo b >>b"), "")
	require.NoError(t, os.Remove(filepath.Join(w.repo.Dir, "b")))
	// a may be from the cache, and b must not wait for it then.
	begun := filepath.Join(filepath.Dir(w.repo.Dir), "both-four")
	require.NoError(t, os.Mkdir(begun, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(begun, "c"), nil, 0o666))
	for _, line := range w.run("four", flow("; echo b >>b"), "") {
		if strings.HasPrefix(line, "b") {
			assert.Equal(t, "b::0 finished", line, "the file may be that of the other task")
		}
	}
}

// onlyFrom replaces the frames of results by the first of them, because tasks that end together may share a frame.
func onlyFrom(lines []string) []string {
	for i, line := range lines {
		if at := strings.LastIndexByte(line, ':'); strings.Contains(line, "one:") {
			lines[i] = line[:at] + ":2"
		}
	}
	return lines
}

func TestAFileThatCapturesLeaveOutKeepsATaskFromTheCache(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	repo.Git("config", "smithers.worktreeMaxFile", "10")
	w := newCachedWorld(t, repo)
	w.write("data/large", "more than ten bytes")
	flow := `{name: w, tasks: [{id: a, run: ":", cache: true}, {id: b, needs: [a], run: ":", cache: {paths: [data]}}, {id: c, needs: [b], run: ":", cache: {paths: [src]}}]}`
	w.run("one", flow, "")
	assert.Equal(t, []string{"a::0 finished", "b::0 finished", "c::0 finished one:6"}, w.run("two", flow, ""))
	assert.ElementsMatch(t, []string{"captures leave out data/large", "captures leave out data/large"}, w.reasons("two"))
}

func TestAnAlteredResultIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	flow := `{name: w, outputs: {n: {type: integer}}, tasks: [{id: a, output: n, cache: {files: none}, run: 'echo 1'}]}`
	w.run("one", flow, "")
	// An attacker replaces the output under the same key.
	name := w.repo.Git("ls-tree", "-r", "--name-only", "refs/smithers/_cache")
	output := ""
	for path := range strings.FieldsSeq(name) {
		if strings.HasSuffix(path, "output.json") {
			output = path
		}
	}
	require.NotEmpty(t, output)
	replaceInCache(w.repo, output, "2")
	assert.Equal(t, []string{"a::0 finished"}, w.run("two", flow, ""))
	assert.Equal(t, []string{"the entry was altered"}, w.reasons("two"))
	require.Len(t, w.warned, 1)
	assert.Contains(t, w.warned[0], "the entry was altered: it has another output")
	assert.Equal(t, []string{"a::0 finished two:2"}, w.run("three", flow, ""), "the task has stored its result again")
}

func TestAResultOfAnotherCloneIsNotUsed(t *testing.T) {
	t.Parallel()
	theirs := repotest.New(t, repotest.Commit)
	flow := `{name: w, tasks: [{id: a, cache: {files: none}, run: "true"}]}`
	newCachedWorld(t, theirs).run("one", flow, "")
	repo := repotest.New(t, repotest.Commit)
	w := newCachedWorld(t, repo)
	repo.Git("fetch", "-q", theirs.Dir, "refs/smithers/_cache:refs/smithers/_cache")
	assert.Equal(t, []string{"a::0 finished"}, w.run("two", flow, ""))
	assert.Equal(t, []string{"the entry was stored by another clone"}, w.reasons("two"))
	assert.Equal(t, []string{"a::0 finished two:2"}, w.run("three", flow, ""))
}

// replaceInCache replaces a file in the tree of the cache.
func replaceInCache(repo *repotest.Repo, path, text string) {
	const ref = "refs/smithers/_cache"
	id, kind, mode := repo.GitInput(text, "hash-object", "-w", "--stdin"), "blob", "100644"
	for path != "." {
		folder, name := filepath.Dir(path), filepath.Base(path)
		at := ref + "^{tree}"
		if folder != "." {
			at = ref + ":" + folder
		}
		lines := []string{mode + " " + kind + " " + id + "\t" + name}
		for line := range strings.Lines(repo.Git("ls-tree", at)) {
			if line = strings.TrimSpace(line); !strings.HasSuffix(line, "\t"+name) {
				lines = append(lines, line)
			}
		}
		id, kind, mode = repo.GitInput(strings.Join(lines, "\n")+"\n", "mktree"), "tree", "040000"
		path = folder
	}
	repo.Git("update-ref", ref, repo.Git("commit-tree", "-m", "altered", id))
}
