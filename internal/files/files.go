package files

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// ChangedFiles returns the files that differ between two trees, sorted by path. A zero id is an empty tree. The
// parameter under is a path: the result has only the files at or below this path; "" means all files. ChangedFiles
// reads no subtree that is equal in both trees, and no subtree outside of this path. If too many paths differ, the
// error wraps objstore.ErrTreeSize.
func ChangedFiles(ctx context.Context, r objstore.Reader, from, to objstore.ID, under string) ([]jjbridge.PathChange, error) {
	c := comparison{r: r}
	err := c.trees(ctx, from, to, "", under)
	slices.SortFunc(c.changes, func(a, b jjbridge.PathChange) int { return strings.Compare(a.Path, b.Path) })
	return c.changes, err
}

// CheckChanges returns limit_exceeded if two trees of captured files differ in more paths than one tree may have,
// and otherwise nil. Callers call CheckChanges before git lists the differences.
func CheckChanges(ctx context.Context, s *timeline.Store, from, to objstore.ID) error {
	return timeline.Explain(objstore.CheckChanges(ctx, s.Objects(), from, to))
}

// comparison collects the changed paths of two trees.
type comparison struct {
	r        objstore.Reader
	measured bool // the number of changes is within the limit
	changes  []jjbridge.PathChange
}

// trees compares the trees from and to, and appends the changes to c.changes. prefix is the path of both trees with a
// slash at the end, or "" at the top. The parameter under is a path relative to the trees: only files at or below
// this path are compared; "" means all files. Before the first comparison of all files, trees counts the paths that
// differ. If they are too many, the error is that of the count.
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

// entries returns the entries of a tree by name. The zero id has no entries.
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

// entry compares two tree entries at path, and then the files below path. It appends a change to c.changes if a file
// differs; a folder counts as no file. The entry from is in the earlier tree, and the entry to is in the later tree.
// The zero entry means that the tree has nothing at path. The parameter under is a path relative to path: only files
// at or below it are compared; "" means all files.
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

// HasPath reports whether a tree has a file or a folder at path. path is relative to the top of the tree, with slashes
// between the names.
func HasPath(ctx context.Context, r objstore.Reader, tree objstore.ID, path string) (bool, error) {
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
