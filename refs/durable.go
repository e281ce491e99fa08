package refs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// Settle puts a ref on stable storage as it is, whoever moved it: the process that did
// so may have died before it had. Whoever acknowledges what a ref says without having
// moved it calls this first. Without Options.Fsync it does nothing.
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

// folders is the folders of the refs that count when updates were made: the first, and
// all but those of frames, which can be made again from a tip.
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

// foldersAbove is the folders that those are in, up to refs itself.
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

// syncFolders puts names on stable storage, those of all folders at once. A folder that
// is not there was removed by git, which had packed what was in it.
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
