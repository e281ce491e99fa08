package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// HandOver gives a run what this machine keeps for another one that nobody executes any
// more: that it is executed here, the logs of attempts that did not end, and worktrees.
// Commands that a dead process left at work are ended. What cannot be handed over is a
// warning: no history depends on it.
func (s *Store) HandOver(ctx context.Context, from, to string) {
	if n, err := s.Commands(from).EndLeft(ctx, CommandGrace); n > 0 || err != nil {
		s.warn(fmt.Errorf("commands of another process of run %q were still at work: %d processes were ended: %w", from, n, err))
	}
	before, err := s.claimFolder(from)
	after, otherErr := s.claimFolder(to)
	if err = errors.Join(err, otherErr); err == nil {
		err = errors.Join(handFolder(before.path, after.path), handFolder(s.LiveLogs(from).folder, s.LiveLogs(to).folder))
	}
	if err = errors.Join(err, s.handWorktrees(from, to)); err != nil {
		s.warn(fmt.Errorf("hand over what is kept here of run %q to run %q: %w", from, to, err))
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
func (s *Store) handWorktrees(from, to string) error {
	all, err := s.allMade()
	for _, made := range all {
		if made.Run != from {
			continue
		}
		was := made
		made.Run = to
		handErr := s.putMade(made)
		if handErr == nil {
			handErr = s.dropMade(was)
		}
		err = errors.Join(err, handErr)
	}
	return err
}
