package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// baseTimeout bounds the search for a base. If the two histories have nothing in common, git looks at every commit, and
// a base only saves bytes in a push.
const baseTimeout = 5 * time.Second

// BaseCommit returns a commit that a remote already has: the working copy's commit, or an ancestor that a
// remote-tracking ref reaches. It is normally the nearest such commit. If remote is not "", only refs of this remote
// count. If there is no such commit, or the search takes longer than baseTimeout, the id is zero. BaseCommit runs git
// at most twice, and jj once in a jj workspace that is not colocated.
func (w *Workspace) BaseCommit(ctx context.Context, remote string) (objstore.ID, error) {
	bounded, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	id, err := findBase(bounded, w, remote)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return objstore.ID{}, nil
	}
	return id, err
}

// findBase returns the commit that BaseCommit describes, without a limit of time. The id is zero if the working copy
// has no commit yet, or if no such remote-tracking ref reaches the commit or one of its ancestors.
func findBase(ctx context.Context, w *Workspace, remote string) (objstore.ID, error) {
	if w.hasNoRemoteRef() {
		return objstore.ID{}, nil
	}
	tip, err := tipOf(ctx, w)
	if err != nil {
		return objstore.ID{}, err
	}
	remotes := "--remotes"
	if remote != "" {
		remotes += "=" + remote
	}
	out, err := w.RunGit(ctx, "rev-parse", tip, remotes)
	if isUnborn(err) {
		return objstore.ID{}, nil
	}
	if err != nil {
		return objstore.ID{}, err
	}
	ids := strings.Fields(string(out))
	if len(ids) < 2 {
		return objstore.ID{}, nil // no remote-tracking ref
	}
	// A boundary commit is an ancestor that a remote-tracking ref reaches.
	out, err = w.RunGit(ctx, "rev-list", "--boundary", "--timestamp", ids[0], "--not", remotes)
	if err != nil {
		return objstore.ID{}, err
	}
	if len(out) == 0 {
		return objstore.ParseID(ids[0]) // a remote has the revision itself
	}
	return newestBoundary(out)
}

// hasNoRemoteRef reports whether the repository surely has no remote-tracking ref. Only a repository whose refs are files is
// sure.
func (w *Workspace) hasNoRemoteRef() bool {
	if w.Repo.RefFormat != "files" {
		return false
	}
	if _, err := os.Lstat(filepath.Join(w.Repo.CommonDir, "refs", "remotes")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packed, err := os.ReadFile(filepath.Join(w.Repo.CommonDir, "packed-refs"))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(packed, []byte(" refs/remotes/"))
}

// tipOf returns a name by which git finds the working copy's commit. In a jj workspace that is not colocated, the name
// is the id of @, jj's working-copy commit. Otherwise it is HEAD, which is the parent of @ in a colocated workspace.
func tipOf(ctx context.Context, w *Workspace) (string, error) {
	if w.Type != snapshot.VCSJJ {
		return "HEAD", nil
	}
	if _, err := os.Lstat(filepath.Join(w.Root, ".git")); err == nil {
		return "HEAD", nil // the parent of @; a remote rarely has @ itself
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--revisions=@", "--no-graph", "--template=commit_id")
	return string(out), err
}

// newestBoundary returns the boundary commit with the latest date in out, the output of git rev-list --boundary
// --timestamp. If out has no boundary commit, newestBoundary returns the zero id. A commit is normally no older than
// its ancestors, so no other boundary commit descends from the result. If dates are wrong, the result may be farther
// away than necessary, which only makes a push larger.
func newestBoundary(out []byte) (newest objstore.ID, err error) {
	youngest := int64(-1)
	for line := range bytes.Lines(out) {
		at, name, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		name, boundary := strings.CutPrefix(name, "-")
		seconds, parseErr := strconv.ParseInt(at, 10, 64)
		if !boundary || parseErr != nil || seconds <= youngest {
			continue
		}
		youngest = seconds
		if newest, err = objstore.ParseID(name); err != nil {
			return objstore.ID{}, err
		}
	}
	return newest, nil
}
