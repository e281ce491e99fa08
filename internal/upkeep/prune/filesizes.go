package prune

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/timeline"
)

// FileSizes are sizes of files in bytes.
type FileSizes struct {
	Packs   int64 // of the repository, with those of the user's own commits
	Index   int64 // the index databases
	Private int64 // all other files of the store's private folder
}

// MeasureFiles returns the sizes of files of a store. It reads folders and no file. A file that it cannot see counts as 0 bytes.
func MeasureFiles(s *timeline.Store) FileSizes {
	var out FileSizes
	eachFile(filepath.Join(s.Repo().CommonDir, "objects", "pack"), func(_ string, size int64) { out.Packs += size })
	eachFile(s.Private(), func(path string, size int64) {
		if filepath.Dir(path) == s.Private() && (strings.HasPrefix(filepath.Base(path), "index") || strings.HasPrefix(filepath.Base(path), search.FileName)) {
			out.Index += size
		} else {
			out.Private += size
		}
	})
	return out
}

// eachFile calls f for each regular file in a folder and the folders in it.
func eachFile(folder string, f func(path string, size int64)) {
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a missing folder has no size, and a file may be deleted at any time
		}
		if info, err := d.Info(); err == nil { // another process may have deleted the file
			f(path, info.Size())
		}
		return nil
	})
}
