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

// baseTimeout bounds the search for a base, which only saves bytes in a push. git looks
// at every commit where the two histories have nothing in common.
const baseTimeout = 5 * time.Second

// BaseCommit is the nearest ancestor of the working copy's revision (itself included)
// that a remote-tracking ref reaches: one of the named remote's, or of any with remote
// "". Zero where there is none, and where it takes too long to find. One or two
// processes; one more in a jj workspace that is not colocated.
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
		return "HEAD", nil // the parent of @, which only differs where a remote has @ itself
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--revisions=@", "--no-graph", "--template=commit_id")
	return string(out), err
}

// newestBoundary is the youngest of the boundary commits in what git rev-list --boundary
// --timestamp printed: of those that one of them reaches, none is younger. Zero for none.
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
