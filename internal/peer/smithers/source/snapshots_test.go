package source_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// sample are contents as no JSON.stringify of ours would write them.
var sample = source.Contents{
	Nodes: `[{"nodeId":"b"},{"nodeId":"a"}]`, Outputs: `{"z":[],"a":1e400,"a":"\ud800"}`, Ralph: `[ ]`, Input: `{"n":1.0}`,
}

// snapshotsSQL are the tables of snapshots.
const snapshotsSQL = runsSQL + `;
	CREATE TABLE _smithers_snapshots (run_id TEXT, frame_no INTEGER, nodes_json TEXT, outputs_json TEXT, ralph_json TEXT,
		input_json TEXT, vcs_pointer TEXT, content_hash TEXT, created_at_ms INTEGER, PRIMARY KEY (run_id, frame_no));
	CREATE TABLE _smithers_snapshot_contents (content_hash TEXT PRIMARY KEY, nodes_json TEXT, outputs_json TEXT, ralph_json TEXT, input_json TEXT);
	CREATE TABLE _smithers_snapshot_payload_refs (run_id TEXT, frame_no INTEGER, content_hash TEXT, PRIMARY KEY (run_id, frame_no));
	CREATE TABLE _smithers_snapshot_payloads (content_hash TEXT PRIMARY KEY, payload_b64 TEXT)`

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// snapshotRow inserts snapshot 1 of r, whose hash is h.
func snapshotRow(c source.Contents) string {
	return fmt.Sprintf(`INSERT INTO _smithers_snapshots VALUES ('r', 1, %s, %s, %s, %s, NULL, 'h', 5)`,
		literal(c.Nodes), literal(c.Outputs), literal(c.Ralph), literal(c.Input))
}

func contentsRow(c source.Contents) string {
	return fmt.Sprintf(`INSERT INTO _smithers_snapshot_contents VALUES ('h', %s, %s, %s, %s)`,
		literal(c.Nodes), literal(c.Outputs), literal(c.Ralph), literal(c.Input))
}

const refRow = `INSERT INTO _smithers_snapshot_payload_refs VALUES ('r', 1, 'h')`

// packed is what a prototype of Smithers stored contents as.
func packed(t *testing.T, hashed string) string {
	t.Helper()
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, err := w.Write([]byte(hashed))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(to.Bytes())
}

func payloadRow(hash, payload string) string {
	return `INSERT INTO _smithers_snapshot_payloads VALUES (` + literal(hash) + `, ` + literal(payload) + `)`
}

// hashed is what the hash of contents is of.
func hashed(c source.Contents) string {
	return `{"nodes":` + c.Nodes + `,"outputs":` + c.Outputs + `,"ralph":` + c.Ralph + `,"input":` + c.Input + `}`
}

func TestASnapshotIsTheSameInEveryLayout(t *testing.T) {
	t.Parallel()
	withColumn := strings.Replace(snapshotsSQL, "vcs_pointer TEXT,", "vcs_pointer TEXT, payload_hash TEXT,", 1)
	for name, c := range map[string]struct {
		layout     source.Layout
		statements []string
	}{
		"compact": {source.Compact, []string{snapshotsSQL, contentsRow(sample), snapshotRow(source.Contents{}), refRow}},
		"inline":  {source.Inline, []string{snapshotsSQL, snapshotRow(sample)}},
		"inline, the only layout of old": {source.Inline, []string{
			snapshotsSQL, snapshotRow(sample), `DROP TABLE _smithers_snapshot_contents`,
			`DROP TABLE _smithers_snapshot_payload_refs`, `DROP TABLE _smithers_snapshot_payloads`,
		}},
		"gzip": {source.Gzip, []string{snapshotsSQL, snapshotRow(source.Contents{}), payloadRow("h", packed(t, hashed(sample)))}},
		"gzip, with a hash of its own": {source.Gzip, []string{
			withColumn, `INSERT INTO _smithers_snapshots VALUES ('r', 1, '', '', '', '', NULL, 'p', 'h', 5)`, payloadRow("p", packed(t, hashed(sample))),
		}},
	} {
		read(t, database(t, c.statements...), func(tx *source.Tx) {
			heads, err := tx.Heads("r")
			require.NoError(t, err, name)
			assert.Equal(t, []source.Head{{Frame: 1, AtMs: 5, ContentHash: "h"}}, heads, name)
			s, err := tx.Snapshot("r", 1)
			require.NoError(t, err, name)
			assert.Equal(t, c.layout, s.Layout, name)
			assert.Equal(t, sample, s.Contents, name)
			assert.Equal(t, heads[0], s.Head, name)
			assert.Equal(t, text("r"), s.Row["run_id"], name)
			assert.Equal(t, source.Value{}, s.Row["vcs_pointer"], name)
			assert.NotContains(t, s.Row, "input_json", name)
		})
	}
}

