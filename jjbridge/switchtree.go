package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesGit is git on the files of the working copy, with the private index.
type filesGit struct {
	w        *Workspace
	index    *gitindex.Folder
	env      []string
	settings []string
	gitDir   string
}

// filesGit prepares git to change files, under the lock of the private index. objects
// is where it may find more objects; "" for nowhere.
func (w *Workspace) filesGit(index *gitindex.Folder, objects string) (*filesGit, error) {
	g := &filesGit{
		w: w, index: index, env: append(alternates(objects), "GIT_INDEX_FILE="+index.IndexPath()),
		settings: []string{"core.ignoreStat=false"}, // it would hide changes of what is written
	}
	if w.Type != snapshot.VCSJJ {
		return g, nil
	}
	plain, err := plainGitDir(w, index.Dir)
	if err != nil {
		return nil, err
	}
	g.gitDir, g.env, g.settings = plain.gitDir, append(g.env, plain.env...), append(g.settings, plain.settings...)
	return g, nil
}

func (g *filesGit) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.runWith(ctx, nil, args...)
}

func (g *filesGit) runWith(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return g.w.gitWith(ctx, gitRun{args: args, env: g.env, stdin: stdin, settings: g.settings, gitDir: g.gitDir})
}

// switchTree makes files that are those of one tree, which begin was called for, those of
// another. Where from is zero, they are those of the index. The error is a *RefusedError,
// and nothing was touched, where they are not; it wraps ErrUnfinished where some were
// touched.
func (g *filesGit) switchTree(ctx context.Context, from, to objstore.ID) error {
	err := g.readTree(ctx, from, to)
	if !errors.Is(err, ErrRefused) {
		return err
	}
	// A file that was only touched looks like one that has changed, until it is read.
	if err := g.refresh(ctx); err != nil {
		return err
	}
	return g.readTree(ctx, from, to)
}

// begin makes the index that of a tree, keeping what it knows of files that are the same.
// It is that already where the file is still known; nil is unknown.
func (g *filesGit) begin(ctx context.Context, tree objstore.ID, known fs.FileInfo) error {
	if now, err := os.Stat(g.index.IndexPath()); err == nil && known != nil && os.SameFile(now, known) &&
		now.Size() == known.Size() && now.ModTime().Equal(known.ModTime()) {
		return nil
	}
	if found, err := g.index.Tree(); err == nil && found == tree {
		return nil
	}
	if _, err := g.run(ctx, "read-tree", "-m", tree.String()); err != nil {
		// Whatever is wrong with it: it is only a cache.
		if err := os.Remove(g.index.IndexPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := g.run(ctx, "read-tree", tree.String()); err != nil {
			return err
		}
	}
	return g.refresh(ctx)
}

// forget takes paths out of the index. Their files stay, untracked.
func (g *filesGit) forget(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	list := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := g.runWith(ctx, list, "update-index", "-z", "--force-remove", "--stdin")
	return err
}

// refresh compares the files with the index, where they were not known to be the same.
func (g *filesGit) refresh(ctx context.Context) error {
	_, err := g.run(ctx, "update-index", "-q", "--refresh")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return nil // some are not the same; where it matters, readTree refuses
	}
	return err
}

func (g *filesGit) readTree(ctx context.Context, from, to objstore.ID) error {
	trees := []string{from.String(), to.String()}
	if from.IsZero() {
		trees = trees[1:]
	}
	_, err := g.run(ctx, append([]string{"read-tree", "-m", "-u", "--no-recurse-submodules", "--no-sparse-checkout"}, trees...)...)
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok || errors.Is(err, gitexec.ErrNoGit) {
		return err
	}
	if refused := readRefusals(failed.Stderr); len(refused) > 0 {
		return &RefusedError{Refused: refused}
	}
	return fmt.Errorf("%w: %w", ErrUnfinished, err)
}

// readRefusals finds in what git said why it has touched nothing.
func readRefusals(stderr string) []Refusal {
	var refused []Refusal
	for line := range strings.SplitSeq(stderr, "\n") {
		for _, known := range []struct{ before, after, reason string }{
			{"error: Entry '", "' not uptodate. Cannot merge.", "it has changed since it was captured"},
			{"error: Entry '", "' would be overwritten by merge. Cannot merge.", "it has changed since it was captured"},
			{"error: Untracked working tree file '", "' would be overwritten by merge.", unrecorded("file")},
			{"error: Untracked working tree file '", "' would be removed by merge.", unrecorded("file")},
			{"error: Updating '", "' would lose untracked files in it", "files in it were not recorded"},
			{"error: invalid path '", "'", "git does not write to such a path"},
		} {
			name, ok := strings.CutPrefix(line, known.before)
			if name, found := strings.CutSuffix(name, known.after); ok && found {
				refused = append(refused, Refusal{Path: name, Reason: known.reason})
			}
		}
	}
	return refused
}
