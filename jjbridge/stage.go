package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// Underway returns the operation that git has begun in the working copy and not finished: "merge", "rebase",
// "cherry-pick" or "revert". It returns "" if there is none.
func (w *Workspace) Underway() (string, error) {
	for _, one := range []struct{ file, operation string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"sequencer", "cherry-pick"},
	} {
		if there, err := w.HasOwn(one.file); there || err != nil {
			return one.operation, err
		}
	}
	return "", nil
}

// HasOwn reports whether git's own folder of the working copy has a file or folder with a name, such as MERGE_HEAD. In a reftable
// repository, it also finds a ref with the name, such as CHERRY_PICK_HEAD.
func (w *Workspace) HasOwn(name string) (bool, error) {
	_, err := lstat(filepath.Join(w.Repo.GitDir, name))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	if w.Repo.RefFormat == "files" {
		return false, nil
	}
	_, found, err := reftable.Own(w.Repo.GitDir, algorithm(w.Repo), name)
	return found, err
}

// CheckStage checks that Stage can turn the entries of the user's index from those of the tree head into those of the
// tree to. It changes nothing. If the user has staged changes of the same files, or the index has conflicts, the error is
// a *RefusedError.
func (w *Workspace) CheckStage(ctx context.Context, head, to objstore.ID) error {
	_, err := w.userIndex(ctx, nil, "read-tree", "-n", "-i", "-m", head.String(), to.String())
	return stageRefused(err)
}

// Stage turns the entries of the user's index from those of the tree head into those of the tree to, as a merge does.
// Entries that are equal in both trees stay as they are. It adds the conflicts. If the user has staged changes of the same
// files, or the index has conflicts already, the error is a *RefusedError, and the index is unchanged.
func (w *Workspace) Stage(ctx context.Context, head, to objstore.ID, conflicts []MergeConflict) error {
	outside, err := w.outsideSparse(ctx)
	if err != nil {
		return err
	}
	if _, err := w.userIndex(ctx, nil, "read-tree", "-i", "-m", head.String(), to.String()); err != nil {
		return stageRefused(err)
	}
	if err := w.skipAgain(ctx, outside); err != nil {
		return err
	}
	if err := w.StageConflicts(ctx, conflicts); err != nil {
		return err
	}
	return w.refreshIndex(ctx)
}

// HasStaged reports whether the user's index has the changes from the tree head to the tree to.
func (w *Workspace) HasStaged(ctx context.Context, head, to objstore.ID) (bool, error) {
	paths, err := w.ChangedPaths(ctx, head, to)
	if err != nil {
		return false, err
	}
	out, err := w.userIndex(ctx, nil, "diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", to.String(), "--")
	if err != nil {
		return false, err
	}
	differs := make(map[string]bool)
	for _, path := range splitPaths(out) {
		differs[path] = true
	}
	return !slices.ContainsFunc(paths, func(path string) bool { return differs[path] }), nil
}

