package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// skip applies the edits of files outside of git's sparse checkout to the private index only. It writes no file in the
// working copy. It marks the edited entries skip-worktree again. skip returns true if edits has such files.
func (g *filesGit) skip(ctx context.Context, edits []edit) (bool, error) {
	if _, err := lstat(filepath.Join(g.w.Repo.GitDir, "info", "sparse-checkout")); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	listed, err := g.run(ctx, "ls-files", "-z", "-t")
	if err != nil {
		return false, err
	}
	outside := make(map[string]bool)
	for _, line := range splitPaths(listed) {
		// The tag S marks a file outside of the sparse checkout.
		if name, ok := strings.CutPrefix(line, "S "); ok {
			outside[name] = true
		}
	}
	var entries, skipped bytes.Buffer
	for _, e := range edits {
		if !outside[e.path] {
			continue
		}
		// A zero mode removes the entry.
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

// idAfter returns the id of the content that e gives to the file. If e removes the file, it returns the old id, because
// the input of git update-index --index-info has an id on every line.
func (e edit) idAfter() objstore.ID {
	if e.to.exists() {
		return e.to.id
	}
	return e.from.id
}

// sparseRefusals returns a refusal for each edit outside the sparse patterns of a jj workspace. If the
// workspace is not sparse, the result is nil.
func sparseRefusals(ctx context.Context, w *Workspace, edits []edit) ([]Refusal, error) {
	if len(edits) == 0 || !isSparse(w) {
		return nil, nil
	}
	out, _, err := w.RunJJ(ctx, "sparse", "list", "--ignore-working-copy")
	if err != nil {
		return nil, err
	}
	patterns := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var refused []Refusal
	for _, e := range edits {
		if !isBelowAny(e.path, patterns) {
			refused = append(refused, Refusal{e.path, "the path is outside the sparse patterns of the jj workspace"})
		}
	}
	return refused, nil
}

// isBelowAny reports whether the path name is one of folders, or is below one of folders. The folder "." contains all
// paths.
func isBelowAny(name string, folders []string) bool {
	for _, folder := range folders {
		if folder == "." || folder == name || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// isSparse reports whether the tree_state file of w has sparse patterns other than the whole working copy. If
// the file cannot be read, or has no patterns field, isSparse returns false.
func isSparse(w *Workspace) bool {
	data, err := os.ReadFile(filepath.Join(w.Root, ".jj", "working_copy", "tree_state"))
	if err != nil {
		return false
	}
	// field numbers of jj's protobuf messages TreeState and SparsePatterns
	const sparsePatterns, prefixes = 3, 1
	patterns, ok := stringField(data, sparsePatterns)
	if !ok {
		return false
	}
	// The prefix "" means the whole working copy.
	first, ok := stringField([]byte(patterns), prefixes)
	return !ok || first != ""
}
