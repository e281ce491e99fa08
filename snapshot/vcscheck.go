package snapshot

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// check returns an error if the working copy, or one of its Worktrees, cannot be stored. The type and the scope must
// be known, and Scope and Tree must be set together. The ids must consist of lower-case letters and digits, Branch
// must be UTF-8, and Frame must be in range. Root, the lists of files and the list of worktrees must be valid, and the
// keys of attempts must be valid and sorted, without repeats.
func (v *VCS) check() error {
	switch {
	case v.Type != VCSGit && v.Type != VCSJJ:
		return fmt.Errorf("type: unknown type %q", v.Type)
	case !isRevision(v.CommitID):
		return fmt.Errorf("commitId: %w", revisionError(v.CommitID))
	case !isRevision(v.ChangeID):
		return fmt.Errorf("changeId: %w", revisionError(v.ChangeID))
	case !isRevision(v.Operation):
		return fmt.Errorf("operationId: %w", revisionError(v.Operation))
	case !utf8.ValidString(v.Branch):
		return errors.New("branch: not UTF-8")
	case v.Frame < 0 || v.Frame > row.MaxInteger:
		return errors.New("frame: out of range")
	case v.Tree.IsZero() != (v.Scope == ""):
		return errors.New("scope or treeId: set without the other")
	case v.Scope != "" && v.Scope != ScopeAll && v.Scope != ScopeTracked:
		return fmt.Errorf("scope: unknown scope %q", v.Scope)
	}
	if err := checkRoot(v.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if err := checkAttemptKeys(v.Attempts); err != nil {
		return fmt.Errorf("attempts: %w", err)
	}
	if err := v.checkFiles(); err != nil {
		return err
	}
	return v.checkWorktrees()
}

// checkFiles returns an error if LeftOut or Altered cannot be stored: if a list is too long, is not sorted by path or
// has repeats, or if a file or a count of further files is invalid.
func (v *VCS) checkFiles() error {
	if v.LeftOutMore < 0 || v.LeftOutMore > row.MaxInteger || v.AlteredMore < 0 || v.AlteredMore > row.MaxInteger {
		return errors.New("leftOutMore or alteredMore: out of range")
	}
	if len(v.LeftOut) > MaxListed || len(v.Altered) > MaxListed {
		return fmt.Errorf("leftOut or altered: more than %d files", MaxListed)
	}
	for i, l := range v.LeftOut {
		if err := l.check(); err != nil {
			return fmt.Errorf("leftOut: %q: %w", l.Path, err)
		}
		if i > 0 && v.LeftOut[i-1].Path >= l.Path {
			return fmt.Errorf("leftOut: %q: not sorted by path, or repeated", l.Path)
		}
	}
	for i, a := range v.Altered {
		if err := a.check(); err != nil {
			return fmt.Errorf("altered: %q: %w", a.Path, err)
		}
		if i > 0 && v.Altered[i-1].Path >= a.Path {
			return fmt.Errorf("altered: %q: not sorted by path, or repeated", a.Path)
		}
	}
	return nil
}

// check returns an error if l cannot be stored: if the reason is unknown, the size is out of range, or the path is
// invalid. The path may end with a slash, and may be "" only for the reason LeftUntracked.
func (l LeftOut) check() error {
	switch l.Reason {
	case LeftUntracked:
		if l.Path == "" {
			return checkBytes(l.Bytes)
		}
	case LeftTooLarge, LeftEmbedded, LeftByJJ, LeftUnreadable, LeftSecret, LeftDirty:
	default:
		return fmt.Errorf("reason: unknown reason %q", l.Reason)
	}
	if err := checkBytes(l.Bytes); err != nil {
		return err
	}
	return checkFilePath(strings.TrimSuffix(l.Path, "/"))
}

// checkBytes returns an error if n cannot be the size of a file.
func checkBytes(n int64) error {
	if n < 0 || n > row.MaxInteger {
		return errors.New("bytes: out of range")
	}
	return nil
}

// check returns an error if the altered file cannot be stored: if By is empty or not UTF-8, or the path is invalid.
func (a AlteredFile) check() error {
	if a.By == "" || !utf8.ValidString(a.By) {
		return errors.New("by: empty or not UTF-8")
	}
	return checkFilePath(a.Path)
}

// checkWorktrees returns an error if the tasks' worktrees cannot be stored: if a worktree or its name is invalid, if a
// worktree has worktrees itself, or if the list is not sorted by name or has repeats.
func (v *VCS) checkWorktrees() error {
	for i := range v.Worktrees {
		w := &v.Worktrees[i]
		if err := checkWorktreeName(w.Name); err != nil {
			return fmt.Errorf("worktrees: %w", err)
		}
		if i > 0 && v.Worktrees[i-1].Name >= w.Name {
			return fmt.Errorf("worktrees: %q: not sorted by name, or repeated", w.Name)
		}
		if len(w.Worktrees) > 0 {
			return fmt.Errorf("worktrees: %q has worktrees of its own", w.Name)
		}
		if err := w.check(); err != nil {
			return fmt.Errorf("worktrees: %q: %w", w.Name, err)
		}
	}
	return nil
}

// checkWorktreeName returns an error if name cannot be the name of a task's worktree: if name is empty, not UTF-8, or
// longer than maxTable when escaped. In a tree, the name is escaped like the name of an output table.
func checkWorktreeName(name string) error {
	switch {
	case name == "":
		return errors.New("empty name")
	case !utf8.ValidString(name):
		return fmt.Errorf("name %q is not UTF-8", name)
	case len(escape(name, plainTable)) > maxTable:
		return fmt.Errorf("name %q has more than %d bytes when escaped", name, maxTable)
	}
	return nil
}

// checkAttemptKeys returns an error if a key is not the key of an attempt or not UTF-8, or if keys are not sorted or
// have repeats.
func checkAttemptKeys(keys []string) error {
	for _, key := range keys {
		if _, _, _, err := SplitAttemptKey(key); err != nil {
			return err
		}
		if !utf8.ValidString(key) {
			return fmt.Errorf("%q: not UTF-8", key)
		}
	}
	if !row.IsSet(keys) {
		return errors.New("not sorted, or a key is repeated")
	}
	return nil
}

// checkRoot returns an error unless root is the shortest spelling of a relative path, in UTF-8 and without a NUL. The
// path may lead out of the folder that it is relative to. The path "" is valid.
func checkRoot(root string) error {
	switch {
	case strings.ContainsRune(root, 0) || !utf8.ValidString(root):
		return fmt.Errorf("not UTF-8, or contains a NUL: %q", root)
	case namesMachine(root):
		return fmt.Errorf("absolute path %q", root)
	case root != "" && (root == "." || path.Clean(root) != root):
		return fmt.Errorf("not the shortest spelling of the path: %q", root)
	}
	return nil
}

// namesMachine reports whether p is an absolute path, or a drive, on any system.
func namesMachine(p string) bool {
	// Setting the bit 0x20 makes an ASCII letter lower-case.
	drive := len(p) > 1 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z' &&
		(len(p) == 2 || p[2] == '/' || p[2] == '\\')
	return path.IsAbs(p) || strings.HasPrefix(p, `\`) || drive
}

// checkFilePath returns an error if p cannot be the path of a file in a git tree: if a part of p is empty, "." or
// "..", or contains a NUL.
func checkFilePath(p string) error {
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return errors.New("path: must be relative to the top of the working copy, without \".\", \"..\" and empty parts")
		}
	}
	return nil
}
