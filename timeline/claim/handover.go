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

// HandOver moves this machine's files of the run oldRun to the run newRun: the folder of claims, and the logs
// of attempts that did not end. oldRun and newRun are run ids, and oldRun is no longer executed. HandOver also
// ends the commands of oldRun that outlived their process. Errors are warnings, since no history depends on
// these files.
func HandOver(ctx context.Context, s *timeline.Store, oldRun, newRun string) {
	n, err := CommandsOf(s, oldRun).EndLeft(ctx, CommandGrace)
	if n > 0 {
		s.Warn(fmt.Errorf("ended %d processes of commands that another process of run %q had left running", n, oldRun))
	}
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

// handFolder renames a folder. It does nothing if the folder from is missing, or if to exists.
func handFolder(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
