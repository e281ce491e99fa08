package files

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

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// madeFolder is a folder in the store's private folder. It has a file for each worktree that a run made in this
// clone. These files are not part of the history, since their paths are valid on this machine alone.
const madeFolder = "worktrees/made"

// madeWorktree is the record of a worktree that a run made in this clone.
type madeWorktree struct {
	Run      string      `json:"runId"`
	Name     string      `json:"name"`                // WorktreeSpec.Name or, for a checkout, the workspace's name
	Path     string      `json:"path"`                // where git has the worktree; in the file, where it was made
	Record   string      `json:"record,omitempty"`    // git's name of the worktree; "" for a jj workspace, and for worktrees of earlier versions
	Beside   string      `json:"beside,omitempty"`    // Path relative to the repository's common directory, with slashes
	Checkout bool        `json:"checkout,omitempty"`  // Checkout made the worktree, of a frame of the run
	Replay   bool        `json:"replay,omitempty"`    // a replay of the run made the worktree, for the files of a frame
	Tree     objstore.ID `json:"treeId,omitzero"`     // the files with which the worktree began; zero means the files of its base
	Begun    bool        `json:"begun,omitempty"`     // a process is making the worktree, or died while making the worktree
	Unready  bool        `json:"unready,omitempty"`   // Equip has not finished
	Branch   string      `json:"branch,omitempty"`    // the branch on which the worktree is made; "" if the worktree is on no branch
	Own      bool        `json:"ownBranch,omitempty"` // Branch did not exist before

	scratch string // the file of a Scratch, which has no record; ""
}

// madeLock is a file that is locked while worktrees are pruned, and while a worktree is made, until the worktree's run
// exists. madeLockPoll is the interval at which lockMade tries to lock the file.
const (
	madeLock     = "making.lock"
	madeLockPoll = 20 * time.Millisecond
)

// lockMade waits until no other process makes or prunes worktrees, and locks madeLock. The caller closes the
// returned lock. The operating system frees the lock of a dead process.
func lockMade(ctx context.Context, s *timeline.Store) (*flock.Flock, error) {
	path := madePath(s, madeLock)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, timeline.Explain(err)
	}
	lock := flock.New(path, flock.SetPermissions(0o666))
	if _, err := lock.TryLockContext(ctx, madeLockPoll); err != nil {
		return nil, timeline.Explain(errors.Join(fmt.Errorf("the worktrees of runs cannot be locked: %w", err), lock.Close()))
	}
	return lock, nil
}

// file returns the name of the record's file: a digest of the kind of worktree, the run and the name.
func (m madeWorktree) file() string {
	kind := "worktree"
	if m.Checkout {
		kind = "checkout"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{kind, m.Run, m.Name}, "\x00")))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// logSuffix ends the names of files with the output of a setup command.
const logSuffix = ".log"

// log returns the path of the file with the output of the setup command.
func (m madeWorktree) log(s *timeline.Store) string {
	if m.scratch != "" {
		return m.scratch + logSuffix
	}
	return madePath(s, strings.TrimSuffix(m.file(), ".json")+logSuffix)
}

// madePath returns the path of the file with the given name in madeFolder, or of madeFolder itself if file is "".
func madePath(s *timeline.Store, file string) string {
	return filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, filepath.FromSlash(madeFolder), file)
}

// findMade returns the record of a worktree that a run made. run is the run's id. name is the id of the task for
// which the run made the worktree, or "" for the run's own worktree. findMade returns nil if the run has made no
// such worktree. Checkouts do not count.
func findMade(s *timeline.Store, run, name string) (*madeWorktree, error) {
	made, err := readMade(s, madeWorktree{Run: run, Name: name}.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a missing worktree is not an error
	}
	return made, err
}

// readMade returns the record in the file of madeFolder with the given name. The error wraps fs.ErrNotExist if the
// file is missing.
func readMade(s *timeline.Store, file string) (*madeWorktree, error) {
	data, err := os.ReadFile(madePath(s, file))
	if err != nil {
		return nil, err
	}
	made := new(madeWorktree)
	if err := json.Unmarshal(data, made); err != nil {
		return nil, fmt.Errorf("%s: %w", madePath(s, file), err)
	}
	made.follow(s)
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
			s.Warn(fmt.Errorf("the record of a worktree is unreadable and was left out: %w", err))
		default:
			out = append(out, *made)
		}
	}
	return out, nil
}

// putMade writes a record, in place of an earlier record of the same worktree.
func putMade(s *timeline.Store, made madeWorktree) error {
	data, err := json.Marshal(made)
	if err != nil {
		return err
	}
	path := madePath(s, made.file())
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	// The name of the new file needs no lock, because only the process that has claimed the run writes its records.
	fresh := path + ".new"
	if err = os.WriteFile(fresh, append(data, '\n'), 0o666); err == nil {
		err = os.Rename(fresh, path)
	}
	return err
}

// dropMade removes a record. A missing record is not an error.
func dropMade(s *timeline.Store, made madeWorktree) error {
	_ = os.Remove(made.log(s)) // the setup command may have written none
	err := os.Remove(madePath(s, made.file()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// HandOver makes the worktrees of the run with the id oldRun belong to the run with the id newRun, by changing
// the records of the worktrees. An error is a warning, since no history depends on the records.
func HandOver(s *timeline.Store, oldRun, newRun string) {
	if err := handOver(s, oldRun, newRun); err != nil {
		s.Warn(fmt.Errorf("the worktrees of run %q were not handed over to run %q: %w", oldRun, newRun, err))
	}
}

// handOver does the work of HandOver. It continues after an error, and returns all errors joined.
func handOver(s *timeline.Store, oldRun, newRun string) error {
	all, err := allMade(s)
	for _, made := range all {
		if made.Run != oldRun {
			continue
		}
		was := made
		made.Run = newRun
		handErr := putMade(s, made)
		if handErr == nil {
			handErr = dropMade(s, was)
		}
		err = errors.Join(err, handErr)
	}
	return err
}