// TrackedAt returns which of the paths the user's index has, as files or as folders of files.
func (w *Workspace) TrackedAt(ctx context.Context, paths []string) (map[string]bool, error) {
	out, err := w.RunGit(ctx, append([]string{"--literal-pathspecs", "ls-files", "-z", "--full-name", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	tracked := make(map[string]bool)
	for _, name := range splitPaths(out) {
		for _, path := range paths {
			if name == path || strings.HasPrefix(name, path+"/") {
				tracked[path] = true
			}
		}
	}
	return tracked, nil
}

// Exists reports whether the working copy has a file or folder at path.
func (w *Workspace) Exists(path string) bool {
	_, err := lstat(filepath.Join(w.Root, filepath.FromSlash(path)))
	return err == nil
}

// SwitchAll turns the files and the user's index from those of the tree head into those of the tree to, by one command of
// git. The index must be that of head. If git refuses because a file is in the way, the error is a *RefusedError, and nothing was
// touched. Any other error wraps ErrUnfinished.
func (w *Workspace) SwitchAll(ctx context.Context, head, to objstore.ID) error {
	_, err := w.userIndex(ctx, nil, "read-tree", "-m", "-u", "--no-recurse-submodules", head.String(), to.String())
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok || errors.Is(err, gitexec.ErrNoGit) {
		return err
	}
	if refused := readRefusals(failed.Stderr); len(refused) > 0 {
		return &RefusedError{Refused: refused}
	}
	return fmt.Errorf("%w: %w", ErrUnfinished, err)
}

// StageConflicts adds conflicts to the user's index.
func (w *Workspace) StageConflicts(ctx context.Context, conflicts []MergeConflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	var entries bytes.Buffer
	for _, c := range conflicts {
		appendIndexInfo(&entries, algorithm(w.Repo), c.Path, treeFile{}, 0)
		for i, version := range c.stages {
			if version.exists() {
				appendIndexInfo(&entries, algorithm(w.Repo), c.Path, version, i+1)
			}
		}
	}
	_, err := w.userIndex(ctx, entries.Bytes(), "update-index", "-z", "--index-info")
	return err
}

// Unstage takes Stage back: the entries of the files that differ between the trees head and to, and of the files in
// conflict, become those of head. conflicts has the paths in conflict. Other entries stay as they are.
func (w *Workspace) Unstage(ctx context.Context, head, to objstore.ID, conflicts []string) error {
	out, err := w.RunGit(ctx, diffTreeArgs(to.String(), head.String())...)
	if err != nil {
		return err
	}
	edits, err := parseEdits(out)
	if err != nil {
		return err
	}
	var entries bytes.Buffer
	known := make(map[string]bool)
	for _, e := range edits {
		known[e.path] = true
		appendIndexInfo(&entries, algorithm(w.Repo), e.path, treeFile{}, 0)
		if e.to.exists() {
			appendIndexInfo(&entries, algorithm(w.Repo), e.path, e.to, 0)
		}
	}
	// A file in conflict can be equal in both trees.
	rest := slices.DeleteFunc(slices.Clone(conflicts), func(path string) bool { return known[path] })
	for _, path := range rest {
		appendIndexInfo(&entries, algorithm(w.Repo), path, treeFile{}, 0)
	}
	if len(rest) > 0 {
		out, err := w.RunGit(ctx, append([]string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", head.String(), "--"}, rest...)...)
		if err != nil {
			return err
		}
		for _, line := range splitPaths(out) {
			info, path, _ := strings.Cut(line, "\t")
			if fields := strings.Fields(info); len(fields) == 3 && slices.Contains(rest, path) {
				file, err := parseTreeFile(fields[0], fields[2])
				if err != nil {
					return err
				}
				appendIndexInfo(&entries, algorithm(w.Repo), path, file, 0)
			}
		}
	}
	if entries.Len() == 0 {
		return nil
	}
	outside, err := w.outsideSparse(ctx)
	if err != nil {
		return err
	}
	if _, err := w.userIndex(ctx, entries.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if err := w.skipAgain(ctx, outside); err != nil {
		return err
	}
	return w.refreshIndex(ctx)
}

// userIndex runs git on the user's index. It keeps the caches that the index has.
func (w *Workspace) userIndex(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	run := gitRun{args: args, caches: true}
	if stdin != nil {
		run.stdin = bytes.NewReader(stdin)
	}
	return w.gitWith(ctx, run)
}

// refreshIndex records in the user's index which files are unchanged. A file that differs is not an error.
func (w *Workspace) refreshIndex(ctx context.Context) error {
	_, err := w.userIndex(ctx, nil, "update-index", "-q", "--refresh")
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return nil
	}
	return err
}

// stageRefused returns a *RefusedError if git refused to change the index, and otherwise err itself.
func stageRefused(err error) error {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok || failed.Status <= 0 {
		return err
	}
	var refused []Refusal
	for line := range strings.SplitSeq(failed.Stderr, "\n") {
		name, found := strings.CutPrefix(line, "error: Entry '")
		if name, ok := strings.CutSuffix(name, "' would be overwritten by merge. Cannot merge."); ok && found {
			refused = append(refused, Refusal{name, "the file has staged changes"})
		}
		if name, ok := strings.CutSuffix(line, ": needs merge"); ok {
			refused = append(refused, Refusal{name, "the file is in conflict"})
		}
		if strings.Contains(line, "you need to resolve your current index first") {
			refused = append(refused, Refusal{"", "the index has conflicts"})
		}
	}
	if len(refused) == 0 {
		return err
	}
	return &RefusedError{Refused: refused}
}

// outsideSparse returns the files of the user's index that are outside of git's sparse checkout. Without a sparse
// checkout, the result is nil.
func (w *Workspace) outsideSparse(ctx context.Context) ([]string, error) {
	if _, err := lstat(filepath.Join(w.Repo.GitDir, "info", "sparse-checkout")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	listed, err := w.RunGit(ctx, "ls-files", "-z", "-t")
	if err != nil {
		return nil, err
	}
	var outside []string
	for _, line := range splitPaths(listed) {
		if name, ok := strings.CutPrefix(line, "S "); ok {
			outside = append(outside, name)
		}
	}
	return outside, nil
}

// skipAgain marks the files in outside that the user's index still has as outside of the sparse checkout.
func (w *Workspace) skipAgain(ctx context.Context, outside []string) error {
	if len(outside) == 0 {
		return nil
	}
	listed, err := w.RunGit(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, name := range splitPaths(listed) {
		there[name] = true
	}
	var skipped bytes.Buffer
	for _, name := range outside {
		if there[name] {
			skipped.WriteString(name + "\x00")
		}
	}
	_, err = w.userIndex(ctx, skipped.Bytes(), "update-index", "-z", "--skip-worktree", "--stdin")
	return err
}

// CommitTree makes a commit with the user's name, and without hooks. It signs the commit if sign is true. It moves no ref.
func (w *Workspace) CommitTree(ctx context.Context, tree objstore.ID, parent, message string, sign bool) (string, error) {
	args := []string{"commit-tree", "-p", parent, "-F", "-"}
	if sign {
		args = append(args, "-S")
	}
	out, err := w.gitWith(ctx, gitRun{args: append(args, tree.String()), stdin: strings.NewReader(message)})
	return strings.TrimSpace(string(out)), err
}

// MoveHead moves HEAD, and the branch that is checked out, from the commit before to the commit to. note is for the
// reflog. It fails if HEAD is not at before.
func (w *Workspace) MoveHead(ctx context.Context, note, to, before string) error {
	_, err := w.RunGit(ctx, "update-ref", "--create-reflog", "-m", note, "HEAD", to, before)
	return err
}

// PrepareMessage writes the message that git's next commit proposes.
func (w *Workspace) PrepareMessage(message string) error {
	return os.WriteFile(filepath.Join(w.Repo.GitDir, mergeMessage), []byte(message), 0o666) //nolint:gosec // as git does: the umask decides
}

// PreparedMessage returns the message that git's next commit proposes, or nil if there is none.
func (w *Workspace) PreparedMessage() ([]byte, error) {
	found, err := os.ReadFile(filepath.Join(w.Repo.GitDir, mergeMessage))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

// ForgetMessage replaces the message that the next commit proposes by the message before, if it has the given line. A nil
// before means no message.
func (w *Workspace) ForgetMessage(line string, before []byte) error {
	found, err := w.PreparedMessage()
	if err != nil || !slices.Contains(strings.Split(string(found), "\n"), line) {
		return err
	}
	if before != nil {
		return w.PrepareMessage(string(before))
	}
	return os.Remove(filepath.Join(w.Repo.GitDir, mergeMessage))
}

// mergeMessage is the file in git's directory with the message that the next commit proposes.
const mergeMessage = "MERGE_MSG"

// MergeBase returns a best common ancestor of two commits, or "" if they have none.
func (w *Workspace) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := w.RunGit(ctx, "merge-base", a, b)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}
