package smithers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const jjFixture = "jj-pristine-31frames.db"

// strange is what a database may have besides what Smithers 0.32.0 writes: snapshots in their rows, as older versions
// wrote them, columns of newer ones, and tables that nobody knows.
const strange = `
	DELETE FROM _smithers_snapshot_payload_refs WHERE frame_no > 10;
	UPDATE _smithers_snapshots SET nodes_json = '[]', outputs_json = '{}', ralph_json = '[]', input_json = '{"runId":"run-j"}',
		content_hash = '%s' WHERE frame_no > 10;

	ALTER TABLE _smithers_runs ADD COLUMN future TEXT;
	UPDATE _smithers_runs SET future = 'soon';
	ALTER TABLE _smithers_attempts ADD COLUMN cost REAL;
	UPDATE _smithers_attempts SET cost = attempt * 0.1;

	CREATE TABLE notes (run_id TEXT, at REAL, what BLOB);
	INSERT INTO notes VALUES ('run-j', 1.5, x'00ff'), ('run-j', NULL, 'text'), ('run-j', NULL, 'text');
	CREATE TABLE _smithers_future (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, json TEXT);
	INSERT INTO _smithers_future (run_id, json) VALUES ('run-j', '{"a":1e400}'), ('run-j', 'no json');
	CREATE TABLE shared (name TEXT PRIMARY KEY, value);
	INSERT INTO shared VALUES ('a', 1), ('b', NULL);
	CREATE TABLE "odd ""table" (run_id TEXT, "odd column" TEXT DEFAULT 'x');
	INSERT INTO "odd ""table" VALUES ('run-j', NULL);`

func TestWhateverTheDatabaseHasComesBack(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(`{"nodes":[],"outputs":{},"ralph":[],"input":{"runId":"run-j"}}`))
	importedWorld(t, jjFixture, strings.ReplaceAll(strange, "%s", hex.EncodeToString(sum[:]))).assertComesBack()
}

// newer is what a database of Smithers 0.35 has besides that of 0.32.0: columns, tables, and hidden members of outputs, of
// which each snapshot has its own.
const newer = `
	ALTER TABLE _smithers_ralph ADD COLUMN exhausted INTEGER;
	ALTER TABLE _smithers_attempts ADD COLUMN effort TEXT;
	UPDATE _smithers_attempts SET effort = 'high';
	CREATE TABLE _smithers_agent_checkpoints (run_id TEXT NOT NULL, node_id TEXT NOT NULL, iteration INTEGER NOT NULL, attempt INTEGER NOT NULL,
		sequence INTEGER NOT NULL, content_hash TEXT NOT NULL, PRIMARY KEY (run_id, node_id, iteration, attempt, sequence));
	INSERT INTO _smithers_agent_checkpoints VALUES ('run-j', 'plan', 0, 1, 0, 'abc');
	CREATE TABLE _smithers_agent_checkpoint_contents (content_hash TEXT PRIMARY KEY, checkpoint_json TEXT NOT NULL);
	INSERT INTO _smithers_agent_checkpoint_contents VALUES ('abc', '{}');
	DELETE FROM _smithers_snapshot_payload_refs WHERE frame_no > 29;`

func TestWhatANewerSmithersHasComesBackAndAForkHasNoOtherFramesHorizons(t *testing.T) {
	t.Parallel()
	var statements strings.Builder
	statements.WriteString(newer)
	for frame, sequence := range map[int]string{30: "1", 31: "2"} {
		c := source.Contents{
			Nodes: "[]", Ralph: "[]", Input: `{"runId":"run-j"}`,
			Outputs: `{"__smithersSignalProvenanceHorizon":-1,"__smithersAgentCheckpointHorizons":{"version":1,"attempts":[["plan",0,1,` + sequence + `]]}}`,
		}
		fmt.Fprintf(&statements, `
			UPDATE _smithers_snapshots SET nodes_json = '%s', outputs_json = '%s', ralph_json = '%s', input_json = '%s', content_hash = '%s' WHERE frame_no = %d;`,
			c.Nodes, c.Outputs, c.Ralph, c.Input, source.ContentHash(c), frame)
	}
	w := importedWorld(t, jjFixture, statements.String())
	w.assertComesBack()
	_, err := w.store.Fork(t.Context(), timeline.ForkRequest{From: "run-j:30", RunID: "child"})
	require.NoError(t, err)
	to, _ := w.export("child")
	assert.Empty(t, query(t, to, `SELECT 1 FROM _smithers_snapshots s LEFT JOIN _smithers_snapshot_payload_refs r USING (run_id, frame_no)
		LEFT JOIN _smithers_snapshot_contents c ON c.content_hash = r.content_hash
		WHERE coalesce(c.outputs_json, s.outputs_json) LIKE '%AgentCheckpoint%'`))
}

func TestAnImportSaysWhatAnExportWillNotHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	require.NoError(t, sourcetest.Exec(t.Context(), w.source, `
		CREATE INDEX later ON _smithers_runs (status);
		CREATE TRIGGER later_still AFTER DELETE ON _smithers_runs BEGIN SELECT 1; END;`))
	var warnings []string
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: w.repo.Dir, Env: w.repo.Env, Warn: func(err error) { warnings = append(warnings, err.Error()) },
	})
	require.NoError(t, err)
	_, err = smithers.Import(t.Context(), store, w.source, smithers.ImportRequest{})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	assert.Equal(t, []string{"an export will not have what Smithers 0.32.0 does not create: index later, trigger later_still"}, warnings)
}

func TestARewoundRunComesBackAsItIsNow(t *testing.T) {
	t.Parallel()
	w := importedWorld(t, jjFixture)
	require.NoError(t, sourcetest.Exec(t.Context(), w.source, rewound))
	w.importAll()
	w.assertComesBack()

	tree, err := list.Timeline(t.Context(), w.store, "run-j", list.TreeOptions{})
	require.NoError(t, err)
	frames := tree.Timeline.Frames
	_, err = w.store.Fork(t.Context(), timeline.ForkRequest{From: timeline.Address{Run: "run-j", Frame: frames[len(frames)-1].FrameNo}.String(), RunID: "child"})
	require.NoError(t, err)
	to, _ := w.export("child")
	assert.Equal(t, "21", value(t, to, `SELECT parent_frame_no FROM _smithers_branches`), "Smithers' number of the frame")
}

// rewound goes back to frame 20, and makes a frame 21 of another time.
const rewound = `
	DELETE FROM _smithers_snapshot_payload_refs WHERE frame_no > 21;
	DELETE FROM _smithers_snapshots WHERE frame_no > 21;
	DELETE FROM _smithers_frames WHERE frame_no > 21;
	UPDATE _smithers_snapshots SET created_at_ms = created_at_ms + 100000 WHERE frame_no = 21;
	UPDATE _smithers_frames SET created_at_ms = created_at_ms + 100000 WHERE frame_no = 21;`

func testAnotherFolder(w *world) {
	t := w.t
	t.Helper()
	w.repo.Write("flows/triage.tsx", "export default 1;\n")
	file := filepath.Join(w.repo.Dir, "flows", "triage.tsx")
	to := filepath.Join(t.TempDir(), "smithers.db")
	_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: filepath.Join(w.repo.Dir, "flows"), Workflow: file})
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("export default 1;\n"))
	hash := hex.EncodeToString(sum[:])
	row := query(t, to, `SELECT workflow_path, workflow_hash, vcs_type, vcs_root, config_json, status FROM _smithers_runs`)[0]
	graph := sha256.Sum256([]byte(file + ":" + hash))
	assert.Equal(t, []string{file, hex.EncodeToString(graph[:]), "git", w.repo.Dir}, row[:4])
	assert.Equal(t, "finished", row[5])
	var config map[string]any
	require.NoError(t, json.Unmarshal([]byte(row[4]), &config))
	assert.Equal(t, filepath.Join(w.repo.Dir, "flows"), config["rootDir"])
	assert.Equal(t, map[string]any{"version": 2.0, "entryWorkflowHash": hash}, config["__smithersDurability"])
	assert.InDelta(t, 4, config["maxConcurrency"], 0, "what else it says stays")
	assertSound(t, to)
}

