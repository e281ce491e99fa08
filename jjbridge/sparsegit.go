package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
)

// skip makes those entries of the index that stand for files outside of a sparse checkout
// what edits make of them, without writing a file. It tells whether there were any.
func (g *filesGit) skip(ctx context.Context, edits []edit) (bool, error) {
	if _, err := lstat(filepath.Join(g.w.Repo.GitDir, "info", "sparse-checkout")); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	index, err := readIndex(g.index.path())
	if err != nil {
		return false, err
	}
	var entries, skipped bytes.Buffer
	for _, e := range edits {
		i, found := index.find(e.path)
		if !found || index.entries[i].more&flagSkip == 0 {
			continue
		}
		// Without a mode it removes the entry.
		fmt.Fprintf(&entries, "%o %v\t%s\x00", e.to.mode, e.idAfter(), e.path)
		if e.to.exists() {
			skipped.WriteString(e.path + "\x00")
		}
	}
	if entries.Len() == 0 {
		return false, nil
	}
	if _, err := g.runWith(ctx, &entries, "update-index", "-z", "--index-info"); err != nil {
		return false, err
	}
	_, err = g.runWith(ctx, &skipped, "update-index", "-z", "--skip-worktree", "--stdin")
	return true, err
}

// idAfter is the id that e has afterwards, or before where it has none.
func (e edit) idAfter() objstore.ID {
	if e.to.exists() {
		return e.to.id
	}
	return e.from.id
}
