package smithers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The databases that other versions of Smithers made, each with runs of a workflow that has a loop and an
// approval, in versionsRoot.
const (
	versionsRoot = "/work/lab"
	v050         = "versions/0.5.0.db"             // run-a was approved and has finished, run-b waits, run-f has failed
	v050Waiting  = "versions/0.5.0-waiting.db"     // the same before run-a was approved, and without run-b
	v050To032    = "versions/0.5.0-then-0.32.0.db" // the same as v050 after 0.32.0 has run "new" in it, and forked that
	waitingSeqs  = "SELECT count(*) FROM _smithers_events WHERE run_id = 'run-a'"
	renderedRows = "SELECT frame_no, created_at_ms FROM _smithers_frames WHERE run_id = 'run-a' ORDER BY 1"
)

// assertComesBackFrom requires that all rows come out of the repository as the database has them, by the columns that
// it has: those of Smithers 0.32.0 are in another order, and more. Tables named by but are left out.
func (h *home) assertComesBackFrom(path, root string, but ...string) string {
	h.t.Helper()
	to := filepath.Join(h.t.TempDir(), "out.db")
	exported, err := smithers.Export(h.t.Context(), h.Store, smithers.ExportRequest{To: to, Root: root})
	require.NoError(h.t, err)
	for _, run := range exported.Runs {
		assert.True(h.t, run.Exact, run.RunID)
	}
	tables := 0
	for _, table := range query(h.t, path, `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> '_smithers_schema_migrations'`) {
		if slices.Contains(but, table[0]) {
			continue
		}
		rows := rowsBy(h.t, path, table[0], columnsOf(h.t, path, table[0]))
		assert.Equal(h.t, rows, rowsBy(h.t, to, table[0], columnsOf(h.t, path, table[0])), table[0])
		tables += min(len(rows), 1)
	}
	assert.Greater(h.t, tables, 10, "tables with rows")
	return to
}

// columnsOf are the columns of a table but for those of processes.
func columnsOf(t *testing.T, path, table string) (columns []string) {
	t.Helper()
	for _, row := range query(t, path, `SELECT name FROM pragma_table_info(?) ORDER BY name`, table) {
		switch row[0] {
		case "runtime_owner_id", "heartbeat_at_ms", "cancel_request_client_pid", "cancel_request_client_identity":
		default:
			columns = append(columns, `quote("`+row[0]+`")`)
		}
	}
	return columns
}

func rowsBy(t *testing.T, path, table string, columns []string) [][]string {
	t.Helper()
	rows := query(t, path, fmt.Sprintf(`SELECT %s FROM "%s"`, strings.Join(columns, ", "), table))
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// assertNoMarks requires that all runs are imported, and that all hashes match.
func assertNoMarks(t *testing.T, runs map[string]smithers.ImportedRun) {
	t.Helper()
	for id, run := range runs {
		require.NoError(t, run.Err, id)
		assert.Empty(t, run.Marks, id)
	}
}

func TestRunsOfSmithers050KeepAllTheirRowsThoughItHasNoSnapshots(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, v050)
	runs := h.take(path)
	assertNoMarks(t, runs)
	require.Len(t, runs, 3)
	for run, status := range map[string]string{"run-a": "finished", "run-b": "waiting-approval", "run-f": "failed"} {
		head, err := h.Head(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, status, string(head.Row().Status))
	}
	assert.Equal(t, int64(12), runs["run-a"].Rendered)
	for _, run := range h.take(path) {
		assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome)
	}
	// what the tables say is one frame
	assert.Equal(t, int64(1), runs["run-a"].Frames)
	entry := h.entry("run-a:1")
	assert.Equal(t, "as imported", entry.Subject)
	state, err := entry.State()
	require.NoError(t, err)
	whole, err := contents.WholeOf(state)
	require.NoError(t, err)
	states := make(map[string]string)
	for _, n := range whole.Nodes {
		states[snapshot.Key(n.NodeID, n.Iteration)] = string(n.State)
	}
	assert.Equal(t, "finished", states["fetch::0"])
	assert.Equal(t, "finished", states["write::2"])
	assert.JSONEq(t, `{"payload":{"topic":"tea"}}`, string(whole.Input))
	outputs := make(map[string]string)
	for _, o := range whole.Outputs {
		outputs[o.Table+" "+snapshot.Key(o.NodeID, o.Iteration)] = string(o.Value)
	}
	assert.JSONEq(t, `{"title":"On tea: “naïve” ✓","parts":["one","two"],"bold":1,"weight":5}`, outputs["outline outline::0"])
	assert.Len(t, outputs, 8)

	to := h.assertComesBackFrom(path, versionsRoot)
	var shown []struct{ FrameNo, CreatedAtMs int64 }
	golden(t, filepath.Join("..", "versions", "0.5.0-frames.json"), &shown)
	var want [][]string
	for _, f := range slices.Backward(shown) { // it lists the newest first
		want = append(want, []string{strconv.FormatInt(f.FrameNo, 10), strconv.FormatInt(f.CreatedAtMs, 10)})
	}
	assert.Equal(t, want, query(t, to, renderedRows))
}

