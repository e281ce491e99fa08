package refs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// Settle puts a ref's current value on stable storage, because the process that moved it may have
// died first. Call it before acknowledging a ref that another process moved. Without Options.Fsync it does nothing.
func (db *DB) Settle(ctx context.Context, name Name) error {
	if !db.opts.Fsync {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	update := []Update{{Name: name}}
	return syncFolders(db.opts.FS, append(db.reader.folders(update), db.reader.foldersAbove(update)...))
}

// folders returns the folders to sync after updates: that of the first ref, and those of all refs
// but frames, which can be recreated from a tip.
func (r reader) folders(updates []Update) []string {
	var folders []string
	for i, u := range updates {
		folder := filepath.Dir(r.path(u.Name))
		if (i == 0 || !u.Name.isFrame()) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// foldersAbove returns all parent folders up to refs.
func (r reader) foldersAbove(updates []Update) []string {
	var above []string
	for _, folder := range r.folders(updates) {
		for folder = filepath.Dir(folder); len(folder) > len(r.dir) && !slices.Contains(above, folder); folder = filepath.Dir(folder) {
			above = append(above, folder)
		}
	}
	return above
}

func (n Name) isFrame() bool {
	_, frame, err := n.Split()
	return err == nil && frame != NoFrame
}

// syncFolders puts the names in all folders on stable storage, in parallel. A missing folder was
// removed by git after packing its refs.
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
