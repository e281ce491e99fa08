package sqliteindex_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func atJJ(change, commit string) snapshot.Draft {
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "a frame", VCS: &snapshot.VCS{
		Type: snapshot.VCSJJ, ChangeID: change, CommitID: commit, Operation: "op" + commit, Root: "side",
	}}
}

// names are the frames as run:frame.
func names(rows []sqliteindex.FrameRow) []string {
	all := []string{}
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s:%d", r.RunID, r.FrameNo))
	}
	return all
}

func TestFramesAreFoundByChangeAndCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older := w.write(t, nil, w.first("older"), atJJ("kxyz", "0123"), atJJ("kxyz", "0129"), atJJ("kz", "45"))
	w.setTip(t, "older", older.ID)
	newer := w.write(t, nil, w.first("newer"), frameDraft(), atJJ("kxyw", "0123"))
	w.setTip(t, "newer", newer.ID)
	fork := w.fork(t, "fork", snapshot.Parent{RunID: "newer", Frame: 2}, newer, false)
	w.setTip(t, "fork", w.write(t, fork, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "as before"}).ID)
	x := w.index(t)
	synced(t, x)
	for _, tc := range []struct {
		find   func() ([]sqliteindex.FrameRow, error)
		frames []string
	}{
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "kxyz") }, []string{"older:1", "older:2"}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "kxy") }, []string{"fork:0", "fork:1", "newer:2", "older:1", "older:2"}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "kxyzz") }, []string{}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "k%") }, []string{}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "k*") }, []string{}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "k_y") }, []string{}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByChange(t.Context(), "") }, []string{}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByCommit(t.Context(), "0123") }, []string{"fork:0", "fork:1", "newer:1", "newer:2", "older:1"}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByCommit(t.Context(), "0129") }, []string{"older:2"}},
		{func() ([]sqliteindex.FrameRow, error) { return x.FramesByCommit(t.Context(), "kxyz") }, []string{}},
	} {
		rows, err := tc.find()
		require.NoError(t, err)
		assert.Equal(t, tc.frames, names(rows))
	}
	rows, err := x.FramesByChange(t.Context(), "kz")
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, older.ID, rows[0].Commit)
	assert.Equal(t, []string{"jj:kz@45", "side", "op45"}, []string{rows[0].VCS, rows[0].VCSRoot, rows[0].JJOperation})
}

func TestFramesAreFoundThroughAnIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "a", 2)
	x, err := sqliteindex.Open(t.Context(), w.options())
	require.NoError(t, err)
	synced(t, x)
	require.NoError(t, x.Close())
	db, err := sql.Open("sqlite", w.indexPath())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	for column, index := range map[string]string{"change_id": "change", "commit_id": "commit"} {
		plan := lines(t, db, 3, "EXPLAIN QUERY PLAN SELECT run_id FROM _smithers_snapshots WHERE "+column+" >= 'a' AND "+column+" < 'b'")
		assert.Contains(t, plan[0], "_smithers_snapshots_"+index+"_idx")
	}
}

// lines is what one column of a query says, a row a line.
func lines(t *testing.T, db *sql.DB, column int, query string, args ...any) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer func() { assert.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var all []string
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		var text string
		cells[column] = &text
		require.NoError(t, rows.Scan(cells...))
		all = append(all, text)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestEachFrameHasTheTagOfItsOwnWorkingCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moved := func(operation string) *snapshot.VCS {
		return &snapshot.VCS{Type: snapshot.VCSJJ, ChangeID: "kxyz", CommitID: "01", Operation: operation}
	}
	as := snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "as before"}
	tip := w.write(t, nil, w.first("a"),
		snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: moved("a")}, as, as,
		snapshot.Draft{Subject: "between frames", VCS: moved("b")}, as, as,
		snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: moved("a")}, as)
	w.setTip(t, "a", tip.ID)
	x := w.index(t)
	got := synced(t, x)
	operations := []string{}
	for _, f := range got.Frames["a"] {
		operations = append(operations, f.JJOperation)
	}
	assert.Equal(t, []string{"", "a", "a", "a", "b", "b", "a", "a"}, operations)
}

