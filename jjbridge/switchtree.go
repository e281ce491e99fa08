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
	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesGit runs git on the files of the working copy with the private index. In a jj workspace git reads and
// writes files byte for byte.
type filesGit struct {
	w        *Workspace
	index    *gitindex.Folder // the folder of the private index, locked
	env      []string         // as in gitRun
	settings []string         // as in gitRun
	gitDir   string           // as in gitRun
}

// filesGit returns a filesGit for a private index. index is the folder of this index, whose lock the caller
// holds. objects is a second object directory for git to read, or "". In a jj workspace, git stores and writes
// files byte for byte, as jj does.
func (w *Workspace) filesGit(index *gitindex.Folder, objects string) (*filesGit, error) {
	g := &filesGit{
		w: w, index: index, env: append(alternates(objects), "GIT_INDEX_FILE="+index.IndexPath()),
		// core.ignoreStat would hide changes of the files that git writes.
		settings: []string{"core.ignoreStat=false", "index.sparse=false"},
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

// run runs git with args, on the files of the working copy and the private index, and returns git's standard
// output. The error is a *gitexec.Error.
func (g *filesGit) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.runWith(ctx, nil, args...)
}

// runWith runs git as run does, with stdin as git's standard input. stdin may be nil.
func (g *filesGit) runWith(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return g.w.gitWith(ctx, gitRun{args: args, env: g.env, stdin: stdin, settings: g.settings, gitDir: g.gitDir})
}

// switchTree turns the files of oldTree into the files of newTree. begin must have been called for oldTree. A zero
// oldTree means the files of the index. If the working copy no longer has the files of oldTree, the error is a
// *RefusedError, and no file was touched. If there is no git, or git cannot refresh the index, the error is git's, and
// no file was touched. If git fails in another way, it may have written files, and the error wraps ErrUnfinished.
func (g *filesGit) switchTree(ctx context.Context, oldTree, newTree objstore.ID) error {
	err := g.readTree(ctx, oldTree, newTree)
	if !errors.Is(err, ErrRefused) {
		return err
	}
	// A file with a new modification time looks modified until git has read the file.
	if err := g.refresh(ctx); err != nil {
		return err
	}
	return g.readTree(ctx, oldTree, newTree)
}

// begin fills the private index with the files of tree. begin starts from an index with the times of the files, so that
// git need not read unchanged files. This is the copy of the user's index or, in a jj workspace, the private index of
// the last restore.
func (g *filesGit) begin(ctx context.Context, tree objstore.ID) error {
	if g.w.Type != snapshot.VCSJJ {
		if err := g.index.UseTracked(); err != nil {
			return err
		}
	}
	if _, err := g.run(ctx, "read-tree", "--reset", tree.String()); err != nil {
		// The private index is only a cache, so begin replaces a damaged index.
		if err := os.Remove(g.index.IndexPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := g.run(ctx, "read-tree", tree.String()); err != nil {
			return err
		}
	}
	return g.refresh(ctx)
}

// forget removes paths from the index. The files at these paths stay in the working copy.
func (g *filesGit) forget(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	list := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := g.runWith(ctx, list, "update-index", "-z", "--force-remove", "--stdin")
	return err
}

// refresh makes git read each file that may have changed, and record in the index which files are unchanged. A file
// that differs from the index is not an error.
func (g *filesGit) refresh(ctx context.Context) error {
	_, err := g.run(ctx, "update-index", "-q", "--refresh")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return nil // some files differ; readTree refuses if an edit touches one of them
	}
	return err
}

// readTree makes git turn the files of oldTree into those of newTree, with one command. A zero oldTree means the files
// of the index. If git refuses the change before it touches a file, the error is a *RefusedError. If there is no git,
// the error is git's. If git fails in another way, the error wraps ErrUnfinished.
func (g *filesGit) readTree(ctx context.Context, oldTree, newTree objstore.ID) error {
	trees := []string{oldTree.String(), newTree.String()}
	if oldTree.IsZero() {
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

// readRefusals returns a refusal for each file that git refuses to change according to stderr, git's error output. If
// the result is not empty, git has touched no file.
func readRefusals(stderr string) []Refusal {
	var refused []Refusal
	for line := range strings.SplitSeq(stderr, "\n") {
		for _, known := range []struct{ before, after, reason string }{
			{"error: Entry '", "' not uptodate. Cannot merge.", "the file has changed since it was captured"},
			{"error: Entry '", "' would be overwritten by merge. Cannot merge.", "the file has changed since it was captured"},
			{"error: Untracked working tree file '", "' would be overwritten by merge.", unrecorded("file")},
			{"error: Untracked working tree file '", "' would be removed by merge.", unrecorded("file")},
			{"error: Updating '", "' would lose untracked files in it", "the folder has files that were not captured"},
			{"error: invalid path '", "'", "git never writes to this path"},
		} {
			name, ok := strings.CutPrefix(line, known.before)
			if name, found := strings.CutSuffix(name, known.after); ok && found {
				refused = append(refused, Refusal{Path: name, Reason: known.reason})
			}
		}
	}
	return refused
}
