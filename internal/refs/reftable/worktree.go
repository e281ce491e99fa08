package reftable

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// folder is the name of the folder of a stack in a git directory.
const folder = "reftable"

// Own returns the value of a ref that each worktree has for itself, such as HEAD or CHERRY_PICK_HEAD. gitDir is the worktree's own git
// directory. found is false if the ref or the folder of the stack does not exist.
func Own(gitDir string, hash objstore.Algorithm, name string) (rec Record, found bool, err error) {
	view, err := Open(filepath.Join(gitDir, folder), hash).Look()
	if errors.Is(err, ErrAbsent) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	return view.Get(name)
}

// Head returns the commit and the branch of HEAD in the worktree with the git directory gitDir. branch is the part of the name
// behind refs/heads/, or "" if HEAD is detached. ok is false if HEAD has no commit or names another kind of ref, or if a stack cannot be read.
func Head(gitDir, commonDir string, hash objstore.Algorithm) (commit objstore.ID, branch string, ok bool) {
	head, found, err := Own(gitDir, hash, "HEAD")
	if err != nil || !found {
		return objstore.ID{}, "", false
	}
	if head.Target != "" {
		if branch, ok = strings.CutPrefix(head.Target, "refs/heads/"); !ok {
			return objstore.ID{}, "", false
		}
		if head, _, err = Own(commonDir, hash, head.Target); err != nil {
			return objstore.ID{}, "", false
		}
	}
	return head.ID, branch, !head.ID.IsZero()
}

// OwnIDs returns the ids at the refs that the worktree with the git directory gitDir has for itself. In the common directory, these are
// the refs outside refs/. Without a stack, it returns nil.
func OwnIDs(gitDir string, hash objstore.Algorithm, common bool) (ids []objstore.ID, err error) {
	view, err := Open(filepath.Join(gitDir, folder), hash).Look()
	if errors.Is(err, ErrAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for rec, err := range view.Each("", "") {
		if err != nil {
			return nil, err
		}
		if !rec.ID.IsZero() && (!common || !strings.HasPrefix(rec.Name, "refs/")) {
			ids = append(ids, rec.ID)
		}
	}
	return ids, nil
}
