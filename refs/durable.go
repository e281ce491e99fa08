package refs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// Settle puts the current value of a ref on stable storage. A caller must call Settle before acknowledging a ref that
// another process moved, because that process may have died before it synced the ref. Without Options.Fsync, and with
// Options.LateNames, Settle does nothing.
func (db *DB) Settle(ctx context.Context, name Name) error {
	if !db.opts.Fsync || db.opts.LateNames {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	update := []Update{{Name: name}}
	return syncFolders(db.opts.FS, append(db.reader.folders(update), db.reader.foldersAbove(update)...))
}

// folders returns the folders that must be synced after updates: the folder of the first ref, and the folders of all
// refs except frame refs. A frame ref can be recreated from a tip. In a repository with reftables, it is their folder.
func (r reader) folders(updates []Update) []string {
	if r.tables != nil {
		return []string{filepath.Dir(r.tables.List())}
	}
	var folders []string
	for i, u := range updates {
		folder := filepath.Dir(r.path(u.Name))
		if (i == 0 || !u.Name.isFrame()) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// foldersAbove returns the parents of the folders that must be synced (see folders), up to the folder refs.
func (r reader) foldersAbove(updates []Update) []string {
	var above []string
	for _, folder := range r.folders(updates) {
		for folder = filepath.Dir(folder); len(folder) > len(r.dir) && !slices.Contains(above, folder); folder = filepath.Dir(folder) {
			above = append(above, folder)
		}
	}
	return above
}

// isFrame reports whether n is the name of a frame ref.
func (n Name) isFrame() bool {
	_, frame, err := n.Split()
	return err == nil && frame != NoFrame
}

// syncFolders puts the file names in all folders on stable storage, in parallel. A missing folder is not an error: git
// has removed the folder after it packed the folder's refs.
func syncFolders(files fsx.FS, folders []string) error {
	errs := make(chan error, len(folders))
	for _, folder := range folders {
		go func() { errs <- files.SyncDir(folder) }()
	}
	var failed error
	for range folders {
		if err := <-errs; !isNoFile(err) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
