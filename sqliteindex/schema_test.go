package sqliteindex_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

const startCommit = "89abcdef0123456789abcdef0123456789abcdef"

// TestNamesOfSmithersAnswer asks as people ask Smithers' own database: with its table
// and column names.
func TestNamesOfSmithersAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	started := w.first("parent")
	row := started.Run
	started.Run = func(r *snapshot.Run) {
		row(r)
		r.VCSType, r.VCSRoot, r.VCSRevision = snapshot.VCSGit, "../side", startCommit
		r.Owner, r.Epoch, r.Error = "0123456789abcdef", 2, "timeout: too slow"
	}
	frame0 := w.write(t, nil, started)
	draft := frameDraft()
	draft.VCS.Root = "../side"
	frame1 := w.write(t, frame0, draft)
	w.setTip(t, "parent", frame1.ID)
	w.fork(t, "child", snapshot.Parent{RunID: "parent", Frame: 1, Label: "try"}, frame1, false)
	atJJ := w.write(t, nil, w.first("jj"), snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, VCS: &snapshot.VCS{
		Type: snapshot.VCSJJ, ChangeID: "kxyz", CommitID: "0123", Operation: "abcd",
	}})
	w.setTip(t, "jj", atJJ.ID)
	x, err := sqliteindex.Open(t.Context(), w.options())
	require.NoError(t, err)
	synced(t, x)
	require.NoError(t, x.Close())
	db, err := sql.Open("sqlite", w.indexPath())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })

	const commit = "0123456789012345678901234567890123456789"
	for _, tc := range []struct {
		query string
		want  []any
	}{
		{
			"SELECT run_id, status, workflow_name, workflow_path, workflow_hash, vcs_type, vcs_root, vcs_revision FROM _smithers_runs WHERE run_id = 'parent'",
			[]any{"parent", "running", "triage", "flows/triage.yaml", "abc", "git", "../side", startCommit},
		},
		{
			"SELECT created_at_ms, started_at_ms, finished_at_ms, latest_frame, git_ref, git_tip FROM _smithers_runs WHERE run_id = 'parent'",
			[]any{int64(1_700_000_000_000), int64(1_700_000_000_000), nil, int64(1), "parent", frame1.ID.String()},
		},
		{
			"SELECT runtime_owner_id, epoch, error_json, heartbeat_at_ms, cancel_requested_at_ms, config_json, fork_undone FROM _smithers_runs WHERE run_id = 'parent'",
			[]any{"0123456789abcdef", int64(2), `{"message":"timeout: too slow"}`, nil, nil, nil, int64(0)},
		},
		{
			"SELECT count(*), max(frame_no), min(workflow_hash) FROM _smithers_snapshots WHERE run_id = 'parent'",
			[]any{int64(2), int64(1), nil},
		},
		{
			"SELECT frame_no, vcs_pointer, content_hash, created_at_ms, git_commit FROM _smithers_snapshots WHERE run_id = 'child'",
			[]any{int64(0), commit, hash(frame1), frame1.AtMs, frame1.ID.String()},
		},
		{
			"SELECT frame_no, created_at_ms, subject, git_commit FROM _smithers_frames WHERE run_id = 'parent' ORDER BY frame_no DESC LIMIT 1",
			[]any{int64(1), frame1.AtMs, "a frame", frame1.ID.String()},
		},
		{
			"SELECT run_id, parent_run_id, parent_frame_no, branch_label, fork_description, created_at_ms FROM _smithers_branches",
			[]any{"child", "parent", int64(1), "try", nil, frame1.AtMs},
		},
		{
			"SELECT frame_no, vcs_type, vcs_pointer, vcs_root, jj_operation_id, created_at_ms, change_id FROM _smithers_vcs_tags WHERE run_id = 'parent'",
			[]any{int64(1), "git", commit, "../side", nil, frame1.AtMs, nil},
		},
		{
			"SELECT frame_no, vcs_type, vcs_pointer, vcs_root, jj_operation_id, created_at_ms, change_id FROM _smithers_vcs_tags WHERE run_id = 'jj'",
			[]any{int64(1), "jj", "0123", "", "abcd", atJJ.AtMs, "kxyz"},
		},
		{
			"SELECT count(*), min(vcs_type), min(vcs_root), min(vcs_revision) FROM _smithers_runs WHERE run_id = 'jj'",
			[]any{int64(1), nil, nil, nil},
		},
	} {
		t.Run(tc.query, func(t *testing.T) {
			t.Parallel()
			got, dest := make([]any, len(tc.want)), make([]any, len(tc.want))
			for i := range got {
				dest[i] = &got[i]
			}
			require.NoError(t, db.QueryRowContext(t.Context(), tc.query).Scan(dest...))
			assert.Equal(t, tc.want, got)
		})
	}
}