func testWentBack(w *world) {
	t := w.t
	t.Helper()
	head, err := w.store.Head(t.Context(), "run-j")
	require.NoError(t, err)
	seven, err := w.store.Load(t.Context(), "run-j:7")
	require.NoError(t, err)
	state, err := seven.Entry.State()
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: state, Based: new(int64(7))}, Subject: "back"}))
	to, runs := w.export()
	assert.Equal(t, []smithers.ExportedRun{{RunID: "run-j", Frames: 8}}, runs)
	assertSound(t, to)
	assert.Equal(t, [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}, {"7"}, {"32"}}, query(t, to, `SELECT frame_no FROM _smithers_snapshots ORDER BY frame_no`))
	assert.Equal(t, query(t, to, `SELECT frame_no FROM _smithers_snapshots ORDER BY frame_no`), query(t, to, `SELECT frame_no FROM _smithers_frames ORDER BY frame_no`),
		"Smithers counts on from the newest frame")
	assert.Equal(t, value(t, to, `SELECT content_hash FROM _smithers_snapshots WHERE frame_no = 7`),
		value(t, to, `SELECT content_hash FROM _smithers_snapshots WHERE frame_no = 32`))
	assert.Empty(t, content(t, to)["_smithers_attempts"])
}

func TestARunOfOurOwnIsExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	head, err := w.store.Create(t.Context(), snapshot.Run{ID: "own", Workflow: "w", Status: snapshot.RunRunning, CreatedAtMs: 1}, snapshot.Draft{})
	require.NoError(t, err)
	finished := snapshot.EncodeNode(snapshot.Node{NodeID: "a", State: snapshot.NodeFinished, LastAttempt: new(1), OutputTable: "draftText"})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: finished.Key, Value: finished.Value},
		{Op: snapshot.OpSet, Collection: snapshot.OutputCollection("draftText"), Key: finished.Key, Value: []byte(`{"text":"x"}`)},
	}}}))
	to, runs := w.export("own")
	assert.Equal(t, []smithers.ExportedRun{{RunID: "own", Frames: 2}}, runs)
	assertSound(t, to)
	assert.Equal(t, [][]string{{"0", "null"}, {"1", `{"version":1,"ops":[]}`}}, query(t, to, `SELECT frame_no, xml_json FROM _smithers_frames ORDER BY frame_no`),
		"without them, Smithers would begin again at 1")
	assert.JSONEq(t, `[{"nodeId":"a","iteration":0,"state":"finished","lastAttempt":1,"outputTable":"draftText","label":null}]`,
		value(t, to, `SELECT nodes_json FROM _smithers_snapshots WHERE frame_no = 1`))
}

func TestWhereTheDatabaseCannotTakeARowNothingIsWritten(t *testing.T) {
	t.Parallel()
	const notes = `CREATE TABLE notes (name TEXT PRIMARY KEY, run_id TEXT); `
	w := importedWorld(t, jjFixture, notes+`INSERT INTO notes VALUES ('mine', 'run-j')`)
	for why, statements := range map[string]string{
		"another run's row has the key": notes + `INSERT INTO notes VALUES ('mine', 'another')`,
		"a column is missing":           `CREATE TABLE notes (run_id TEXT)`,
		"a table is another":            `DROP TABLE _smithers_frames; CREATE TABLE _smithers_frames (frame_no INTEGER)`,
	} {
		to := copied(t, "git-run-fork-replay.db")
		require.NoError(t, sourcetest.Exec(t.Context(), to, statements))
		before := content(t, to)
		_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: fixtureRoot})
		assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%s: %v", why, err)
		assert.Equal(t, before, content(t, to), why)
	}
}

func TestRunsShareWhatADatabaseHasAlready(t *testing.T) {
	t.Parallel()
	audit := func(run string) string {
		return `INSERT INTO _smithers_time_travel_audit VALUES (1, '` + run + `', 9, 7, 'cli', 1, 'success', 2);`
	}
	w := importedWorld(t, jjFixture, audit("run-j"))
	to := copied(t, "git-run-fork-replay.db")
	require.NoError(t, sourcetest.Exec(t.Context(), to, audit(siblingFork)+`
		INSERT INTO _smithers_nodes (run_id, node_id, iteration, state, updated_at_ms, output_table) VALUES ('run-j', 'left', 0, 'pending', 1, '')`))
	_, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: fixtureRoot})
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "a row of it is there")

	require.NoError(t, sourcetest.Exec(t.Context(), to, `DELETE FROM _smithers_nodes WHERE run_id = 'run-j'`))
	for range 2 {
		_, err = smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: fixtureRoot})
	}
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "the second time")
	assertSound(t, to)
	assert.Equal(t, [][]string{{siblingFork}, {"run-j"}}, query(t, to, `SELECT run_id FROM _smithers_time_travel_audit ORDER BY id`))
}
