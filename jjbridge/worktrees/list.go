package worktrees

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// usageStatus is git's exit status for an unknown option.
const usageStatus = 129

// gitWorktrees returns git's worktrees, the main worktree first. The Name of each linked worktree is its id in git.
// gitWorktrees leaves out a bare repository, which has no files.
func gitWorktrees(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	end := "\x00"
	out, err := w.RunGit(ctx, "worktree", "list", "--porcelain", "-z")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == usageStatus {
		end = "\n" // git before 2.36
		out, err = w.RunGit(ctx, "worktree", "list", "--porcelain")
	}
	if err != nil {
		return nil, err
	}
	names, err := worktreeNames(w.Repo.CommonDir)
	if err != nil {
		return nil, err
	}
	var list []Info
	for i, record := range strings.Split(strings.TrimSuffix(string(out), end+end), end+end) {
		info, bare := parseWorktree(record, end)
		switch {
		case bare || info.Path == "":
			continue
		case i > 0:
			info.Name = names[info.Path]
		case w.Main() != "":
			info.Path = w.Main() // if git does not run in the main worktree, it may print the git directory
		}
		info.Missing = isGone(info.Path)
		list = append(list, info)
	}
	return list, nil
}

// parseWorktree decodes record, one record of git worktree list --porcelain. lineEnd is the text at the end of
// each line. bare is true if the record is of a bare repository.
func parseWorktree(record, lineEnd string) (info Info, bare bool) {
	for line := range strings.SplitSeq(record, lineEnd) {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "worktree":
			info.Path = filepath.Clean(filepath.FromSlash(value))
		case "HEAD":
			if strings.Trim(value, "0") != "" { // the id is all zeros before the first commit
				info.CommitID = value
			}
		case "branch":
			info.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			bare = true
		}
	}
	return info, bare
}

// worktreeNames returns git's ids of the linked worktrees of the repository at commonDir. The keys of the
// result are the worktrees' paths. worktreeNames leaves out a worktree whose record cannot be read.
func worktreeNames(commonDir string) (map[string]string, error) {
	dir := filepath.Join(commonDir, "worktrees")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := make(map[string]string)
	for _, entry := range entries {
		if path, err := recordedPath(commonDir, entry.Name()); err == nil { // git does not list other worktrees
			names[path] = entry.Name()
		}
	}
	return names, nil
}

// PathOf returns the folder of the linked worktree that git calls name, without symbolic links if the folder exists. The error
// wraps fs.ErrNotExist if the repository at commonDir has no such worktree.
func PathOf(commonDir, name string) (string, error) {
	path, err := recordedPath(commonDir, name)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path, nil
}

// recordedPath returns the folder of a linked worktree as git's record has it: absolute, or relative to the record.
func recordedPath(commonDir, name string) (string, error) {
	record := filepath.Join(commonDir, "worktrees", name)
	data, err := os.ReadFile(filepath.Join(record, "gitdir"))
	if err != nil {
		return "", err
	}
	dotGit := filepath.FromSlash(strings.TrimRight(string(data), "\r\n"))
	if !filepath.IsAbs(dotGit) {
		dotGit = filepath.Join(record, dotGit)
	}
	return filepath.Dir(filepath.Clean(dotGit)), nil
}

// isGone reports whether nothing exists at path.
func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// isWithin reports whether path is dir or below dir. Both paths must be clean.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// sortWorkspaces sorts list: first the main working copy, whose path is main, then the other working copies by name.
func sortWorkspaces(list []Info, main string) {
	slices.SortFunc(list, func(a, b Info) int {
		switch {
		case a.Path == main && b.Path != main:
			return -1
		case b.Path == main && a.Path != main:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}
