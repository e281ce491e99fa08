package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// peerFolder is the folder of the tree that has the rows of Smithers' cache.
const peerFolder = "smithers"

// maxPeerRow is the largest row of another engine's cache, as JSON, in bytes.
const maxPeerRow = 16 << 20

// PeerRow is a row of Smithers' table _smithers_cache, which came with a database: its texts, json.Numbers and nils by column. No task of
// ours takes its result, because its key says less than a key of ours.
type PeerRow map[string]any

// Key returns the key of the row; "" if it has none.
func (r PeerRow) Key() string { return r.Text("cache_key") }

// Text returns the text in a column; "" if the column has none.
func (r PeerRow) Text(column string) string {
	text, _ := r[column].(string)
	return text
}

// Number returns the integer in a column; 0 if the column has none.
func (r PeerRow) Number(column string) int64 {
	digits, _ := r[column].(json.Number)
	n, _ := digits.Int64()
	return n
}

// AddPeer adds rows of another engine's cache, in the place of earlier rows with the same keys. A row without a key, or that is too large,
// is left out.
func (c *Cache) AddPeer(ctx context.Context, rows []PeerRow) error {
	return c.update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		var top, files []objstore.TreeEntry
		var err error
		if !root.IsZero() {
			if top, err = objstore.ReadTree(batch, root); err != nil {
				return root, err
			}
		}
		if at, ok := objstore.FindEntry(top, peerFolder); ok {
			if files, err = objstore.ReadTree(batch, at.ID); err != nil {
				return root, err
			}
		}
		byName := make(map[string]objstore.ID, len(files)+len(rows))
		for _, f := range files {
			byName[f.Name] = f.ID
		}
		for _, row := range rows {
			text, err := json.Marshal(row)
			if err == nil && row.Key() != "" && len(text) <= maxPeerRow {
				byName[Digest([]byte(row.Key()))+".json"] = batch.Add(objstore.Blob, text)
			}
		}
		if len(byName) == 0 {
			return root, nil
		}
		files = files[:0:0]
		for name, id := range byName {
			files = append(files, objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: id})
		}
		folder := batch.Add(objstore.Tree, objstore.EncodeTree(files))
		return batch.Add(objstore.Tree, objstore.EncodeTree(replaced(top, peerFolder, folder))), nil
	})
}

// Peer returns the rows of another engine's cache, in the order of their keys. It leaves out a file that is not such a row.
func (c *Cache) Peer(ctx context.Context) ([]PeerRow, error) {
	_, tree, err := c.root(ctx)
	if err != nil || tree.IsZero() {
		return nil, timeline.Explain(err)
	}
	rows, err := c.peerIn(tree)
	return rows, timeline.Explain(err)
}

// peerIn returns the rows of another engine's cache in a tree of the cache.
func (c *Cache) peerIn(tree objstore.ID) ([]PeerRow, error) {
	folder, err := folderIn(c.store.Objects(), tree, peerFolder)
	if err != nil || folder.IsZero() {
		return nil, err
	}
	files, err := objstore.ReadTree(c.store.Objects(), folder)
	if err != nil {
		return nil, err
	}
	var rows []PeerRow
	for _, f := range files {
		text, err := readBlob(c.store.Objects(), f.ID, maxPeerRow)
		if errors.Is(err, objstore.ErrNotFound) {
			return nil, err
		}
		var row PeerRow
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err == nil && dec.Decode(&row) == nil && row.Key() != "" {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b PeerRow) int { return bytes.Compare([]byte(a.Key()), []byte(b.Key())) })
	return rows, nil
}
