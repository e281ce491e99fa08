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

// HandOver moves this machine's files of the run from, which is no longer executed, to the run to: the folder of
// claims, and the logs of attempts that did not end. HandOver also ends commands of the run from that outlived
// their process. Errors are warnings, since no history depends on these files.
func HandOver(ctx context.Context, s *timeline.Store, from, to string) {
	n, err := CommandsOf(s, from).EndLeft(ctx, CommandGrace)
	if n > 0 {
		s.Warn(fmt.Errorf("ended %d processes of commands that another process of run %q had left running", n, from))
	}
	if err != nil {
		s.Warn(fmt.Errorf("end the commands of another process of run %q: %w", from, err))
	}
	before, err := s.Executed().Folder(from)
	after, otherErr := s.Executed().Folder(to)
	if err = errors.Join(err, otherErr); err == nil {
		err = errors.Join(handFolder(before.Path(), after.Path()), handFolder(LiveLogsOf(s, from).folder, LiveLogsOf(s, to).folder))
	}
	if err != nil {
		s.Warn(fmt.Errorf("hand over the local files of run %q to run %q: %w", from, to, err))
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
