package jjbridge

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// baseTimeout bounds the search for a base, which only saves bytes in a push. If the two histories
// have nothing in common, git looks at every commit.
const baseTimeout = 5 * time.Second

// BaseCommit returns the nearest ancestor of the working copy's revision, or the revision itself,
// that a remote-tracking ref reaches. Only refs of the named remote count; if remote is "", refs of
// any. The result is zero if there is none, or the search takes too long. It runs one or two
// processes, and one more in a jj workspace that is not colocated.
func (w *Workspace) BaseCommit(ctx context.Context, remote string) (objstore.ID, error) {
	bounded, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	id, err := findBase(bounded, w, remote)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return objstore.ID{}, nil
	}
	return id, err
}

func findBase(ctx context.Context, w *Workspace, remote string) (objstore.ID, error) {
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
	out, err = w.RunGit(ctx, "rev-list", "--boundary", "--timestamp", ids[0], "--not", remotes)
	if err != nil {
		return objstore.ID{}, err
	}
	if len(out) == 0 {
		return objstore.ParseID(ids[0]) // a remote has it
	}
	return newestBoundary(out)
}

// tipOf returns the name of the working copy's commit in the git store.
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

// newestBoundary returns the youngest of the boundary commits that git rev-list --boundary
// --timestamp printed, or zero if there is none. No other commit that a boundary commit reaches is
// younger.
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
