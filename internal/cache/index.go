package cache

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// columns are those of the table _smithers_cache: Smithers' own, then ours.
var columns = []string{
	"cache_key", "created_at_ms", "workflow_name", "node_id", "output_table", "schema_sig", "payload_json", "agent_sig", "tools_sig", "jj_pointer",
	"run_id", "frame_no", "iteration", "attempt", "took_ms", "bytes", "files", "parts_json",
}

// Index brings the table _smithers_cache of the index up to date. It leaves out entries that were altered.
func (c *Cache) Index(ctx context.Context, index *sqliteindex.Index) error {
	commit, tree, err := c.ref().Root(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(index.SetRepositoryRows(ctx, sqliteindex.RepositoryTable{Name: "_smithers_cache", Columns: columns}, treeref.NameOf(commit),
		func() ([][]any, error) { return c.rows(tree) }))
}

// rows returns the entries in a tree as rows of the index.
func (c *Cache) rows(tree objstore.ID) ([][]any, error) {
	if tree.IsZero() {
		return nil, nil
	}
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
	peer, err := c.peerIn(tree)
	for _, row := range peer {
		values := make([]any, len(columns)) // NULL in those of ours
		for i, column := range columns[:10] {
			values[i] = row.Value(column)
		}
		rows = append(rows, values)
	}
	return rows, err
}

// optional returns a text that is NULL if it is "".
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// row returns the entry as a row of the index.
func (e *Entry) row() []any {
	parts, _ := json.Marshal(e.Key) //nolint:errchkjson // texts encode always
	payload := "null"
	if e.Output != nil {
		payload = string(e.Output)
	}
	return []any{
		e.Sum, e.CreatedAtMs, e.Workflow(), e.Node(), e.Table, e.SchemaSig, payload, optional(e.Key[PartModel]), optional(e.Key[PartTools]), nil,
		e.Run, e.Frame, e.Iteration, e.Attempt, e.TookMs, e.Bytes, len(e.Files), string(parts),
	}
}
