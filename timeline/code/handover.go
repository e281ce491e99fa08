package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline"
)

// HandOver gives a run what this machine keeps for another one that nobody executes any
// more: that it is executed here, the logs of attempts that did not end, and worktrees.
// Commands that a dead process left at work are ended. What cannot be handed over is a
// warning: no history depends on it.
func HandOver(ctx context.Context, s *timeline.Store, from, to string) {
	if n, err := s.Commands(from).EndLeft(ctx, timeline.CommandGrace); n > 0 || err != nil {
		s.Warn(fmt.Errorf("commands of another process of run %q were still at work: %d processes were ended: %w", from, n, err))
	}
	before, err := s.Executed().Folder(from)
	after, otherErr := s.Executed().Folder(to)
	if err = errors.Join(err, otherErr); err == nil {
		err = errors.Join(handFolder(before.Path(), after.Path()), handFolder(s.LiveLogs(from).Folder, s.LiveLogs(to).Folder))
	}
	if err = errors.Join(err, handWorktrees(s, from, to)); err != nil {
		s.Warn(fmt.Errorf("hand over what is kept here of run %q to run %q: %w", from, to, err))
	}
}

// handFolder gives a folder another name. One that is not there, or has a successor
// already, stays.
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

// handWorktrees gives the worktrees that one run made to another.
func handWorktrees(s *timeline.Store, from, to string) error {
	all, err := allMade(s)
	for _, made := range all {
		if made.Run != from {
			continue
		}
		was := made
		made.Run = to
		handErr := putMade(s, made)
		if handErr == nil {
			handErr = dropMade(s, was)
		}
		err = errors.Join(err, handErr)
	}
	return err
}
