package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ignoreFile is the name of the files that say what git and jj do not look at.
const ignoreFile = ".gitignore"

// ignoredIn are the files that plan would remove and that the .gitignore files of plan.To
// name, so that they may have been there when it was captured. What git's index has is
// captured although it is ignored.
func (w *Workspace) ignoredIn(ctx context.Context, plan *Plan) ([]snapshot.LeftOut, error) {
	var ask bytes.Buffer
	for _, e := range plan.edits {
		if !e.to.exists() && !e.from.isModule() {
			ask.WriteString("./" + e.path + "\x00")
		}
	}
	changed := slices.ContainsFunc(plan.edits, func(e edit) bool { return e.to.exists() && path.Base(e.path) == ignoreFile })
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
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the way of nothing
	if err := w.writeIgnoreFiles(dir, plan.To); err != nil {
		return nil, err
	}
	then := *w
	then.Root = dir
	args := []string{"check-ignore", "-z", "--stdin"}
	if w.Type == snapshot.VCSJJ {
		args = append(args, "--no-index") // jj has its own, in which whatever it has seen stays
	}
	// An exit status of 1 says that none is.
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

// writeIgnoreFiles writes into dir the .gitignore files of a tree.
func (w *Workspace) writeIgnoreFiles(dir string, tree objstore.ID) (err error) {
	objects, err := w.openObjects()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	return writeIgnoreFilesOf(objects, dir, tree)
}

func writeIgnoreFilesOf(objects objstore.Reader, dir string, tree objstore.ID) error {
	entries, err := objstore.ReadTree(objects, tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.Mode == objstore.ModeTree && badPath(e.Name) == "":
			err = writeIgnoreFilesOf(objects, filepath.Join(dir, e.Name), e.ID)
		case e.Name == ignoreFile && (e.Mode == objstore.ModeFile || e.Mode == objstore.ModeExecutable):
			var data []byte
			if data, err = objstore.GetKind(objects, e.ID, objstore.Blob); err != nil {
				break
			}
			if err = os.MkdirAll(dir, 0o777); err == nil {
				err = os.WriteFile(filepath.Join(dir, ignoreFile), data, 0o666)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
