package export

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/cache"
)

// writeCache adds the results in the cache that belong to the exported runs' workflows and came from Smithers, and those that the runs
// made here, to _smithers_cache. Rows that the database has stay as they are.
func writeCache(ctx context.Context, s *timeline.Store, tx *source.WriteTx, unowned unownedRows, runs []*exportedRun) error {
	workflows, ours := make(map[string]bool), make(map[string]bool)
	for _, run := range runs {
		workflows[run.Row.Workflow], ours[run.Row.ID] = true, true
	}
	all := cache.Of(s)
	peer, err := all.Peer(ctx)
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
	if len(rows) == 0 {
		return nil
	}
	for _, table := range source.Schema() {
		if table.Name == tables.Cache {
			return unowned.put(tx, table, rows)
		}
	}
	return nil
}

// peerRow returns a row that came from Smithers as it was.
func peerRow(row cache.PeerRow) source.Row {
	out := make(source.Row, len(row))
	for column, value := range row {
		switch value := value.(type) {
		case string:
			out[column] = dbrow.Text(value)
		case json.Number:
			out[column] = dbrow.Int(row.Number(column))
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
