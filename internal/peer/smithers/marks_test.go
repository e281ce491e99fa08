package smithers_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// wrongHash is the hash of nothing.
var wrongHash = strings.Repeat("0", 64)

func TestAHashThatDoesNotMatchIsImportedMarkedAndReported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture,
		`UPDATE _smithers_frames SET xml_hash = '`+wrongHash+`' WHERE frame_no = 5`,
		`UPDATE _smithers_snapshot_contents SET nodes_json = replace(nodes_json, '"finished"', '"pending"')
			WHERE content_hash = (SELECT content_hash FROM _smithers_snapshots WHERE frame_no = 9)`)
	run := h.take(path)["run-j"]
	require.NoError(t, run.Err)
	require.Len(t, run.Marks, 2)
	assert.Equal(t, stored.Mark{
		Frame: 5, PeerNo: 5, What: "xml_hash", Stored: wrongHash, Found: "f73e2120dc02caef10cb5ac628c8abab4d3557e83ca266d49417a3247fe148a4",
	}, run.Marks[0])
	assert.Equal(t, "content_hash", run.Marks[1].What)
	assert.Equal(t, int64(9), run.Marks[1].Frame)
	assert.NotEqual(t, run.Marks[1].Stored, run.Marks[1].Found)
	h.exact(path)

	again := h.take(path)["run-j"]
	assert.Equal(t, smithers.OutcomeUnchanged, again.Outcome)
	assert.Empty(t, again.Marks, "they were reported")
}

func TestADeltaWithoutItsKeyframeLeavesTheFrameWithoutATree(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture, `DELETE FROM _smithers_frames WHERE frame_no = 1`)
	run := h.take(path)["run-j"]
	require.NoError(t, run.Err)
	assert.Len(t, run.Marks, 30, "there is no whole tree after it")
	assert.Equal(t, "frame", run.Marks[0].What)
	assert.Equal(t, int64(2), run.Marks[0].Frame)
	assert.Equal(t, "the delta of frame 2 has no previous frame", run.Marks[0].Found)
	tree, err := h.Rendered(h.entry("run-j:31"))
	require.NoError(t, err)
	assert.Equal(t, "null", string(tree))
	h.exact(path)
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path)["run-j"].Outcome)
}

func TestATreeThatIsNoneOfOursIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture, `UPDATE _smithers_frames SET xml_json = '{"kind":"portal","to":1e999}', encoding = 'full' WHERE frame_no = 31`)
	run := h.take(path)["run-j"]
	require.NoError(t, run.Err)
	require.Len(t, run.Marks, 1)
	assert.Equal(t, "frame", run.Marks[0].What)
	h.exact(path)
}

func TestWhatIsNotKnownComesAlong(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture,
		`ALTER TABLE _smithers_attempts ADD COLUMN mood TEXT`,
		`UPDATE _smithers_attempts SET mood = 'merry' WHERE node_id = 'plan'`,
		`CREATE TABLE _smithers_agent_checkpoints (run_id TEXT NOT NULL, no INTEGER, body BLOB, PRIMARY KEY (run_id, no))`,
		`INSERT INTO _smithers_agent_checkpoints VALUES ('run-j', 1, x'00ff'), ('run-j', 2, NULL)`,
		`CREATE TABLE "odd/table %" (k TEXT PRIMARY KEY, v REAL)`,
		`INSERT INTO "odd/table %" VALUES ('a', 1.5), ('b', 9e999)`,
		`INSERT INTO _smithers_docs SELECT * FROM _smithers_docs`)
	run := h.take(path)["run-j"]
	require.NoError(t, run.Err)
	h.exact(path)
	assert.Equal(t, smithers.OutcomeUnchanged, h.take(path)["run-j"].Outcome)
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE "odd/table %" SET v = 2 WHERE k = 'a'`))
	assert.Equal(t, smithers.OutcomeContinued, h.take(path)["run-j"].Outcome)
	h.exact(path)
}

func TestTablesThatBelongToNoRunAreNamed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, jjFixture, `INSERT INTO _smithers_memory_threads (`+joined(t, `name`)+`) SELECT `+joined(t, `'''x'''`))
	imported, err := smithers.Import(t.Context(), h.Store, path, smithers.ImportRequest{})
	require.NoError(t, err)
	assert.Equal(t, []smithers.LeftTable{{Table: "_smithers_memory_threads", Rows: 1}}, imported.Left)
}

// joined is an expression of each column of _smithers_memory_threads, in a list.
func joined(t *testing.T, what string) string {
	t.Helper()
	return value(t, copyOf(t, gitFixture),
		`SELECT group_concat(`+what+`) FROM pragma_table_info('_smithers_memory_threads')`)
}

func TestARunThatCannotBeImportedIsLeftOutAsAWhole(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 10000) + strings.Repeat("]", 10000)
	contentsOf := `(SELECT content_hash FROM _smithers_snapshots WHERE run_id = 'run-a' AND frame_no = 9)`
	for name, c := range map[string]struct{ statement, message string }{
		"missing contents":  {`PRAGMA foreign_keys = OFF; DELETE FROM _smithers_snapshot_contents WHERE content_hash = ` + contentsOf, "missing"},
		"no state":          {`UPDATE _smithers_snapshot_contents SET nodes_json = '{}' WHERE content_hash = ` + contentsOf, "frame 9"},
		"no JSON":           {`UPDATE _smithers_snapshot_contents SET outputs_json = '{"plan":[' WHERE content_hash = ` + contentsOf, "frame 9"},
		"JSON that is deep": {`UPDATE _smithers_snapshot_contents SET input_json = '` + deep + `' WHERE content_hash = ` + contentsOf, "deep"},
		"a number":          {`UPDATE _smithers_snapshots SET created_at_ms = 'noon' WHERE run_id = 'run-a' AND frame_no = 9`, "created_at_ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			runs := h.take(copyOf(t, gitFixture, c.statement,
				`INSERT INTO _smithers_runs (run_id, workflow_name, status, created_at_ms) VALUES ('other', 'lab', 'failed', 1)`))
			assert.Equal(t, smithers.OutcomeRefused, runs["run-a"].Outcome)
			assert.Equal(t, fault.ImportRefused, fault.CodeOf(runs["run-a"].Err))
			assert.ErrorContains(t, runs["run-a"].Err, c.message)
			assert.Empty(t, h.repo.Git("for-each-ref", "refs/smithers/run-a", "refs/smithers/_tip/run-a"))
			assert.NoError(t, runs["other"].Err)
			assert.Equal(t, smithers.OutcomeCreated, runs["other"].Outcome, "the others are imported")
		})
	}
}

func TestADatabaseThatCannotBeReadImportsNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for path, code := range map[string]fault.Code{
		filepath.Join(t.TempDir(), "none.db"):                           fault.DatabaseNotFound,
		t.TempDir():                                                     fault.InvalidDatabase,
		filepath.Join("..", "..", "..", "go.mod"):                       fault.InvalidDatabase,
		copyOf(t, jjFixture, `DROP TABLE _smithers_runs`):               fault.InvalidDatabase,
		copyOf(t, jjFixture, `ALTER TABLE _smithers_runs RENAME TO it`): fault.InvalidDatabase,
	} {
		_, err := smithers.Import(t.Context(), h.Store, path, smithers.ImportRequest{})
		assert.Equal(t, code, fault.CodeOf(err), "%s: %v", path, err)
	}
	assert.Empty(t, h.tips())
}
