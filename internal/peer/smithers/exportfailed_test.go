package smithers_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// renamed has all rows of a run be those of another.
func renamed(t *testing.T, path, run, other string) {
	t.Helper()
	for _, table := range query(t, path, `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.name = 'run_id'`) {
		require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE "`+table[0]+`" SET run_id = '`+other+`' WHERE run_id = '`+run+`'`))
	}
}

func TestContentsDoNotTurnIntoOthersThatTheDatabaseHasUnderTheirHash(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, `UPDATE _smithers_snapshot_contents SET input_json = '{"runId":"run-a","evil":1}'
		WHERE content_hash = (SELECT content_hash FROM _smithers_snapshots WHERE run_id = 'run-a' AND frame_no = 5)`)
	require.NotEmpty(t, h.take(path, "run-a")["run-a"].Marks)
	to := copyOf(t, gitFixture)
	renamed(t, to, "run-a", "other")
	texts := func(path, run string) [][]string {
		return query(t, path, `SELECT s.frame_no, s.content_hash, coalesce(c.nodes_json, s.nodes_json), coalesce(c.outputs_json, s.outputs_json),
				coalesce(c.ralph_json, s.ralph_json), coalesce(c.input_json, s.input_json)
			FROM _smithers_snapshots s LEFT JOIN _smithers_snapshot_payload_refs r USING (run_id, frame_no)
			LEFT JOIN _smithers_snapshot_contents c ON c.content_hash = r.content_hash WHERE s.run_id = ? ORDER BY 1`, run)
	}
	before := texts(to, "other")
	exported, err := smithers.Export(t.Context(), h.Store, smithers.ExportRequest{Runs: []string{"run-a"}, To: to, Root: fixtureRoot})
	require.NoError(t, err)
	assert.True(t, exported.Runs[0].Exact)
	assert.Equal(t, texts(path, "run-a"), texts(to, "run-a"))
	assert.Equal(t, before, texts(to, "other"))
	assert.Equal(t, [][]string{{"5"}}, query(t, to, `SELECT frame_no FROM _smithers_snapshots WHERE nodes_json <> ''`), "the others share theirs")

	again := h.take(to, "run-a")["run-a"]
	require.NoError(t, again.Err)
	assert.Equal(t, smithers.OutcomeUnchanged, again.Outcome)
}

func TestARowThatTheDatabaseForbidsIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, jjFixture, `CREATE TABLE notes (run_id TEXT, what TEXT)`, `INSERT INTO notes VALUES ('run-j', 'x')`))
	for why, statements := range map[string][]string{
		"UNIQUE":      {`CREATE TABLE notes (run_id TEXT, what TEXT UNIQUE)`, `INSERT INTO notes VALUES ('another', 'x')`},
		"NOT NULL":    {`CREATE TABLE notes (run_id TEXT, what TEXT, mine TEXT NOT NULL)`},
		"CHECK":       {`CREATE TABLE notes (run_id TEXT, what TEXT CHECK (what <> 'x'))`},
		"FOREIGN KEY": {`CREATE TABLE mine (a TEXT PRIMARY KEY)`, `CREATE TABLE notes (run_id TEXT, what TEXT REFERENCES mine)`},
		"keep out": {
			`CREATE TABLE notes (run_id TEXT, what TEXT)`,
			`CREATE TRIGGER mine BEFORE INSERT ON notes BEGIN SELECT RAISE(ABORT, 'keep out'); END`,
		},
	} {
		to := copyOf(t, gitFixture, statements...)
		before := content(t, to)
		err := h.exportTo(to, fixtureRoot)
		assert.Equal(t, fault.ExportRefused, fault.CodeOf(err), "%s: %v", why, err)
		require.ErrorContains(t, err, why)
		assert.Equal(t, before, content(t, to), why)
	}
}

func TestADiskThatIsFullIsNoReasonForAnotherKindOfDatabase(t *testing.T) {
	t.Parallel()
	const notes = `CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT)`
	h := newHome(t)
	h.take(copyOf(t, jjFixture, notes, `INSERT INTO notes VALUES (1, 'run-j')`))
	to := copyOf(t, gitFixture, notes, `INSERT INTO notes VALUES (1, 'another'), (9223372036854775807, 'another')`) // no number is left
	before := content(t, to)
	err := h.exportTo(to, fixtureRoot)
	assert.Equal(t, fault.DiskFull, fault.CodeOf(err))
	require.ErrorContains(t, err, to+`: table "notes": no space left on device`)
	assert.Equal(t, before, content(t, to))
}

func TestADiskThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.take(copyOf(t, jjFixture))
	to := copyOf(t, gitFixture)
	require.NoError(t, os.Mkdir(to+"-journal", 0o777))
	err := h.exportTo(to, fixtureRoot)
	assert.Equal(t, fault.WriteFailed, fault.CodeOf(err))
	require.ErrorContains(t, err, to+": input/output error")
}

func TestAFolderInPlaceOfTheWorkflowIsNoWorkflow(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(string) error{
		"a folder":          func(root string) error { return os.MkdirAll(filepath.Join(root, "workflow.tsx"), 0o777) },
		"a file on its way": func(root string) error { return os.WriteFile(root, nil, 0o666) },
		"nothing":           func(string) error { return nil },
		"a pipe without end": func(root string) error {
			return errors.Join(os.Mkdir(root, 0o777), syscall.Mkfifo(filepath.Join(root, "workflow.tsx"), 0o666))
		},
	} {
		h := newHome(t)
		h.take(copyOf(t, gitFixture), "run-a")
		_, err := h.Fork(t.Context(), timeline.ForkRequest{From: "run-a:7", RunID: "child"})
		require.NoError(t, err)
		root := filepath.Join(t.TempDir(), "root")
		require.NoError(t, put(root))
		exported, err := smithers.Export(t.Context(), h.Store, smithers.ExportRequest{
			Runs: []string{"child"}, To: filepath.Join(t.TempDir(), "out.db"), Root: root,
		})
		require.NoError(t, err, name)
		require.NotEmpty(t, exported.Runs[0].Refusals, name)
		assert.Equal(t, smithers.RefusedNoWorkflow, exported.Runs[0].Refusals[0].Code, name)
	}
}
