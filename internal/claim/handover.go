package claim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline"
)

// HandOver moves this machine's files of the run oldRun to the run newRun. oldRun and newRun are run ids, and
// oldRun is no longer executed. HandOver first ends the commands of oldRun that outlived their process. It then
// renames the folder of claims and the folder of live logs; a folder stays if newRun already has such a folder.
// Errors are warnings, since no history depends on these files.
func HandOver(ctx context.Context, s *timeline.Store, oldRun, newRun string) {
	n, err := CommandsOf(s, oldRun).EndLeft(ctx, CommandGrace)
	warnOfEnded(s, oldRun, n)
	if err != nil {
		s.Warn(fmt.Errorf("commands that another process of run %q left running were not ended: %w", oldRun, err))
	}
	before, err := s.Executed().Folder(oldRun)
	after, otherErr := s.Executed().Folder(newRun)
	if err = errors.Join(err, otherErr); err == nil {
		err = errors.Join(handFolder(before.Path(), after.Path()), handFolder(LiveLogsOf(s, oldRun).folder, LiveLogsOf(s, newRun).folder))
	}
	if err != nil {
		s.Warn(fmt.Errorf("the local files of run %q were not handed over to run %q: %w", oldRun, newRun, err))
	}
}

// handFolder renames the folder oldPath to newPath. If oldPath does not exist or newPath exists, handFolder
// renames nothing and returns nil.
func handFolder(oldPath, newPath string) error {
	if _, err := os.Lstat(newPath); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(newPath), 0o777); err != nil {
		return err
	}
	err := os.Rename(oldPath, newPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
