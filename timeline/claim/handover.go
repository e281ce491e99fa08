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

// HandOver gives one run what this machine keeps for another that is no longer executed: its folder of claims, and
// the logs of attempts that did not end. Commands that a dead process left at work are ended. Trouble is a warning:
// no history depends on these files.
func HandOver(ctx context.Context, s *timeline.Store, from, to string) {
	if n, err := CommandsOf(s, from).EndLeft(ctx, CommandGrace); n > 0 || err != nil {
		s.Warn(fmt.Errorf("commands of another process of run %q were still at work: %d processes were ended: %w", from, n, err))
	}
	before, err := s.Executed().Folder(from)
	after, otherErr := s.Executed().Folder(to)
	if err = errors.Join(err, otherErr); err == nil {
		err = errors.Join(handFolder(before.Path(), after.Path()), handFolder(LiveLogsOf(s, from).folder, LiveLogsOf(s, to).folder))
	}
	if err != nil {
		s.Warn(fmt.Errorf("hand over what is kept here of run %q to run %q: %w", from, to, err))
	}
}

// handFolder renames a folder, unless it is missing or the new name is taken.
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
