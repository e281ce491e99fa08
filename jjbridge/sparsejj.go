package jjbridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// sparseRefusals are the edits outside the paths that a sparse jj workspace has.
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
			refused = append(refused, Refusal{e.path, "it is outside the sparse patterns of the jj workspace"})
		}
	}
	return refused, nil
}

func isBelowAny(name string, folders []string) bool {
	for _, folder := range folders {
		if folder == "." || folder == name || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// isSparse reports whether jj wrote down that the workspace has not all paths. Where jj has
// changed how it writes, it is taken to have all.
func isSparse(w *Workspace) bool {
	data, err := os.ReadFile(filepath.Join(w.Root, ".jj", "working_copy", "tree_state"))
	if err != nil {
		return false
	}
	const sparsePatterns, prefixes = 3, 1
	patterns, ok := stringField(data, sparsePatterns)
	if !ok {
		return false
	}
	first, ok := stringField([]byte(patterns), prefixes)
	return !ok || first != ""
}
