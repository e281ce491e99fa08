package smithers

import (
	"context"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/timeline"
)

// repositoryTables are the tables of Smithers whose rows belong to the repository, with the columns of their keys and what keeps the rows.
var repositoryTables = map[string]struct {
	key  string
	keep func(ctx context.Context, s *timeline.Store, rows []treeref.Row) error
}{
	tables.Cache: {"cache_key", func(ctx context.Context, s *timeline.Store, rows []treeref.Row) error {
		return cache.Of(s).Peer().Add(ctx, rows)
	}},
	tables.Cron: {"cron_id", addSchedules},
	tables.Vectors: {"id", func(ctx context.Context, s *timeline.Store, rows []treeref.Row) error {
		return treeref.VectorsOf(s).Add(ctx, rows)
	}},
}

// keepRepositoryRows stores the rows of one of the repositoryTables, so that sql and an export have them. It returns the number of rows that
// it left out: those without a key, with a text that is not UTF-8, or too large.
func (im *importJob) keepRepositoryRows(ctx context.Context, tx *source.Tx, table string) (left int64, err error) {
	kind := repositoryTables[table]
	var rows []treeref.Row
	for row, err := range tx.Rows(table, "") {
		if err != nil {
			return 0, err
		}
		kept, ok := repositoryRow(row)
		if ok && kept.Text(kind.key) != "" {
			if _, fits := kept.Encode(); fits {
				rows = append(rows, kept)
				continue
			}
		}
		left++
	}
	if len(rows) == 0 {
		return left, nil
	}
	return left, timeline.Explain(kind.keep(ctx, im.store, rows))
}

// repositoryRow returns a row as the repository keeps it; false if it cannot.
func repositoryRow(row source.Row) (treeref.Row, bool) {
	out := make(treeref.Row, len(row))
	for column, value := range row {
		switch value.Kind {
		case source.Null:
			out[column] = nil
		case source.Int:
			out[column] = json.Number(strconv.FormatInt(value.Int, 10))
		case source.Real:
			out[column] = treeref.Float(value.Real)
		case source.Blob:
			out[column] = treeref.Bytes(value.Bytes)
		case source.Text:
			if !utf8.ValidString(value.Bytes) {
				return nil, false
			}
			out[column] = value.Bytes
		}
	}
	return out, true
}

// addSchedules adds the rows of _smithers_cron as schedules that are not enabled.
func addSchedules(ctx context.Context, s *timeline.Store, rows []treeref.Row) error {
	schedules := make([]*cron.Schedule, len(rows))
	for i, row := range rows {
		schedules[i] = &cron.Schedule{
			ID: row.Text("cron_id"), Pattern: row.Text("pattern"), Workflow: row.Text("workflow_path"), CreatedAtMs: row.Number("created_at_ms"),
			Error: row.Text("error_json"), Row: row,
		}
		if last := row.Number("last_run_at_ms"); last != 0 {
			schedules[i].LastAtMs = &last
		}
	}
	return cron.Of(s).AddRows(ctx, schedules)
}
