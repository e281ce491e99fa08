// Package vectors keeps the rows of Smithers' table _smithers_vectors that came with imports. Nothing here searches them.
//
// The rows are in the tree of a commit without parents, which the ref refs/smithers/_vectors names: a file of JSON each. The ref moves by
// compare-and-swap, and no push carries it.
package vectors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/peerrow"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// key is the column with the key of a row.
const key = "id"

// columns are those of the table.
var columns = []string{key, "namespace", "content", "embedding", "dimensions", "metadata_json", "document_id", "chunk_index", "created_at_ms"}

// Table is the vectors of a store's repository. It is safe for concurrent use.
type Table struct{ ref treeref.Ref }

// Of returns the vectors of a store's repository. It reads nothing.
func Of(s *timeline.Store) *Table {
	return &Table{treeref.Ref{Store: s, Name: refs.Vectors, Message: "vectors of another engine"}}
}

// Add adds rows, in the place of earlier rows with the same ids. A row without an id, or that is too large, is left out.
func (t *Table) Add(ctx context.Context, rows []peerrow.Row) error {
	return timeline.Explain(t.ref.Update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		var files []objstore.TreeEntry
		if !root.IsZero() {
			var err error
			if files, err = objstore.ReadTree(batch, root); err != nil {
				return root, err
			}
		}
		byName := make(map[string]objstore.TreeEntry, len(files)+len(rows))
		for _, f := range files {
			byName[f.Name] = f
		}
		for _, row := range rows {
			text, ok := row.Encode()
			if id := row.Text(key); ok && id != "" {
				sum := sha256.Sum256([]byte(id))
				name := hex.EncodeToString(sum[:]) + ".json"
				byName[name] = objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: batch.Add(objstore.Blob, text)}
			}
		}
		if len(byName) == 0 {
			return root, nil
		}
		files = files[:0:0]
		for _, f := range byName {
			files = append(files, f)
		}
		return batch.Add(objstore.Tree, objstore.EncodeTree(files)), nil
	}))
}

// All returns the rows, sorted by their ids. It leaves out a file that is not such a row.
func (t *Table) All(ctx context.Context) ([]peerrow.Row, error) {
	_, tree, err := t.ref.Root(ctx)
	if err != nil || tree.IsZero() {
		return nil, timeline.Explain(err)
	}
	rows, err := t.in(tree)
	return rows, timeline.Explain(err)
}

// in returns the rows in a tree.
func (t *Table) in(tree objstore.ID) ([]peerrow.Row, error) {
	objects := t.ref.Store.Objects()
	files, err := objstore.ReadTree(objects, tree)
	if err != nil {
		return nil, err
	}
	var rows []peerrow.Row
	for _, f := range files {
		text, err := objstore.GetBlob(objects, f.ID, peerrow.MaxRow)
		if err != nil {
			return nil, err
		}
		if row, ok := peerrow.Decode(text); ok && row.Text(key) != "" {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b peerrow.Row) int { return cmp.Compare(a.Text(key), b.Text(key)) })
	return rows, nil
}

// Index brings the table _smithers_vectors of the index up to date.
func (t *Table) Index(ctx context.Context, index *sqliteindex.Index) error {
	commit, tree, err := t.ref.Root(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(index.SetRepositoryRows(ctx, sqliteindex.RepositoryTable{Name: "_smithers_vectors", Columns: columns}, treeref.NameOf(commit),
		func() ([][]any, error) {
			if tree.IsZero() {
				return nil, nil
			}
			rows, err := t.in(tree)
			out := make([][]any, len(rows))
			for i, row := range rows {
				for _, column := range columns {
					out[i] = append(out[i], row.Value(column))
				}
			}
			return out, err
		}))
}
