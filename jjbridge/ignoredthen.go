package jjbridge

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ignoreFile is the name of the files that list patterns of files for git and jj to ignore.
const ignoreFile = ".gitignore"

// ignored returns the files that p would remove and that the .gitignore files of p.To ignore. The capture of p.To may
// have left these files out, so p must not remove them. They stay even if the frame that is saved first has them with the same bytes:
// `git rm --cached f` with an ignore rule for f keeps the file for the programs that need it, and the capture of p.To cannot tell this
// from `git rm f`. A file that is too many does less harm than one that is missing. Unless even is true, ignored does not return files in git's index,
// because a capture takes such a file even if it is ignored. If p writes no .gitignore file, the result is nil.
func (p *Plan) ignored(ctx context.Context, w *Workspace, even bool) ([]snapshot.LeftOut, error) {
	var ask bytes.Buffer
	for _, e := range p.edits {
		if !e.to.exists() && !e.from.isModule() {
			ask.WriteString("./" + e.path + "\x00")
		}
	}
	changed := slices.ContainsFunc(p.edits, func(e edit) bool { return e.to.exists() && path.Base(e.path) == ignoreFile })
	if !changed || ask.Len() == 0 {
		return nil, nil
	}
	temp := filepath.Join(w.Repo.CommonDir, "smithers", "tmp")
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(temp, "ignore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover folder does no harm
	err = p.withTrees(w, func(objects objstore.Reader) error {
		return writeIgnoreFiles(ctx, objects, dir, p.To)
	})
	if err != nil {
		return nil, err
	}
	then := *w
	then.Root = dir
	args := []string{"check-ignore", "-z", "--stdin"}
	if even || w.Type == snapshot.VCSJJ {
		args = append(args, "--no-index") // in a jj workspace, git's index has all files that jj has seen
	}
	// git exits with status 1 if no file is ignored. So every error counts as no ignored file, unless ctx has ended.
	out, err := then.gitWith(ctx, gitRun{args: args, stdin: &ask})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	var ignored []snapshot.LeftOut
	for _, name := range splitPaths(out) {
		ignored = append(ignored, snapshot.LeftOut{Path: path.Clean(name)})
	}
	return ignored, nil
}

// writeIgnoreFiles writes the .gitignore files of tree into dir, each into the same folder as in tree. If tree
// has more than maxIgnoreFiles such files, the error is an *objstore.TreeSizeError.
func writeIgnoreFiles(ctx context.Context, objects objstore.Reader, dir string, tree objstore.ID) error {
	files := ignoreFiles{objects: objects, none: make(map[objstore.ID]bool)}
	return files.write(ctx, dir, tree)
}

const (
	// maxIgnoreFiles is the largest number of .gitignore files in one tree.
	maxIgnoreFiles = 100_000
	// maxIgnoreBytes is the size in bytes above which git ignores a .gitignore file.
	maxIgnoreBytes = 100 << 20
)

// ignoreFiles writes the .gitignore files of one tree.
type ignoreFiles struct {
	objects objstore.Reader
	none    map[objstore.ID]bool // the trees without a .gitignore file at any depth
	written int                  // the number of files written so far
}

// write writes the .gitignore files of tree, at all depths, into dir. It skips folders with a name that a restore never
// writes. It adds a tree without a .gitignore file to f.none, and skips a tree in f.none.
func (f *ignoreFiles) write(ctx context.Context, dir string, tree objstore.ID) error {
	if f.none[tree] {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	before := f.written
	entries, err := objstore.ReadForeignTree(f.objects, tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.Mode == objstore.ModeTree && badPath(e.Name) == "":
			err = f.write(ctx, filepath.Join(dir, e.Name), e.ID)
		case e.Name == ignoreFile && (e.Mode == objstore.ModeFile || e.Mode == objstore.ModeExecutable):
			err = f.writeFile(dir, tree, e.ID)
		}
		if err != nil {
			return err
		}
	}
	f.none[tree] = f.written == before
	return nil
}

// writeFile writes the blob with the given id as the .gitignore file of the folder dir, and creates the folder
// if necessary. More than maxIgnoreFiles files, or a blob of more than maxIgnoreBytes, are an error. tree is
// the id of the folder's tree, for the error about too many files.
func (f *ignoreFiles) writeFile(dir string, tree, id objstore.ID) error {
	if f.written++; f.written > maxIgnoreFiles {
		return &objstore.TreeSizeError{ID: tree, Reason: fmt.Sprintf("more than %d %s files", maxIgnoreFiles, ignoreFile)}
	}
	data, err := objstore.GetBlob(f.objects, id, maxIgnoreBytes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ignoreFile), data, 0o666)
}
