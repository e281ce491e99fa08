package jjbridge

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// embeddedInJJ returns the folders of repositories inside a jj working copy, each with a final slash. jj leaves out
// such repositories without a message. Ignored folders are not searched.
func embeddedInJJ(ctx context.Context, w *Workspace) ([]string, error) {
	out, err := w.gitWith(ctx, gitRun{
		// No index exists at this path, so git lists every file that is not ignored.
		args: []string{"ls-files", "-z", "--others", "--exclude-standard", "--exclude=/.jj"},
		env:  []string{"GIT_INDEX_FILE=" + w.full(".jj/no-index")},
	})
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, path := range splitPaths(out) {
		folder, ok := repositoryOf(path)
		if ok && (len(folders) == 0 || folders[len(folders)-1] != folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// repositoryOf returns the folder of the nested repository to which path belongs, with a final slash. path is a path
// that git lists as untracked. For a nested git repository, git lists only one path, which ends in a slash. For a
// nested jj repository, git lists the files one by one, and repositoryOf recognizes only the files in its .jj folder.
// For any other path, ok is false.
func repositoryOf(path string) (folder string, ok bool) {
	if at := strings.Index(path, "/.jj/"); at >= 0 {
		return path[:at+1], true
	}
	return path, strings.HasSuffix(path, "/")
}

// addEmbedded records each nested repository in folders as left out, unless it is a submodule of tree.
func (l *leftOuts) addEmbedded(objects objstore.Reader, tree objstore.ID, folders []string) {
	for _, folder := range folders {
		if !isSubmodule(objects, tree, strings.TrimSuffix(folder, "/")) {
			l.add(folder, snapshot.LeftEmbedded, 0)
		}
	}
}

// isSubmodule reports whether tree has a submodule at path. It returns false if tree or a tree below it cannot be read.
func isSubmodule(objects objstore.Reader, tree objstore.ID, path string) bool {
	name, rest, inner := strings.Cut(path, "/")
	entries, err := objstore.ReadTree(objects, tree)
	if err != nil {
		return false
	}
	e, ok := objstore.FindEntry(entries, name)
	switch {
	case !ok:
		return false
	case inner:
		return e.Mode == objstore.ModeTree && isSubmodule(objects, e.ID, rest)
	}
	return e.Mode == objstore.ModeCommit
}
