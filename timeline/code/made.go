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

// madeFolder holds a file for each worktree that runs made in this clone, under the
// common directory. It is no history: paths are this machine's.
const madeFolder = "worktrees/made"

// madeWorktree is a worktree that a run made in this clone.
type madeWorktree struct {
	Run      string      `json:"runId"`
	Name     string      `json:"name"` // as WorktreeSpec.Name; of a checkout, the workspace's
	Path     string      `json:"path"`
	Checkout bool        `json:"checkout,omitempty"` // by Checkout, of a frame of the run
	Replay   bool        `json:"replay,omitempty"`   // made by a replay of the run, for the files of a frame
	Tree     objstore.ID `json:"treeId,omitzero"`    // that it began with; zero for the files of its base
	Begun    bool        `json:"begun,omitempty"`    // it is being made, or whoever made it died
	Branch   string      `json:"branch,omitempty"`   // that it is made on
}

// madeLock is locked while a worktree is made, until its run is there, and while worktrees are pruned.
const (
	madeLock     = "making.lock"
	madeLockPoll = 20 * time.Millisecond
)

// lockMade waits while another process makes or prunes worktrees, and then keeps others waiting. The caller closes the
// lock. A process that dies lets go of it.
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

// file is the name of the record's file.
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

// madeWorktree finds the worktree that a run made for a task, or for itself; nil where
// it made none.
func findMade(s *timeline.Store, run, name string) (*madeWorktree, error) {
	made, err := readMade(s, madeWorktree{Run: run, Name: name}.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // that there is none is an answer, and no error
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

// allMade lists what runs made, in no order. What cannot be read is left out, with a warning.
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

// putMade writes a record, in place of the one that is there.
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

// HandOver gives the worktrees that one run made to another. Trouble is a warning: no history depends on the records.
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
