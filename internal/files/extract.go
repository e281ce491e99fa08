package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// Extract writes the files of a tree into the folder dir, which exists and is empty, as the tree has them: no filter runs, line ends stay,
// and a submodule is an empty folder. Nothing is written outside dir. Extract syncs no file, because such a folder is made to be removed.
// Code: limit_exceeded if the tree has too many files.
func Extract(ctx context.Context, objects objstore.Reader, tree objstore.ID, dir string) error {
	files, err := jjbridge.FileEdits(ctx, objects, tree.Algorithm().EmptyTree(), tree, "")
	if err != nil {
		return timeline.Explain(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	made := make(map[string]bool)
	for _, f := range files {
		if err = ctx.Err(); err != nil {
			break
		}
		if err = extract(root, objects, f, made); err != nil {
			err = fmt.Errorf("%s: %w", f.Path, err)
			break
		}
	}
	return timeline.Explain(errors.Join(err, root.Close()))
}

// extract writes one file. made has the folders that exist already.
func extract(root *os.Root, objects objstore.Reader, f jjbridge.FileEdit, made map[string]bool) error {
	name := filepath.FromSlash(f.Path)
	if folder := path.Dir(f.Path); !made[folder] {
		if err := root.MkdirAll(filepath.FromSlash(folder), 0o777); err != nil {
			return err
		}
		made[folder] = true
	}
	if f.Now.Mode == objstore.ModeCommit {
		return root.Mkdir(name, 0o777)
	}
	data, err := objstore.GetKind(objects, f.Now.ID, objstore.Blob)
	if err != nil {
		return err
	}
	if f.Now.Mode == objstore.ModeSymlink {
		return root.Symlink(string(data), name)
	}
	mode := os.FileMode(0o666)
	if f.Now.Mode == objstore.ModeExecutable {
		mode = 0o777
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}
