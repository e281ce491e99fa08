package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// worktreesFolder holds a folder for each working copy, under the common directory.
const worktreesFolder = "smithers/worktrees"

// lockPoll is how often a held lock is tried again.
const lockPoll = 5 * time.Millisecond

// privateIndex is the folder of one working copy in which captures keep what makes the
// next one cheap, held by its lock against every other process and goroutine. In it are
//
//	index      git's index of the files as last captured: VCS.Tree of that capture
//	tracked    the user's index as it was then, whole: which paths are tracked
//	state      what both were made from; see indexState
//	lock       the lock
//	objects-*  quarantines; see quarantine
//
// Any of them may be damaged or gone: they are made anew then. Nobody but captures and
// restores uses them, so nothing of the user's waits for the lock.
type privateIndex struct {
	dir  string
	lock *flock.Flock
}

// lockIndex waits until nobody else uses the private index. What processes left that
// died while they had it is gone then. The caller unlocks it.
func (w *Workspace) lockIndex(ctx context.Context) (*privateIndex, error) {
	dir := filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), w.key())
	p := &privateIndex{dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o666))}
	_, err := p.lock.TryLockContext(ctx, lockPoll)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		_, err = p.lock.TryLockContext(ctx, lockPoll)
	}
	if err == nil {
		err = p.clear()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("private index: %w", err), p.lock.Close())
	}
	return p, nil
}

// unlock lets others use the private index.
func (p *privateIndex) unlock() error { return p.lock.Close() }

// path is the index of the files as last captured, for GIT_INDEX_FILE. It need not be there.
func (p *privateIndex) path() string { return filepath.Join(p.dir, "index") }

// tracked is the copy of the user's index. It need not be there.
func (p *privateIndex) tracked() string { return filepath.Join(p.dir, "tracked") }

// tree is the tree that the index stands for. The error wraps errBadIndex, or
// fs.ErrNotExist.
func (p *privateIndex) tree() (objstore.ID, error) {
	index, err := readIndex(p.path())
	if err != nil {
		return objstore.ID{}, err
	}
	return index.trees().root, nil
}

// clear removes what processes left that were killed.
func (p *privateIndex) clear() error {
	files, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := file.Name()
		switch {
		case strings.HasPrefix(name, quarantinePrefix):
			removeStaleQuarantine(filepath.Join(p.dir, name))
		case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, unfinished):
			if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfinished ends the names of files that are being written.
const unfinished = ".new"

// replace puts data at path as a whole.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+unfinished, data, 0o666); err != nil {
		return err
	}
	return os.Rename(path+unfinished, path)
}

// key is the name of the folder of this working copy: "git" for git's main one, else the
// kind and the name.
func (w *Workspace) key() string {
	if w.Type == snapshot.VCSGit && w.Name == "" {
		return snapshot.VCSGit
	}
	return w.Type + "-" + escapeKey(w.Name)
}

// RemoveIndexOf removes the private index of another working copy of the same kind.
func (w *Workspace) RemoveIndexOf(name string) error {
	other := &Workspace{Type: w.Type, Name: name}
	return os.RemoveAll(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), other.key()))
}

// escapeKey makes a name one of a file that is different for different names, also
// where the case of letters does not count.
func escapeKey(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() <= 200 {
		return b.String()
	}
	return "%-" + objstore.Hash(objstore.Blob, []byte(name)).String()
}
