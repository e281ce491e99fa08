package export

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/timeline"
)

// writeCache adds the results in the cache that belong to the exported runs' workflows and came from Smithers, and those that the runs
// made here, to _smithers_cache. Rows that the database has stay as they are.
func writeCache(ctx context.Context, s *timeline.Store, tx *source.WriteTx, unowned unownedRows, runs []*exportedRun) error {
	workflows, ours := make(map[string]bool), make(map[string]bool)
	for _, run := range runs {
		workflows[run.Row.Workflow], ours[run.Row.ID] = true, true
	}
	all := cache.Of(s)
	peer, err := all.Peer().All(ctx)
	if err != nil {
		return err
	}
	var rows []source.Row
	for _, row := range peer {
		if workflows[row.Text("workflow_name")] {
			rows = append(rows, peerRow(row))
		}
	}
	for e, err := range all.All(ctx) {
		if errors.Is(err, cache.ErrAltered) {
			continue
		}
		if err != nil {
			return err
		}
		if !ours[e.Run] {
			continue
		}
		if e, err = all.Find(ctx, e.Sum); err != nil {
			return err
		}
		if e != nil {
			rows = append(rows, ownRow(e))
		}
	}
	return unowned.putOwn(tx, tables.Cache, rows)
}

// writeRepositoryRows adds the schedules and vectors of the repository. Rows that the database has stay as they are. Schedules of ours are
// disabled: Smithers cannot run their workflows.
func writeRepositoryRows(ctx context.Context, s *timeline.Store, tx *source.WriteTx, unowned unownedRows) error {
	schedules, err := cron.Of(s).All(ctx)
	if err != nil {
		return err
	}
	var rows []source.Row
	for _, schedule := range schedules {
		if schedule.FromSmithers() {
			rows = append(rows, peerRow(schedule.Row))
		} else {
			rows = append(rows, scheduleRow(schedule))
		}
	}
	if err := unowned.putOwn(tx, tables.Cron, rows); err != nil {
		return err
	}
	kept, err := treeref.VectorsOf(s).All(ctx)
	if err != nil {
		return err
	}
	rows = rows[:0:0]
	for _, row := range kept {
		rows = append(rows, peerRow(row))
	}
	return unowned.putOwn(tx, tables.Vectors, rows)
}

// putOwn adds rows of a table of Smithers.
func (u unownedRows) putOwn(tx *source.WriteTx, name string, rows []source.Row) error {
	if len(rows) == 0 {
		return nil
	}
	for _, table := range source.Schema() {
		if table.Name == name {
			return u.put(tx, table, rows)
		}
	}
	return nil
}

// scheduleRow returns a schedule of ours as a row.
func scheduleRow(s *cron.Schedule) source.Row {
	row := source.Row{
		"cron_id": dbrow.Text(s.ID), "pattern": dbrow.Text(s.Pattern), "workflow_path": dbrow.Text(s.Workflow), "enabled": dbrow.Int(0),
		"created_at_ms": dbrow.Int(s.CreatedAtMs), "last_run_at_ms": {}, "next_run_at_ms": {}, "error_json": {},
	}
	if s.LastAtMs != nil {
		row["last_run_at_ms"] = dbrow.Int(*s.LastAtMs)
	}
	if s.Error != "" {
		row["error_json"] = dbrow.Text(s.Error)
	}
	return row
}

// peerRow returns a row that came from Smithers as it was.
func peerRow(row treeref.Row) source.Row {
	out := make(source.Row, len(row))
	for column := range row {
		switch value := row.Value(column).(type) {
		case string:
			out[column] = dbrow.Text(value)
		case int64:
			out[column] = dbrow.Int(value)
		case float64:
			out[column] = source.Value{Kind: source.Real, Real: value}
		case []byte:
			out[column] = source.Value{Kind: source.Blob, Bytes: string(value)}
		default:
			out[column] = source.Value{}
		}
	}
	return out
}

// ownRow returns an entry of ours as a row of Smithers' cache. Smithers computes other keys and so does not take the result.
func ownRow(e *cache.Entry) source.Row {
	payload := "null"
	if e.Output != nil {
		payload = string(e.Output)
	}
	return source.Row{
		"cache_key": dbrow.Text(e.Sum), "created_at_ms": dbrow.Int(e.CreatedAtMs), "workflow_name": dbrow.Text(e.Workflow()),
		"node_id": dbrow.Text(e.Node()), "output_table": dbrow.Text(e.Table), "schema_sig": dbrow.Text(e.SchemaSig), "payload_json": dbrow.Text(payload),
	}
}
