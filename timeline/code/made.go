package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// madeFolder is a folder in the store's private folder. It holds a file for each worktree that runs made in this clone.
// The files are not part of the history, since their paths are valid on this machine alone.
const madeFolder = "worktrees/made"

// madeWorktree is the record of a worktree that a run made in this clone.
type madeWorktree struct {
	Run      string      `json:"runId"`
	Name     string      `json:"name"` // WorktreeSpec.Name or, for a checkout, the workspace's name
	Path     string      `json:"path"`
	Checkout bool        `json:"checkout,omitempty"` // made by Checkout, of a frame of the run
	Replay   bool        `json:"replay,omitempty"`   // made by a replay of the run, for the files of a frame
	Tree     objstore.ID `json:"treeId,omitzero"`    // the files that it began with; zero for those of its base
	Begun    bool        `json:"begun,omitempty"`    // it is being made, or its maker died meanwhile
	Branch   string      `json:"branch,omitempty"`   // the branch that it is made on
}

// madeLock is the file that is locked while worktrees are pruned, and while a worktree is made, until its run exists.
const (
	madeLock     = "making.lock"
	madeLockPoll = 20 * time.Millisecond
)

// lockMade waits until no other process makes or prunes worktrees, and locks madeLock. The caller closes the lock. The
// lock of a dead process is free.
func lockMade(ctx context.Context, s *timeline.Store) (*flock.Flock, error) {
	path := madePath(s, madeLock)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, timeline.Explain(err)
	}
	lock := flock.New(path, flock.SetPermissions(0o666))
	if _, err := lock.TryLockContext(ctx, madeLockPoll); err != nil {
		return nil, timeline.Explain(errors.Join(fmt.Errorf("worktrees of runs: %w", err), lock.Close()))
	}
	return lock, nil
}

// file returns the name of the record's file.
func (m madeWorktree) file() string {
	kind := "worktree"
	if m.Checkout {
		kind = "checkout"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{kind, m.Run, m.Name}, "\x00")))
	return hex.EncodeToString(sum[:16]) + ".json"
}

func madePath(s *timeline.Store, file string) string {
	return filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, filepath.FromSlash(madeFolder), file)
}

// findMade returns the record of the worktree that a run made for the task name or, if name is "", for itself. It
// returns nil if the run made no such worktree.
func findMade(s *timeline.Store, run, name string) (*madeWorktree, error) {
	made, err := readMade(s, madeWorktree{Run: run, Name: name}.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a missing worktree is not an error
	}
	return made, err
}

func readMade(s *timeline.Store, file string) (*madeWorktree, error) {
	data, err := os.ReadFile(madePath(s, file))
	if err != nil {
		return nil, err
	}
	made := new(madeWorktree)
	if err := json.Unmarshal(data, made); err != nil {
		return nil, fmt.Errorf("%s: %w", madePath(s, file), err)
	}
	return made, nil
}

// allMade returns the records of all worktrees that runs made, in no particular order. It leaves out unreadable
// records, with a warning for each.
func allMade(s *timeline.Store) ([]madeWorktree, error) {
	entries, err := os.ReadDir(madePath(s, ""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []madeWorktree
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		made, err := readMade(s, entry.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.Warn(fmt.Errorf("left out: %w", err))
		default:
			out = append(out, *made)
		}
	}
	return out, nil
}

// putMade writes or replaces a record.
func putMade(s *timeline.Store, made madeWorktree) error {
	data, err := json.Marshal(made)
	if err != nil {
		return err
	}
	path := madePath(s, made.file())
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	// Only the process that has claimed the run writes its records.
	fresh := path + ".new"
	if err = os.WriteFile(fresh, append(data, '\n'), 0o666); err == nil {
		err = os.Rename(fresh, path)
	}
	return err
}

func dropMade(s *timeline.Store, made madeWorktree) error {
	err := os.Remove(madePath(s, made.file()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// HandOver makes the worktrees of the run from those of the run to. An error is a warning, since no history depends
// on the records.
func HandOver(s *timeline.Store, from, to string) {
	if err := handOver(s, from, to); err != nil {
		s.Warn(fmt.Errorf("hand the worktrees of run %q over to run %q: %w", from, to, err))
	}
}

func handOver(s *timeline.Store, from, to string) error {
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
