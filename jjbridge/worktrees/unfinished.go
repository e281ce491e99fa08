package worktrees

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// IsUnborn reports whether git or jj left the folder at path because it died while it added a working copy there, before it
// checked out a file: the folder is empty, or has only the mark of a working copy that is not finished. path is absolute.
func IsUnborn(ctx context.Context, w *jjbridge.Workspace, path string) (bool, error) {
	defer shareWorktrees(ctx, w)()
	unborn, _, err := findUnborn(ctx, w, path)
	return unborn, err
}

// DropUnborn removes the folder at path and git's record of it, and returns true, if IsUnborn returns true. Otherwise it changes
// nothing.
func DropUnborn(ctx context.Context, w *jjbridge.Workspace, path string) (dropped bool, err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	unborn, record, err := findUnborn(ctx, w, path)
	if err != nil || !unborn {
		return false, err
	}
	if err := removeContent(path); err != nil {
		return false, err
	}
	if err := os.Remove(path); err != nil {
		return false, err
	}
	if record != "" { // last, so that the folder is found again if this process dies
		err = os.RemoveAll(record)
	}
	return true, err
}

// findUnborn returns the result of IsUnborn, and the folder of git's record, or "" if there is no record. The caller holds the lock of
// shareWorktrees or lockWorktrees.
func findUnborn(ctx context.Context, w *jjbridge.Workspace, path string) (unborn bool, record string, err error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, "", nil
	}
	if err != nil || len(entries) > 1 {
		return false, "", err
	}
	if w.Type == snapshot.VCSJJ {
		return findUnbornJJ(ctx, w, path, entries)
	}
	if len(entries) == 1 && (entries[0].Name() != ".git" || !entries[0].Type().IsRegular()) {
		return false, "", nil
	}
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil {
		return false, "", err
	}
	name, known := names[path]
	if !known {
		return len(entries) == 0, "", nil
	}
	record = filepath.Join(w.Repo.CommonDir, "worktrees", name)
	if locked, err := lockReason(record); err != nil || locked != unfinishedLock {
		return false, "", err
	}
	unborn, err = isHeadless(w, record)
	return unborn, record, err
}

// isHeadless reports whether git's record of a worktree has no HEAD with a commit. git writes a HEAD of zeros first. When it has a
// commit, files may be checked out.
func isHeadless(w *jjbridge.Workspace, record string) (bool, error) {
	if w.Repo.RefFormat != "files" { // git writes HEAD when it has a commit
		_, found, err := reftable.Own(record, objstore.AlgorithmOf(w.Repo.ObjectFormat), "HEAD")
		return !found, err
	}
	head, err := os.ReadFile(filepath.Join(record, "HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return strings.Trim(string(head), "0\n") == "", nil
}

// findUnbornJJ is findUnborn for a jj repository. jj writes its folder before the repository knows the workspace, and checks out the
// files after that. entries lists the folder.
func findUnbornJJ(ctx context.Context, w *jjbridge.Workspace, path string, entries []fs.DirEntry) (unborn bool, record string, err error) {
	if len(entries) == 1 && (entries[0].Name() != ".jj" || !entries[0].IsDir()) {
		return false, "", nil
	}
	list, err := jjWorkspaces(ctx, w)
	known := slices.ContainsFunc(list, func(info Info) bool { return info.Path == path })
	return err == nil && !known, "", err
}

// DropHalfMade removes the folder of a jj workspace that jj did not finish adding for req: jj does not know it yet, or has it as stale.
// If jj knows it, info describes it, and jj forgets it. Otherwise info.Name is "". A file that is neither a file of the commit at which
// the workspace starts nor its beginning is an *UnsavedError, and so is any folder of something else; nothing is removed then.
func DropHalfMade(ctx context.Context, w *jjbridge.Workspace, req AddRequest, info Info) (err error) {
	unlock, err := lockWorktrees(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	opened, err := jjbridge.Locate(ctx, req.Path, gitexec.PlumbingEnv(w.Environ()))
	if err != nil {
		return err
	}
	if opened.Root != req.Path || opened.JJRepo() != w.JJRepo() || isWithin(w.JJRepo(), req.Path) {
		return &Error{Path: req.Path, Reason: "is not a working copy of this repository"}
	}
	commit := info.CommitID
	if info.Name == "" {
		if commit, err = startRevision(ctx, w, req); err != nil {
			return err
		}
	}
	reason, err := unsavedUnfinished(ctx, opened, commit, true)
	if err == nil && reason != "" {
		err = &UnsavedError{Path: req.Path, Reason: reason}
	}
	if err != nil {
		return err
	}
	if err := removeContent(req.Path); err != nil { // .jj last, so that the folder is found again if this process dies
		return err
	}
	if err := os.Remove(req.Path); err != nil || info.Name == "" {
		return err
	}
	return forgetJJ(ctx, w, info)
}

// unsavedUnfinished returns the result of unsaved for a working copy that git or jj did not finish creating at commit. Its index is
// missing or incomplete, so each existing file must be a file of the commit, or its beginning, since git or jj may have died while it
// wrote the file. With ignored, ignored files count as unsaved, too.
func unsavedUnfinished(ctx context.Context, w *jjbridge.Workspace, commit string, ignored bool) (string, error) {
	index := filepath.Join(w.Repo.GitDir, unfinishedIndex)
	defer os.Remove(index) //nolint:errcheck // the next call overwrites a leftover file
	git := func(args ...string) ([]byte, error) { return w.RunGitOnIndex(ctx, index, args...) }
	if _, err := git("read-tree", commit); err != nil {
		return "", err
	}
	_, _ = git("update-index", "-q", "--refresh") // fails if files are missing, which is expected
	args := []string{"ls-files", "--others", "-z", "--", ":(top,exclude).jj"}
	if !ignored {
		args = slices.Insert(args, 1, "--exclude-standard")
	}
	untracked, err := git(args...)
	if err != nil {
		return "", err
	}
	if len(untracked) > 0 {
		return reasonUncommitted, nil
	}
	changed, err := git("diff-files", "--name-only", "--diff-filter=d", "-z")
	if err != nil {
		return "", err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(changed), "\x00"), "\x00") {
		if path == "" {
			continue
		}
		if cut, err := isCutOff(ctx, w, commit, path); err != nil || !cut {
			return reasonUncommitted, err
		}
	}
	return "", nil
}

// unfinishedIndex is the name of the temporary index of unsavedUnfinished.
const unfinishedIndex = "smithers-index"

// maxCutOff is the size of the largest file that isCutOff compares, because it reads the file into memory.
const maxCutOff = 64 << 20

// isCutOff reports whether the file at path, relative to the top and with slashes, is a beginning of the file that the commit has there.
func isCutOff(ctx context.Context, w *jjbridge.Workspace, commit, path string) (bool, error) {
	name := filepath.Join(w.Root, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCutOff {
		return false, err
	}
	if info.Size() == 0 {
		return true, nil
	}
	size, err := w.RunGit(ctx, "cat-file", "-s", commit+":"+path)
	if err != nil {
		return false, err
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(string(size)), 10, 64); err != nil || n > maxCutOff {
		return false, err
	}
	whole, err := w.RunGit(ctx, "cat-file", "--filters", commit+":"+path)
	if err != nil {
		return false, err
	}
	begun, err := os.ReadFile(name)
	return bytes.HasPrefix(whole, begun), err
}
