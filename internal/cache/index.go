package cache

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// columns are those of the table _smithers_cache: Smithers' own, then ours.
var columns = []string{
	"cache_key", "created_at_ms", "workflow_name", "node_id", "output_table", "schema_sig", "payload_json", "agent_sig", "tools_sig", "jj_pointer",
	"run_id", "frame_no", "iteration", "attempt", "took_ms", "bytes", "files", "parts_json",
}

// Index brings the table _smithers_cache of the index up to date. It leaves out entries that were altered.
func (c *Cache) Index(ctx context.Context, index *sqliteindex.Index) error {
	return c.ref().Index(ctx, index, "_smithers_cache", columns, c.rows)
}

// rows returns the entries in a tree as rows of the index.
func (c *Cache) rows(tree objstore.ID) ([][]any, error) {
	var rows [][]any
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
	peer, err := c.Peer().In(tree)
	for _, row := range peer {
		rows = append(rows, append(row.Values(columns[:10]), make([]any, len(columns)-10)...)) // NULL in the columns of ours
	}
	return rows, err
}

// row returns the entry as a row of the index.
func (e *Entry) row() []any {
	parts, _ := json.Marshal(e.Key) //nolint:errchkjson // texts encode always
	payload := "null"
	if e.Output != nil {
		payload = string(e.Output)
	}
	return []any{
		e.Sum, e.CreatedAtMs, e.Workflow(), e.Node(), e.Table, e.SchemaSig, payload, treeref.Text(e.Key[PartModel]), treeref.Text(e.Key[PartTools]), nil,
		e.Run, e.Frame, e.Iteration, e.Attempt, e.TookMs, e.Bytes, len(e.Files), string(parts),
	}
}
