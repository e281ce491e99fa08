package treeref

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// Rows are rows of a table of another engine, a file of JSON each, in a folder of a ref's tree.
type Rows struct {
	Ref

	Folder string // its name in the tree; "" is the tree itself
	Key    string // the column with the key of a row
}

// FileOf returns the name of the file for a key, which may have any characters.
func FileOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:]) + ".json"
}

// Add adds rows, in the place of earlier rows with the same keys. A row without a key, or that is too large, is left out.
func (r Rows) Add(ctx context.Context, rows []Row) error {
	return timeline.Explain(r.Update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		folder, err := r.folder(batch, root)
		if err != nil {
			return root, err
		}
		files, err := Entries(batch, folder)
		if err != nil {
			return root, err
		}
		ids := make(map[string]objstore.ID, len(files)+len(rows))
		for _, f := range files {
			ids[f.Name] = f.ID
		}
		for _, row := range rows {
			text, ok := row.Encode()
			if key := row.Text(r.Key); ok && key != "" {
				ids[FileOf(key)] = batch.Add(objstore.Blob, text)
			}
		}
		if len(ids) == 0 {
			return root, nil
		}
		files = files[:0:0]
		for name, id := range ids {
			files = append(files, objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: id})
		}
		folder = batch.Add(objstore.Tree, objstore.EncodeTree(files))
		if r.Folder == "" {
			return folder, nil
		}
		return With(batch, root, objstore.TreeEntry{Name: r.Folder, Mode: objstore.ModeTree, ID: folder})
	}))
}

// All returns the rows, sorted by their keys. It leaves out a file that is not such a row.
func (r Rows) All(ctx context.Context) ([]Row, error) {
	_, tree, err := r.Root(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	rows, err := r.In(tree)
	return rows, timeline.Explain(err)
}

// In returns the rows in a tree of the ref, as All does.
func (r Rows) In(tree objstore.ID) ([]Row, error) {
	objects := r.Store.Objects()
	folder, err := r.folder(objects, tree)
	if err != nil {
		return nil, err
	}
	files, err := Entries(objects, folder)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, f := range files {
		text, err := objstore.GetBlob(objects, f.ID, maxRow)
		if errors.Is(err, objstore.ErrNotFound) {
			return nil, err
		}
		if row, ok := decodeRow(text); err == nil && ok && row.Text(r.Key) != "" {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Text(r.Key), b.Text(r.Key)) })
	return rows, nil
}

// folder returns the folder of the rows in a tree of the ref; zero if there is none.
func (r Rows) folder(objects objstore.Reader, tree objstore.ID) (objstore.ID, error) {
	if r.Folder == "" {
		return tree, nil
	}
	return Folder(objects, tree, r.Folder)
}
