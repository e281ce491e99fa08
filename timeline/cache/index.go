package cache

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Index brings the table _smithers_cache of the index up to date. It leaves out entries that were altered.
func (c *Cache) Index(ctx context.Context, index *sqliteindex.Index) error {
	commit, tree, err := c.root(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	name := ""
	if !commit.IsZero() {
		name = commit.String()
	}
	return timeline.Explain(index.SetCache(ctx, name, func() ([]sqliteindex.CacheRow, error) {
		var rows []sqliteindex.CacheRow
		if tree.IsZero() {
			return nil, nil
		}
		err := c.walk(tree, func(sum string, folder objstore.ID) error {
			e, err := decode(c.store.Objects(), nil, sum, folder, true)
			if err == nil {
				rows = append(rows, e.row())
			} else if errors.Is(err, ErrAltered) {
				err = nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		peer, err := c.peerIn(tree)
		for _, row := range peer {
			rows = append(rows, row.row())
		}
		return rows, err
	}))
}

// row returns the entry as a row of the index.
func (e *Entry) row() sqliteindex.CacheRow {
	parts, _ := json.Marshal(e.Key) //nolint:errchkjson // texts encode always
	payload := "null"
	if e.Output != nil {
		payload = string(e.Output)
	}
	return sqliteindex.CacheRow{
		Key: e.Sum, CreatedAtMs: e.CreatedAtMs, Workflow: e.Workflow(), NodeID: e.Node(), Table: e.Table, SchemaSig: e.SchemaSig,
		Payload: payload, RunID: e.Run, Frame: e.Frame, Iteration: e.Iteration, Attempt: e.Attempt, TookMs: e.TookMs, Bytes: e.Bytes,
		Files: len(e.Files), Parts: string(parts),
	}
}

// row returns the row of another engine as a row of the index.
func (r PeerRow) row() sqliteindex.CacheRow {
	orNil := func(column string) any {
		if text, ok := r[column].(string); ok {
			return text
		}
		return nil
	}
	return sqliteindex.CacheRow{
		Peer: true, Key: r.Key(), CreatedAtMs: r.Number("created_at_ms"), Workflow: r.Text("workflow_name"), NodeID: r.Text("node_id"),
		Table: r.Text("output_table"), SchemaSig: r.Text("schema_sig"), Payload: r.Text("payload_json"),
		Agent: orNil("agent_sig"), Tools: orNil("tools_sig"), Pointer: orNil("jj_pointer"),
	}
}