// damage makes the vcs.json of an entry one that no encoder wrote.
func (w *world) damage(t *testing.T, e *snapshot.Entry) *snapshot.Entry {
	t.Helper()
	batch := w.objects.Begin()
	parts, err := objstore.ReadTree(w.objects, e.Tree)
	require.NoError(t, err)
	for i := range parts {
		if parts[i].Name == "vcs.json" {
			parts[i].ID = batch.Add(objstore.Blob, []byte("{}"))
		}
	}
	header := e.Header
	header.Tree = batch.Add(objstore.Tree, objstore.EncodeTree(parts))
	id := batch.Add(objstore.Commit, snapshot.EncodeHeader(header))
	require.NoError(t, batch.Commit(t.Context(), nil))
	damaged, err := snapshot.ReadEntry(w.objects, id)
	require.NoError(t, err)
	return damaged
}

func TestAFrameWhoseRevisionIsDamagedStaysInTheIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setTip(t, "a", w.damage(t, w.write(t, nil, w.first("a"), atJJ("kxyz", "0123"))).ID)
	x := w.index(t)
	got := synced(t, x)
	require.Len(t, got.Frames["a"], 2)
	assert.Equal(t, "jj:kxyz@0123", got.Frames["a"][1].VCS)
	assert.Empty(t, got.Frames["a"][1].JJOperation)
	assert.Empty(t, x.Problems())
}

// attempts are what the table of attempts says, a row a line.
func (w *world) attempts(t *testing.T, run string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", w.indexPath())
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	return lines(t, db, 0, `SELECT node_id || ' ' || attempt || ' ' || state || ' ' || coalesce(jj_pointer, '-') ||
		' ' || coalesce(frame_no, '-') || ' ' || coalesce(error_json, '-') || ' ' || coalesce(jj_cwd, '-')
		FROM _smithers_attempts WHERE run_id = ? ORDER BY node_id, iteration, attempt`, run)
}

func attemptDraft(a snapshot.Attempt) snapshot.Draft {
	row := snapshot.EncodeAttempt(a)
	return snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "an attempt", Journal: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value},
	}}
}

func TestAttemptsAreFollowedRowByRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree := objstore.SHA1.ID(objstore.Tree, nil)
	started := snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptInProgress}
	ended := started
	ended.State, ended.Error, ended.CommitID, ended.Tree, ended.Frame = snapshot.AttemptFailed, `no: "x"`, "c0ffee", tree, new(int64(2))
	second := snapshot.Attempt{NodeID: "a", Attempt: 2, State: snapshot.AttemptFinished, CommitID: "c0ffee"}
	tip := w.write(t, nil, w.first("git"), attemptDraft(started))
	w.setTip(t, "git", tip.ID)
	x := w.index(t)
	synced(t, x)
	assert.Equal(t, []string{"a 1 in-progress - - - -"}, w.attempts(t, "git"))

	tip = w.write(t, tip, attemptDraft(ended), attemptDraft(second))
	w.setTip(t, "git", tip.ID)
	synced(t, x)
	want := []string{
		`a 1 failed c0ffee 2 {"message":"no: \"x\""} -`,
		"a 2 finished c0ffee - - -",
	}
	assert.Equal(t, want, w.attempts(t, "git"))
	_, err := x.Rebuild(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, want, w.attempts(t, "git"))

	w.setTip(t, "git", tip.Parent)
	synced(t, x)
	assert.Equal(t, want[:1], w.attempts(t, "git"), "a tip that moved back takes its attempts along")
	w.dropTip(t, "git")
	synced(t, x)
	assert.Empty(t, w.attempts(t, "git"), "a run that went takes its attempts along")
}

func TestTheAttemptsOfAJJRunPointAtCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree := objstore.SHA1.ID(objstore.Tree, nil)
	draft := attemptDraft(snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFinished, CommitID: "c0ffee", Tree: tree})
	draft.VCS = atJJ("kxyz", "c0ffee").VCS
	tip := w.write(t, nil, w.first("jj"), draft)
	w.setTip(t, "jj", tip.ID)
	w.fork(t, "fork", snapshot.Parent{RunID: "jj", Frame: 1}, tip, false)
	synced(t, w.index(t))
	assert.Equal(t, []string{"a 1 finished c0ffee - - -"}, w.attempts(t, "jj"))
	assert.Equal(t, w.attempts(t, "jj"), w.attempts(t, "fork"))
}
