package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// track brings the copy of the user's index, and the survey of the index, up to date. If force is false, it
// copies the index only if the index has changed since the last copy. If force is true, it always copies the
// index. made reports whether track has copied the index.
func (c *filesCapture) track(ctx context.Context, force bool) (made bool, err error) {
	path := filepath.Join(c.w.Repo.GitDir, "index")
	id, data, err := gitindex.ReadFingerprint(path, func(id gitindex.Fingerprint) bool { return force || id != c.state.User })
	if err != nil {
		return false, err
	}
	if !force && id == c.state.User && c.state.Root != "" {
		return false, nil
	}
	survey, err := c.copyIndex(ctx, id, data)
	if err != nil {
		return false, err
	}
	c.state.User, c.state.Survey = id, survey
	c.state.Root, c.state.Version = c.w.Root, gitindex.StateVersion
	return true, c.p.WriteState(c.state)
}

// copyIndex copies the user's index to the private folder and returns the index's survey. data is the content of the
// index, and id is its fingerprint; both are zero if there is no index. If gitindex cannot read the index, git writes
// the copy anew in a form that gitindex can read. If git cannot read the index either, copyIndex warns, and the files
// of HEAD count as tracked.
func (c *filesCapture) copyIndex(ctx context.Context, id gitindex.Fingerprint, data []byte) (gitindex.Survey, error) {
	if err := c.p.CopyTracked(id, data); err != nil || id == (gitindex.Fingerprint{}) {
		return gitindex.Survey{}, err
	}
	if survey, err := c.surveyOf(data); err == nil {
		return survey, nil
	}
	env := []string{"GIT_INDEX_FILE=" + c.p.TrackedPath()}
	// git writes a split index as one file.
	_, err := c.w.gitWith(ctx, gitRun{args: []string{"update-index", "--force-write-index"}, env: env, settings: readSettings})
	if err != nil && ctx.Err() != nil {
		return gitindex.Survey{}, err
	}
	if err != nil {
		c.opts.Warn(fmt.Errorf("git's index cannot be read, so the capture treats the files of the last commit as the tracked ones: %w", err))
		if err := c.trackHead(ctx, env); err != nil {
			return gitindex.Survey{}, err
		}
	}
	data, err = os.ReadFile(c.p.TrackedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return gitindex.Survey{}, nil
	}
	if err != nil {
		return gitindex.Survey{}, err
	}
	return c.surveyOf(data)
}

// surveyOf returns the survey of an index with the content data.
func (c *filesCapture) surveyOf(data []byte) (gitindex.Survey, error) {
	sparse, err := c.w.Repo.Config.Bool("core.sparsecheckout", false)
	return gitindex.SurveyOf(algorithm(c.w.Repo), data, sparse && err == nil)
}

// trackHead replaces the copy of the user's index by an index of HEAD's tree. Before the first commit, it
// only removes the copy. env makes git use the copy as its index.
func (c *filesCapture) trackHead(ctx context.Context, env []string) error {
	if err := os.Remove(c.p.TrackedPath()); err != nil {
		return err
	}
	commit, _, err := c.w.Head(ctx)
	if err != nil || commit == "" {
		return err
	}
	_, err = c.w.gitWith(ctx, gitRun{args: []string{"read-tree", commit}, env: env, settings: readSettings})
	return err
}

// has reports whether objects can read the object with the given id.
func has(objects objstore.Reader, id objstore.ID) bool {
	_, _, err := objects.Get(id)
	return err == nil
}

// full returns the file system path of path, a slash-separated path relative to the root of the working copy.
func (w *Workspace) full(path string) string {
	return filepath.Join(w.Root, filepath.FromSlash(path))
}

// worktreesFolder is the folder, under the common directory, with a folder for each working copy.
const worktreesFolder = "smithers/worktrees"

// lockIndex locks the folder of the working copy's private index and returns the folder. If another process
// holds the lock, lockIndex waits. The caller must unlock the folder.
func (w *Workspace) lockIndex(ctx context.Context) (*gitindex.Folder, error) {
	return gitindex.Lock(ctx, filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), w.key()))
}

// key returns the name of the working copy's private folder: "git" for git's main worktree, otherwise the
// type and the escaped name.
func (w *Workspace) key() string {
	if w.Type == snapshot.VCSGit && w.Name == "" {
		return snapshot.VCSGit
	}
	return w.Type + "-" + escapeKey(w.Name)
}

// RemoveIndexOf removes the private index of the working copy with the given name and the type of w. If there is no
// such index, it returns nil.
func (w *Workspace) RemoveIndexOf(name string) error {
	other := &Workspace{Type: w.Type, Name: name}
	return os.RemoveAll(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), other.key()))
}

// escapeKey returns a file name for name. It writes each byte other than a lower-case letter, a digit, "-" and "_" as
// "%" and the byte's hexadecimal number. So different names have different file names, even if the file system ignores
// case. If the result has more than 200 bytes, escapeKey returns a hash of name instead.
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
	return "%-" + objstore.SHA1.ID(objstore.Blob, []byte(name)).String()
}