func TestARunThatSmithers050WentOnWithIsContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	before := h.take(copyOf(t, v050Waiting))
	assertNoMarks(t, before)
	path := copyOf(t, v050)
	after := h.take(path)
	assertNoMarks(t, after)
	assert.Equal(t, smithers.OutcomeContinued, after["run-a"].Outcome)
	assert.Equal(t, smithers.OutcomeCreated, after["run-b"].Outcome)
	assert.Equal(t, smithers.OutcomeUnchanged, after["run-f"].Outcome)
	to := h.assertComesBackFrom(path, versionsRoot)
	assert.Equal(t, query(t, path, waitingSeqs), query(t, to, waitingSeqs))
}

func TestAWatchFollowsRunsOfSmithers050(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	content, err := os.ReadFile(fixturePath(v050Waiting))
	require.NoError(t, err)
	at.replace(content)
	at.watch()
	assert.Equal(t, snapshot.RunWaitingApproval, at.status())
	content, err = os.ReadFile(fixturePath(v050))
	require.NoError(t, err)
	at.replace(content)
	at.arrived("run-b", 0)
	assert.Equal(t, snapshot.RunFinished, at.status())
	assert.Empty(t, at.warnings)
}

func TestADatabaseThatANewerSmithersTookOverComesInAndBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, v050To032)
	runs := h.take(path)
	assertNoMarks(t, runs)
	require.Len(t, runs, 5)
	assert.Equal(t, int64(12), runs["run-a"].Rendered)
	assert.Zero(t, runs["new"].Rendered)

	var shown struct{ Timeline peerTimeline }
	golden(t, filepath.Join("..", "versions", "0.5.0-then-0.32.0-timeline.json"), &shown)
	tree, err := list.Timeline(t.Context(), h.Store, "new", list.TreeOptions{Tree: true})
	require.NoError(t, err)
	require.Len(t, tree.Children, 1)
	assertSameTree(t, shown.Timeline, *tree)
	h.assertComesBackFrom(path, versionsRoot)
}

// unnumbered are the members of outputs that versions before 0.32.0 did not have.
var unnumbered = regexp.MustCompile(`,?"__smithers[A-Za-z]+":[0-9]+`)

