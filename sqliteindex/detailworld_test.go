package sqliteindex_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// set is the change that gives a collection a row.
func set(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: row.Value}
}

func setNode(n snapshot.Node) snapshot.Change {
	return set(snapshot.CollectionNodes, snapshot.EncodeNode(n))
}

func setLoop(l snapshot.Loop) snapshot.Change {
	return set(snapshot.CollectionLoops, snapshot.EncodeLoop(l))
}

func setApproval(a snapshot.Approval) snapshot.Change {
	return set(snapshot.CollectionApprovals, snapshot.EncodeApproval(a))
}

func setHuman(h snapshot.HumanRequest) snapshot.Change {
	return set(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(h))
}

func setSignal(s snapshot.Signal) snapshot.Change {
	return set(snapshot.CollectionSignals, snapshot.EncodeSignal(s))
}

func setWait(w snapshot.Wait) snapshot.Change {
	return set(snapshot.CollectionWaits, snapshot.EncodeWait(w))
}

func setOp(o snapshot.Op) snapshot.Change { return set(snapshot.CollectionOps, snapshot.EncodeOp(o)) }

func setOutput(table, node string, iteration int, value string) snapshot.Change {
	return set(snapshot.OutputCollection(table), page.Row{Key: snapshot.Key(node, iteration), Value: []byte(value)})
}

func setInput(value string) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(value)}
}

// stateDraft is a frame that makes these changes.
func stateDraft(changes ...snapshot.Change) snapshot.Draft {
	return snapshot.Draft{Frame: &snapshot.FrameDraft{State: changes, Silent: true}, Subject: "a frame"}
}

// mailDraft is an entry that is no frame and changes the mailbox.
func mailDraft(changes ...snapshot.Change) snapshot.Draft {
	return snapshot.Draft{Subject: "mail", Mailbox: changes}
}

// workflowDraft is the first frame of a run of a workflow with these schemas of outputs.
func (w *world) workflowDraft(run, workflow string, schemas map[string]string) snapshot.Draft {
	draft := w.first(run)
	edit := draft.Run
	draft.Run = func(r *snapshot.Run) {
		edit(r)
		r.Workflow = workflow
	}
	draft.Workflow = definition(schemas)
	return draft
}

// definition is a workflow with these schemas of outputs.
func definition(schemas map[string]string) *snapshot.Workflow {
	wf := &snapshot.Workflow{Definition: []byte("name: w\n"), Schemas: map[string]json.RawMessage{}}
	for table, schema := range schemas {
		wf.Schemas[table] = json.RawMessage(schema)
	}
	return wf
}

// run makes a run of these entries, and its tip.
func (w *world) run(tb testing.TB, name string, drafts ...snapshot.Draft) *snapshot.Entry {
	tb.Helper()
	e := w.write(tb, nil, drafts...)
	w.setTip(tb, name, e.ID)
	return e
}

// extend appends entries to a run.
func (w *world) extend(tb testing.TB, e *snapshot.Entry, drafts ...snapshot.Draft) *snapshot.Entry {
	tb.Helper()
	next := w.write(tb, e, drafts...)
	w.setTip(tb, next.Run, next.ID)
	return next
}

// detailed is an index with the details of all runs.
func (w *world) detailed(tb testing.TB) *sqliteindex.Index {
	tb.Helper()
	x := w.index(tb)
	require.NoError(tb, x.SyncDetails(context.Background()))
	return x
}

func detailsPath(index string) string { return strings.TrimSuffix(index, ".db") + "-details.db" }

// tables is everything in a database: by table and view, what makes it and its rows.
type tables map[string][]string

// tablesAt reads a database that no index has open for writing.
func tablesAt(tb testing.TB, path string) tables {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, db.Close()) }()
	out := make(tables)
	for _, row := range query(tb, db, "SELECT name, coalesce(sql, '') FROM sqlite_schema") {
		name, made := fmt.Sprint(row[0]), fmt.Sprint(row[1])
		out[name] = []string{made}
		if !strings.HasPrefix(made, "CREATE TABLE") && !strings.HasPrefix(made, "CREATE VIEW") {
			continue
		}
		var rows []string
		for _, row := range query(tb, db, `SELECT * FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`) {
			rows = append(rows, fmt.Sprintf("%#v", row))
		}
		slices.Sort(rows)
		out[name] = append(out[name], rows...)
	}
	return out
}

func query(tb testing.TB, db *sql.DB, text string) (all [][]any) {
	tb.Helper()
	rows, err := db.QueryContext(context.Background(), text)
	require.NoError(tb, err, text)
	defer func() { require.NoError(tb, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(tb, err)
	for rows.Next() {
		row, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		require.NoError(tb, rows.Scan(places...))
		all = append(all, row)
	}
	require.NoError(tb, rows.Err())
	return all
}

// detailTruth is what a database of details holds that was rebuilt from the refs a moment ago.
func (w *world) detailTruth(tb testing.TB) tables {
	tb.Helper()
	opts := w.options()
	opts.Path = filepath.Join(tb.TempDir(), "truth.db")
	x, err := sqliteindex.Open(context.Background(), opts)
	require.NoError(tb, err)
	_, err = x.Rebuild(context.Background(), nil)
	require.NoError(tb, err)
	require.Empty(tb, x.Problems())
	require.NoError(tb, x.Close())
	return tablesAt(tb, detailsPath(opts.Path))
}

// ask is the rows that a query is answered with.
func ask(tb testing.TB, x *sqliteindex.Index, text string) [][]any {
	tb.Helper()
	answer, err := x.Query(context.Background(), text)
	require.NoError(tb, err, text)
	return answer.Rows
}

// spoil runs a statement that nobody but the index should run.
func spoil(tb testing.TB, path, statement string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(tb, err)
	_, err = db.ExecContext(context.Background(), statement)
	require.NoError(tb, err)
	require.NoError(tb, db.Close())
}
