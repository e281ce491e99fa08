package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Pointer returns the revision of the working copy: HEAD and branch with git; change, commit,
// operation and the first bookmark of @ with jj, after jj has taken a snapshot. It reads no files,
// so Tree is zero. It returns nil without a working copy, and before git's first commit. It runs
// one process.
func (w *Workspace) Pointer(ctx context.Context) (*snapshot.VCS, error) {
	switch w.Type {
	case snapshot.VCSJJ:
		rev, _, err := w.jjRevision(ctx)
		if err != nil {
			return nil, err
		}
		return &snapshot.VCS{
			Type: snapshot.VCSJJ, ChangeID: rev.change, CommitID: rev.commit, Operation: rev.operation,
			Branch: rev.bookmark, Root: w.vcsRoot(), Conflicted: rev.conflict,
		}, nil
	case snapshot.VCSGit:
		commit, branch, err := w.Head(ctx)
		if err != nil || commit == "" {
			return nil, err
		}
		return &snapshot.VCS{Type: snapshot.VCSGit, CommitID: commit, Branch: branch, Root: w.vcsRoot()}, nil
	}
	return nil, nil //nolint:nilnil // no revision is an answer, and no error
}

// Head returns the commit of git's HEAD and its branch, which is "" if HEAD is detached. Both are
// "" before the first commit. It runs one process.
func (w *Workspace) Head(ctx context.Context) (commit, branch string, err error) {
	out, err := w.RunGit(ctx, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
	if isUnborn(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	commit, ref, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		branch = ""
	}
	return commit, branch, nil
}

// isUnborn reports whether err comes from a git rev-parse of a branch without a commit.
func isUnborn(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && strings.Contains(failed.Stderr, "ambiguous argument 'HEAD'")
}

// jjRevision describes @.
type jjRevision struct {
	change, commit string
	conflict       bool
	bookmark       string // the first local one at @; "" for none
	operation      string // "" if another jj ran at the same time
}

// revisionTemplate prints a jjRevision without the operation, one member a line. It calls methods,
// because the user may have redefined the keywords as aliases.
const revisionTemplate = `self.change_id() ++ "\n" ++ self.commit_id() ++ "\n" ++ if(self.conflict(), "conflict") ++ "\n" ++ self.local_bookmarks().map(|b| b.name()).join("\n") ++ "\n"`

// jjRevision makes jj take a snapshot of the working copy, with further options of jj, and returns
// @ and jj's warnings. It runs one process.
func (w *Workspace) jjRevision(ctx context.Context, options ...string) (rev jjRevision, stderr []byte, err error) {
	out, stderr, err := w.RunJJ(ctx, append([]string{"log", "--revisions=@", "--no-graph", "--template=" + revisionTemplate}, options...)...)
	if err != nil {
		return jjRevision{}, stderr, err
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) < 4 {
		return jjRevision{}, stderr, fmt.Errorf("%w: unexpected output %q", ErrJJTooOld, out)
	}
	rev = jjRevision{change: lines[0], commit: lines[1], conflict: lines[2] != "", bookmark: lines[3]}
	rev.operation, err = lastOperation(w)
	return rev, stderr, err
}

// lastOperation returns the id of jj's newest operation, which is the name of the head's file. It
// returns "" if there are several heads, which jj's next command merges.
func lastOperation(w *Workspace) (string, error) {
	heads, err := os.ReadDir(filepath.Join(w.jjRepo, "op_heads", "heads"))
	if err != nil {
		return "", err
	}
	if len(heads) != 1 {
		return "", nil
	}
	return heads[0].Name(), nil
}
