package jjbridge

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// StagedAlone returns the files whose content only the user's index has: among the files that differ between the trees head
// and to, and conflicts, the files whose entry in the index equals neither the entry in head, nor the entry in to, nor the file in the
// working copy.
func (w *Workspace) StagedAlone(ctx context.Context, head, to objstore.ID, conflicts []string) ([]string, error) {
	out, err := w.userIndex(ctx, nil, "-c", "diff.autoRefreshIndex=true", "diff", "--name-only", "--no-ext-diff", "--ignore-submodules=all", "-z")
	if err != nil || len(out) == 0 {
		return nil, err
	}
	differ := splitPaths(out)
	if out, err = w.RunGit(ctx, diffTreeArgs(head.String(), to.String())...); err != nil {
		return nil, err
	}
	edits, err := parseEdits(out)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]edit)
	for _, path := range conflicts {
		versions[path] = edit{path: path}
	}
	for _, e := range edits {
		versions[e.path] = e
	}
	if !slices.ContainsFunc(differ, func(path string) bool { return versions[path].path != "" }) {
		return nil, nil
	}
	if out, err = w.RunGit(ctx, "ls-files", "--stage", "-z", "--full-name", "--", ":/"); err != nil {
		return nil, err
	}
	var alone []string
	for _, line := range splitPaths(out) {
		info, path, _ := strings.Cut(line, "\t")
		known, fields := versions[path], strings.Fields(info)
		if known.path == "" || len(fields) != 3 || fields[2] != "0" || !slices.Contains(differ, path) {
			continue
		}
		file, err := parseTreeFile(fields[0], fields[1])
		if err != nil {
			return nil, err
		}
		if file != known.from && file != known.to {
			alone = append(alone, path)
		}
	}
	return alone, nil
}
