package treeref

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// vectorColumns are those of the table _smithers_vectors.
var vectorColumns = []string{"id", "namespace", "content", "embedding", "dimensions", "metadata_json", "document_id", "chunk_index", "created_at_ms"}

// Vectors are the rows of Smithers' table _smithers_vectors that came with imports, in the tree of refs/smithers/_vectors. Nothing here searches
// them, and no push carries them.
type Vectors struct{ Rows }

// VectorsOf returns the vectors of a store's repository. It reads nothing.
func VectorsOf(s *timeline.Store) Vectors {
	return Vectors{Rows{Ref: Ref{Store: s, Name: refs.Vectors, Message: "vectors of another engine"}, Key: "id"}}
}

// Index brings the table _smithers_vectors of the index up to date.
func (v Vectors) Index(ctx context.Context, index *sqliteindex.Index) error {
	return v.Ref.Index(ctx, index, "_smithers_vectors", vectorColumns, func(tree objstore.ID) ([][]any, error) {
		rows, err := v.In(tree)
		out := make([][]any, len(rows))
		for i, row := range rows {
			out[i] = row.Values(vectorColumns)
		}
		return out, err
	})
}
