// Package treeref moves a ref that names a tree of the whole repository, such as the cache, from one tree to the next, and keeps rows of
// another engine's tables in such a tree.
//
// The ref points at a commit without parents: only its newest tree matters. It moves by compare-and-swap, and belongs to no run.
package treeref

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Ref is a ref of a store's repository that names a tree. It is safe for concurrent use.
type Ref struct {
	Store   *timeline.Store
	Name    refs.Name
	Message string // of its commits
}

// Root returns the newest commit of the ref and its tree. Both are zero if the repository does not have the ref yet.
func (r Ref) Root(ctx context.Context) (commit, tree objstore.ID, err error) {
	commit, err = r.Store.Refs().Resolve(ctx, r.Name)
	if errors.Is(err, refs.ErrNotFound) {
		return commit, tree, nil
	}
	if err == nil {
		tree, err = timeline.CommitTree(r.Store.Objects(), commit)
	}
	return commit, tree, err
}

// Update replaces the tree by the one that build returns for it. If another process moves the ref first, Update calls build again. If the
// tree stays as it is, Update writes nothing. root is zero if the repository does not have the ref yet. If Update returns nil, the tree is
// stored as durably as a frame. The errors of build are returned unchanged.
func (r Ref) Update(ctx context.Context, build func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error)) error {
	for try := 1; ; try++ {
		commit, root, err := r.Root(ctx)
		if err != nil {
			return timeline.Explain(err)
		}
		batch := r.Store.Objects().Begin()
		tree, err := build(batch, root)
		if err != nil || tree == root {
			return err
		}
		next := batch.Add(objstore.Commit, r.encode(tree))
		err = r.Store.Commit(ctx, batch, []refs.Update{{Name: r.Name, Old: commit, New: next}})
		if fault.CodeOf(err) != fault.Conflict {
			return err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return err
		}
	}
}

// encode returns the content of a commit without parents that has a tree, with the date of the store's clock.
func (r Ref) encode(tree objstore.ID) []byte {
	at := strconv.FormatInt(r.Store.Now().Unix(), 10)
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, who := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s %s %s +0000\n", who, objstore.Author, at)
	}
	b.WriteString("\n" + r.Message + "\n")
	return b.Bytes()
}

// Index brings a table of the index up to date. rows returns the rows of a tree; Index calls it only if the table has those of another tree.
func (r Ref) Index(ctx context.Context, index *sqliteindex.Index, table string, columns []string, rows func(tree objstore.ID) ([][]any, error)) error {
	commit, tree, err := r.Root(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	name := ""
	if !commit.IsZero() {
		name = commit.String()
	}
	return timeline.Explain(index.SetRepositoryRows(ctx, sqliteindex.RepositoryTable{Name: table, Columns: columns}, name, func() ([][]any, error) {
		if tree.IsZero() {
			return nil, nil
		}
		return rows(tree)
	}))
}

// Value returns what p points to for a column that may be NULL.
func Value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Text returns a text for a column in which "" is NULL.
func Text(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Entries returns the entries of a tree; none for the zero id.
func Entries(r objstore.Reader, tree objstore.ID) ([]objstore.TreeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	return objstore.ReadTree(r, tree)
}

// Folder returns the folder with a name in a tree; zero if the tree has none, or is zero.
func Folder(r objstore.Reader, tree objstore.ID, name string) (objstore.ID, error) {
	entries, err := Entries(r, tree)
	if at, ok := objstore.FindEntry(entries, name); ok && at.Mode == objstore.ModeTree {
		return at.ID, nil
	}
	return objstore.ID{}, err
}

// With adds a copy of a tree with another entry of the same name to w, or without that entry if its id is zero. The tree may be zero. With returns
// zero if no entry is left.
func With(w objstore.Writer, tree objstore.ID, with objstore.TreeEntry) (objstore.ID, error) {
	entries, err := Entries(w, tree)
	if err != nil {
		return tree, err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e objstore.TreeEntry) bool { return e.Name == with.Name })
	if !with.ID.IsZero() {
		entries = append(entries, with)
	}
	if len(entries) == 0 {
		return objstore.ID{}, nil
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(entries)), nil
}
