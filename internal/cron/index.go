package cron

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// columns are those of the table _smithers_cron: Smithers' own, then ours.
var columns = []string{
	"cron_id", "pattern", "workflow_path", "enabled", "created_at_ms", "last_run_at_ms", "next_run_at_ms", "error_json",
	"zone", "input_json", "missed", "overlap", "last_run_id", "error_at_ms",
}

// Index brings the table _smithers_cron of the index up to date.
func (t *Table) Index(ctx context.Context, index *sqliteindex.Index) error {
	commit, tree, err := t.ref.Root(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(index.SetRepositoryRows(ctx, sqliteindex.RepositoryTable{Name: "_smithers_cron", Columns: columns}, treeref.NameOf(commit),
		func() ([][]any, error) { return t.rows(tree) }))
}

// rows returns the schedules in a tree as rows of the index.
func (t *Table) rows(tree objstore.ID) ([][]any, error) {
	if tree.IsZero() {
		return nil, nil
	}
	all, err := t.in(tree)
	var rows [][]any
	for _, s := range all {
		rows = append(rows, []any{
			s.ID, s.Pattern, s.Workflow, s.Fires(), s.CreatedAtMs, orNil(s.LastAtMs), orNil(s.NextAtMs), textOrNil(s.Error),
			textOrNil(s.Zone), textOrNil(string(s.Input)), textOrNil(s.Missed), textOrNil(s.Overlap), textOrNil(s.LastRun), orNil(s.ErrorAtMs),
		})
	}
	return rows, err
}

// orNil returns a number for a column that may be NULL.
func orNil(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// textOrNil returns a text for a column, in which "" is NULL.
func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