// asBefore rewrites the database as versions did that had no table of contents: without what was added to
// the schema since. in gives the statement that puts the contents of a snapshot where they were.
func asBefore(t *testing.T, path string, in func(of string, c source.Contents) string) {
	t.Helper()
	statements := []string{
		`DROP TRIGGER _smithers_snapshots_payload_refs_reconcile`, `DROP TRIGGER _smithers_snapshots_payload_refs_cascade`,
		`DROP TABLE _smithers_snapshot_payload_refs`, `DROP TABLE _smithers_snapshot_contents`, `DROP TABLE _smithers_output_provenance`,
		`DROP TABLE _smithers_rewind_leases`, `DELETE FROM _smithers_schema_migrations WHERE id >= '0020'`,
	}
	for _, column := range []string{"pause_requested_at_ms", "cancel_request_id", "cancel_request_source"} {
		statements = append(statements, `ALTER TABLE _smithers_runs DROP COLUMN `+column)
	}
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, db.Read(t.Context(), func(tx *source.Tx) error {
		runs, err := tx.Runs()
		require.NoError(t, err)
		for _, run := range runs {
			id := run["run_id"].Bytes
			heads, err := tx.Heads(id)
			require.NoError(t, err)
			for _, head := range heads {
				s, err := tx.Snapshot(id, head.Frame)
				require.NoError(t, err)
				s.Outputs = strings.ReplaceAll(unnumbered.ReplaceAllString(s.Outputs, ""), "{,", "{")
				of := fmt.Sprintf(`run_id = '%s' AND frame_no = %d`, id, head.Frame)
				statements = append(statements, in(of, s.Contents),
					fmt.Sprintf(`UPDATE _smithers_snapshots SET content_hash = '%s' WHERE %s`, source.ContentHash(s.Contents), of))
			}
		}
		return nil
	}))
	require.NoError(t, db.Close())
	require.NoError(t, sourcetest.Exec(t.Context(), path, strings.Join(statements, ";")))
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func TestADatabaseWithAllContentsInItsRowsComesInAndBack(t *testing.T) {
	t.Parallel()
	path := copyOf(t, gitFixture)
	asBefore(t, path, func(of string, c source.Contents) string {
		return fmt.Sprintf(`UPDATE _smithers_snapshots SET nodes_json = %s, outputs_json = %s, ralph_json = %s, input_json = %s WHERE %s`,
			quoted(c.Nodes), quoted(c.Outputs), quoted(c.Ralph), quoted(c.Input), of)
	})
	h := newHome(t)
	runs := h.take(path)
	assertNoMarks(t, runs)
	assert.Equal(t, int64(31), runs["run-a"].Frame)
	h.assertComesBackFrom(path, fixtureRoot)
}

func TestADatabaseWithPackedContentsComesInAndBackInTheCompactLayout(t *testing.T) {
	t.Parallel()
	path := copyOf(t, jjFixture, `CREATE TABLE _smithers_snapshot_payloads (content_hash TEXT PRIMARY KEY, payload_b64 TEXT NOT NULL, created_at_ms INTEGER NOT NULL)`)
	hashes := make(map[string]bool)
	asBefore(t, path, func(_ string, c source.Contents) string {
		hash := source.ContentHash(c)
		hashes[hash] = true
		return fmt.Sprintf(`INSERT OR IGNORE INTO _smithers_snapshot_payloads VALUES ('%s', '%s', 5)`, hash, payloadOf(t, c))
	})
	h := newHome(t)
	runs := h.take(path)
	assertNoMarks(t, runs)
	assert.Equal(t, int64(31), runs["run-j"].Frame)
	to := h.assertComesBackFrom(path, fixtureRoot, "_smithers_snapshot_payloads")
	for _, row := range query(t, to, `SELECT content_hash FROM _smithers_snapshot_contents`) {
		assert.True(t, hashes[row[0]], row[0])
	}
	assert.Equal(t, strconv.Itoa(len(hashes)), value(t, to, `SELECT count(*) FROM _smithers_snapshot_contents`))
}

// payloadOf is a payload of the layout that no release had.
func payloadOf(t *testing.T, c source.Contents) string {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := fmt.Fprintf(w, `{"nodes":%s,"outputs":%s,"ralph":%s,"input":%s}`, c.Nodes, c.Outputs, c.Ralph, c.Input)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(zipped.Bytes())
}
