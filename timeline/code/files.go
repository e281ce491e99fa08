package code

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// ChangedFiles lists the files that differ between two trees, sorted by path. under is the path of a file or folder
// to which the list is limited; "" means all. ChangedFiles reads no tree that is the same in both, and no tree
// outside under. A zero id is an empty tree. If too many paths differ, the error wraps objstore.ErrTreeSize.
func ChangedFiles(ctx context.Context, r objstore.Reader, from, to objstore.ID, under string) ([]jjbridge.PathChange, error) {
	c := comparison{r: r}
	err := c.trees(ctx, from, to, "", under)
	slices.SortFunc(c.changes, func(a, b jjbridge.PathChange) int { return strings.Compare(a.Path, b.Path) })
	return c.changes, err
}

// CheckChanges returns limit_exceeded if two trees of captured files differ in more paths than one tree may have.
// Call it before git lists the differences.
func CheckChanges(ctx context.Context, s *timeline.Store, from, to objstore.ID) error {
	return timeline.Explain(objstore.CheckChanges(ctx, s.Objects(), from, to))
}

// comparison collects the changed paths of two trees.
type comparison struct {
	r        objstore.Reader
	measured bool // the number of changes is known to be within the limit
	changes  []jjbridge.PathChange
}

// trees compares two trees at the path prefix, which is "" or ends with a slash.
func (c *comparison) trees(ctx context.Context, from, to objstore.ID, prefix, under string) error {
	if from == to {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if under == "" && !c.measured {
		if err := objstore.CheckChanges(ctx, c.r, from, to); err != nil {
			return err
		}
		c.measured = true
	}
	before, err := c.entries(from)
	if err != nil {
		return err
	}
	after, err := c.entries(to)
	if err != nil {
		return err
	}
	name, below, _ := strings.Cut(under, "/")
	both := maps.Clone(before)
	maps.Copy(both, after)
	for entry := range both {
		if name != "" && entry != name {
			continue
		}
		if err := c.entry(ctx, before[entry], after[entry], prefix+entry, below); err != nil {
			return err
		}
	}
	return nil
}

// entries reads the entries of a tree, by name. The zero id has none.
func (c *comparison) entries(tree objstore.ID) (map[string]objstore.TreeEntry, error) {
	out := make(map[string]objstore.TreeEntry)
	if tree.IsZero() {
		return out, nil
	}
	list, err := objstore.ReadForeignTree(c.r, tree)
	for _, e := range list {
		out[e.Name] = e
	}
	return out, err
}

// entry compares the entries at one path, each a file, a folder or, if it is zero, missing.
func (c *comparison) entry(ctx context.Context, from, to objstore.TreeEntry, path, under string) error {
	var fromTree, toTree objstore.ID
	if from.Mode == objstore.ModeTree {
		fromTree, from = from.ID, objstore.TreeEntry{}
	}
	if to.Mode == objstore.ModeTree {
		toTree, to = to.ID, objstore.TreeEntry{}
	}
	if under == "" && (from.ID != to.ID || from.Mode != to.Mode) {
		change := jjbridge.PathChange{Path: path, Op: jjbridge.OpModify}
		switch {
		case from.ID.IsZero():
			change.Op = jjbridge.OpAdd
		case to.ID.IsZero():
			change.Op = jjbridge.OpRemove
		}
		c.changes = append(c.changes, change)
	}
	return c.trees(ctx, fromTree, toTree, path+"/", under)
}

// FilesAt reports whether a tree has anything at a path.
func FilesAt(ctx context.Context, r objstore.Reader, tree objstore.ID, path string) (bool, error) {
	names := strings.Split(path, "/")
	c := comparison{r: r}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		entries, err := c.entries(tree)
		if err != nil {
			return false, err
		}
		entry, ok := entries[name]
		if !ok || i < len(names)-1 && entry.Mode != objstore.ModeTree {
			return false, nil
		}
		tree = entry.ID
	}
	return true, nil
}