func TestASnapshotThatCannotBeReadIsDamaged(t *testing.T) {
	t.Parallel()
	none := snapshotRow(source.Contents{})
	for name, statements := range map[string][]string{
		"no row":                      {},
		"no contents anywhere":        {none},
		"no table of payloads":        {none, `DROP TABLE _smithers_snapshot_payloads`},
		"no contents for a reference": {none, refRow},
		"another's reference":         {none, contentsRow(sample), `INSERT INTO _smithers_snapshot_payload_refs VALUES ('r', 1, 'other')`},
		"a reference beside contents": {snapshotRow(sample), contentsRow(sample), refRow},
		"contents that are a blob":    {none, contentsRow(sample), refRow, `UPDATE _smithers_snapshot_contents SET nodes_json = x'00'`},
		"contents that are NULL":      {none, contentsRow(sample), refRow, `UPDATE _smithers_snapshot_contents SET input_json = NULL`},
		"a column of NULL":            {snapshotRow(sample), `UPDATE _smithers_snapshots SET ralph_json = NULL`},
		"a hash that is no text":      {snapshotRow(sample), `UPDATE _smithers_snapshots SET content_hash = x'00'`},
		"a time that is no number":    {snapshotRow(sample), `UPDATE _smithers_snapshots SET created_at_ms = 'x'`},
		"no base64":                   {none, payloadRow("h", "?")},
		"no gzip":                     {none, payloadRow("h", "AAAA")},
		"a cut payload":               {none, payloadRow("h", packed(t, hashed(sample))[:40])},
		"no JSON":                     {none, payloadRow("h", packed(t, "{"))},
		"no object":                   {none, payloadRow("h", packed(t, "[]"))},
		"a missing part":              {none, payloadRow("h", packed(t, `{"nodes":[],"outputs":{},"ralph":[]}`))},
		"JSON without an end":         {none, payloadRow("h", packed(t, `{"nodes":`+strings.Repeat("[", 1_000_000)))},
	} {
		read(t, database(t, append([]string{snapshotsSQL}, statements...)...), func(tx *source.Tx) {
			_, err := tx.Snapshot("r", 1)
			assert.ErrorIs(t, err, source.ErrDamaged, name)
			assert.ErrorContains(t, err, "snapshot 1", name)
		})
	}
}

func TestAFrameNumberThatIsNoneIsDamaged(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{"'x'", "-1", "1.5", "NULL"} {
		read(t, database(t, snapshotsSQL, snapshotRow(sample), `UPDATE _smithers_snapshots SET frame_no = `+frame), func(tx *source.Tx) {
			_, err := tx.Heads("r")
			assert.ErrorIs(t, err, source.ErrDamaged, frame)
		})
	}
}

func TestAValueAboveTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	large := source.Contents{Nodes: "[]", Outputs: `"` + strings.Repeat(" ", 5000) + `"`, Ralph: "[]", Input: "{}"}
	for name, statements := range map[string][]string{
		"compact": {snapshotsSQL, contentsRow(large), snapshotRow(source.Contents{}), refRow},
		"inline":  {snapshotsSQL, snapshotRow(large)},
		"gzip":    {snapshotsSQL, snapshotRow(source.Contents{}), payloadRow("h", packed(t, hashed(large)))},
	} {
		db, err := source.Open(t.Context(), database(t, statements...))
		require.NoError(t, err, name)
		for limit, want := range map[int64]error{5001: source.ErrTooLarge, 1 << 20: nil} {
			db.SetLimit(limit)
			readOpen(t, db, func(tx *source.Tx) {
				_, err := tx.Snapshot("r", 1)
				assert.ErrorIs(t, err, want, name)
				heads, err := tx.Heads("r")
				assert.NoError(t, err, name)
				assert.Len(t, heads, 1, name)
			})
		}
	}
}
