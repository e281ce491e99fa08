package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Pointer returns the revision of the working copy. With git, the revision is HEAD and the branch. With jj, jj first
// takes a snapshot, and the revision is the change, the commit, the operation and the first bookmark of @. Tree is
// zero, because Pointer reads no files. The result is nil without a working copy, and before git's first commit.
// Pointer runs at most one process.
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
	return nil, nil //nolint:nilnil // nil means that there is no revision, which is not an error
}

// Head returns the commit id of git's HEAD and the name of HEAD's branch. branch is "" if HEAD is detached. Before the
// first commit, both results are "". Head runs at most one process.
func (w *Workspace) Head(ctx context.Context) (commit, branch string, err error) {
	if commit, branch, ok := w.looseHead(); ok {
		return commit, branch, nil
	}
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

// looseHead reads what Head returns from the files of HEAD and of its branch, or from reftables. ok is false if only git can tell: the
// branch is packed, a symbolic ref or has no commit.
func (w *Workspace) looseHead() (commit, branch string, ok bool) {
	if w.Repo.RefFormat != "files" {
		id, branch, ok := reftable.Head(w.Repo.GitDir, w.Repo.CommonDir, algorithm(w.Repo))
		return id.String(), branch, ok
	}
	head := filepath.Join(w.Repo.GitDir, "HEAD")
	if info, err := os.Lstat(head); err != nil || !info.Mode().IsRegular() {
		return "", "", false // an old git made HEAD a symbolic link
	}
	data, err := os.ReadFile(head)
	if ref, found := strings.CutPrefix(string(data), "ref: "); found && err == nil {
		name := strings.TrimSpace(ref)
		if branch, found = strings.CutPrefix(name, "refs/heads/"); !found || !filepath.IsLocal(branch) {
			return "", "", false
		}
		data, err = os.ReadFile(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(name)))
	}
	if err != nil {
		return "", "", false
	}
	commit = strings.TrimSpace(string(data))
	id, err := objstore.ParseID(commit)
	return commit, branch, err == nil && !id.IsZero()
}

// isUnborn reports whether err means that git rev-parse failed because HEAD has no commit yet.
func isUnborn(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && strings.Contains(failed.Stderr, "ambiguous argument 'HEAD'")
}

// jjRevision describes @, jj's working-copy commit.
type jjRevision struct {
	change, commit string
	conflict       bool
	bookmark       string // the first local bookmark at @; "" without a bookmark
	operation      string // the newest operation; "" if another jj ran at the same time
}

// revisionTemplate is a jj template that prints a jjRevision without the operation, one field a line. It
// calls methods, because the user may have redefined the keywords as aliases.
const revisionTemplate = `self.change_id() ++ "\n" ++ self.commit_id() ++ "\n" ++ if(self.conflict(), "conflict") ++ "\n" ++ self.local_bookmarks().map(|b| b.name()).join("\n") ++ "\n"`

// jjRevision makes jj take a snapshot of the working copy. It returns @, the working-copy commit, and jj's standard
// error, which has warnings. options are further options of jj. If jj's output has an unknown form, the error wraps
// ErrJJTooOld.
func (w *Workspace) jjRevision(ctx context.Context, options ...string) (rev jjRevision, stderr []byte, err error) {
	out, stderr, err := w.RunJJ(ctx, append([]string{"log", "--revisions=@", "--no-graph", "--template=" + revisionTemplate}, options...)...)
	if err != nil {
		return jjRevision{}, stderr, err
	}
	lines := strings.Split(string(out), "\n")
	// revisionTemplate prints four lines.
	if len(lines) < 4 {
		return jjRevision{}, stderr, fmt.Errorf("%w: unexpected output %q", ErrJJTooOld, out)
	}
	rev = jjRevision{change: lines[0], commit: lines[1], conflict: lines[2] != "", bookmark: lines[3]}
	rev.operation, err = lastOperation(w)
	return rev, stderr, err
}

// lastOperation returns the id of jj's newest operation. jj keeps an empty file for each head of its operation
// log, with the id as its name. If there are several heads, which jj's next command merges, lastOperation
// returns "".
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
