// Package vectors keeps the rows of Smithers' table _smithers_vectors that came with imports. Nothing here searches them.
//
// The rows are in the tree of a commit without parents, which the ref refs/smithers/_vectors names: a file of JSON each. The ref moves by
// compare-and-swap, and no push carries it.
package vectors

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// columns are those of the table.
var columns = []string{"id", "namespace", "content", "embedding", "dimensions", "metadata_json", "document_id", "chunk_index", "created_at_ms"}

// Table is the vectors of a store's repository. It is safe for concurrent use.
type Table struct{ treeref.Rows }

// Of returns the vectors of a store's repository. It reads nothing.
func Of(s *timeline.Store) Table {
	return Table{treeref.Rows{Ref: treeref.Ref{Store: s, Name: refs.Vectors, Message: "vectors of another engine"}, Key: "id"}}
}

// Index brings the table _smithers_vectors of the index up to date.
func (t Table) Index(ctx context.Context, index *sqliteindex.Index) error {
	return t.Ref.Index(ctx, index, "_smithers_vectors", columns, func(tree objstore.ID) ([][]any, error) {
		rows, err := t.In(tree)
		out := make([][]any, len(rows))
		for i, row := range rows {
			out[i] = row.Values(columns)
		}
		return out, err
	})
}
