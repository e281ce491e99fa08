package cron

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// columns are those of the table _smithers_cron: Smithers' own, then ours.
var columns = []string{
	"cron_id", "pattern", "workflow_path", "enabled", "created_at_ms", "last_run_at_ms", "next_run_at_ms", "error_json",
	"zone", "input_json", "missed", "overlap", "last_run_id", "error_at_ms",
}

// Index brings the table _smithers_cron of the index up to date.
func (t *Table) Index(ctx context.Context, index *sqliteindex.Index) error {
	return t.ref.Index(ctx, index, "_smithers_cron", columns, t.rows)
}

// rows returns the schedules in a tree as rows of the index.
func (t *Table) rows(tree objstore.ID) ([][]any, error) {
	all, err := t.in(tree)
	var rows [][]any
	for _, s := range all {
		rows = append(rows, []any{
			s.ID, s.Pattern, s.Workflow, s.Fires(), s.CreatedAtMs, treeref.Value(s.LastAtMs), treeref.Value(s.NextAtMs), treeref.Text(s.Error),
			treeref.Text(s.Zone), treeref.Text(string(s.Input)), treeref.Text(s.Missed), treeref.Text(s.Overlap), treeref.Text(s.LastRun), treeref.Value(s.ErrorAtMs),
		})
	}
	return rows, err
}
