package cache

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/peerrow"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// peerFolder is the folder of the tree that has the rows of Smithers' cache.
const peerFolder = "smithers"

// peerKey is the column with the key of a row.
const peerKey = "cache_key"

// AddPeer adds rows of another engine's cache, in the place of earlier rows with the same keys. A row without a key, or that is too large,
// is left out.
func (c *Cache) AddPeer(ctx context.Context, rows []peerrow.Row) error {
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
			text, ok := row.Encode()
			if key := row.Text(peerKey); ok && key != "" {
				byName[Digest([]byte(key))+".json"] = batch.Add(objstore.Blob, text)
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
		return batch.Add(objstore.Tree, objstore.EncodeTree(treeref.Replaced(top, objstore.TreeEntry{Name: peerFolder, Mode: objstore.ModeTree, ID: folder}))), nil
	})
}

// Peer returns the rows of another engine's cache, in the order of their keys. It leaves out a file that is not such a row.
func (c *Cache) Peer(ctx context.Context) ([]peerrow.Row, error) {
	_, tree, err := c.ref().Root(ctx)
	if err != nil || tree.IsZero() {
		return nil, timeline.Explain(err)
	}
	rows, err := c.peerIn(tree)
	return rows, timeline.Explain(err)
}

// peerIn returns the rows of another engine's cache in a tree of the cache.
func (c *Cache) peerIn(tree objstore.ID) ([]peerrow.Row, error) {
	folder, err := treeref.Folder(c.store.Objects(), tree, peerFolder)
	if err != nil || folder.IsZero() {
		return nil, err
	}
	files, err := objstore.ReadTree(c.store.Objects(), folder)
	if err != nil {
		return nil, err
	}
	var rows []peerrow.Row
	for _, f := range files {
		text, err := readBlob(c.store.Objects(), f.ID, peerrow.MaxRow)
		if errors.Is(err, objstore.ErrNotFound) {
			return nil, err
		}
		if err != nil {
			continue
		}
		if row, ok := peerrow.Decode(text); ok && row.Text(peerKey) != "" {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b peerrow.Row) int { return cmp.Compare(a.Text(peerKey), b.Text(peerKey)) })
	return rows, nil
}
