package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

// emptyTree is the id of the empty tree. git write-tree prints this id for an empty working copy, but writes no object.
var emptyTree = objstore.Hash(objstore.Tree, nil)

// worktreesTree returns the tree object worktrees/, which contains the captured trees of the tasks' own
// worktrees. It returns nil if no worktree has a tree. v may be nil.
func (v *VCS) worktreesTree() []byte {
	var entries []objstore.TreeEntry
	if v != nil {
		for _, w := range v.Worktrees {
			if !w.Tree.IsZero() {
				entries = append(entries, objstore.TreeEntry{Name: escape(w.Name, plainTable), Mode: objstore.ModeTree, ID: w.Tree})
			}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return objstore.EncodeTree(entries)
}

// checkWorktrees returns an error that wraps objstore.ErrCorrupt if the captured trees in the entry differ from
// the trees in vcs, the content of vcs.json. A nil vcs has no trees.
func (e *Entry) checkWorktrees(vcs *VCS) error {
	var worktree, worktrees objstore.ID
	if vcs != nil {
		worktree = vcs.Tree
	}
	if data := vcs.worktreesTree(); data != nil {
		worktrees = objstore.Hash(objstore.Tree, data)
	}
	for _, want := range []struct {
		name string
		id   objstore.ID
	}{{worktreeName, worktree}, {worktreesName, worktrees}} {
		have, err := e.part(want.name)
		if err != nil {
			return err
		}
		if have != want.id {
			return corrupt(e.Tree, "entry: %s is not the tree in vcs.json", want.name)
		}
	}
	return nil
}

// writeVCS stores the draft's working copy in the entry, and sets the header's VCS. If the working copy equals
// prev's, vcs.json stays unchanged and names the frame of the first such capture. Without a working copy in the draft,
// the entry keeps prev's. The error wraps ErrInvalid if the working copy cannot be stored.
func (a *appender) writeVCS() error {
	var before *VCS
	if a.prev != nil {
		var err error
		if before, err = a.prev.VCSRevision(); err != nil {
			return err
		}
	}
	now := a.stored.vcs
	if now == nil {
		a.next.vcs.set(before)
		return nil
	}
	now.date(before, a.run.Frame)
	if err := now.check(); err != nil {
		return invalid("vcs: %w", err)
	}
	a.next.vcs.set(now)
	a.next.VCS = now.summary()
	data := encodeVCS(*now)
	if before != nil && string(data) == string(encodeVCS(*before)) { // a.parts has these already
		return nil
	}
	if err := a.putFile(vcsName, data, maxDocument); err != nil {
		return err
	}
	return a.writeWorktrees(now)
}

// writeWorktrees stores the captured trees of vcs in the entry, after the draft's Objects has added their
// objects. If a tree is still missing, the error wraps ErrInvalid.
func (a *appender) writeWorktrees(vcs *VCS) error {
	if a.draft.Objects != nil {
		if err := a.draft.Objects(a.w); err != nil {
			return fmt.Errorf("captured files: %w", err)
		}
	}
	if err := a.checkTree("vcs", vcs.Tree); err != nil {
		return err
	}
	for _, w := range vcs.Worktrees {
		if err := a.checkTree(fmt.Sprintf("vcs: worktree %q", w.Name), w.Tree); err != nil {
			return err
		}
	}
	a.put(worktreeName, vcs.Tree)
	a.put(worktreesName, objstore.ID{})
	if data := vcs.worktreesTree(); data != nil {
		a.put(worktreesName, a.w.Add(objstore.Tree, data))
	}
	return nil
}

// checkTree returns an error that wraps ErrInvalid if the tree with the given id is not in the repository. The zero
// id is valid. what names the tree's owner at the beginning of the error. checkTree adds the empty tree, for which
// git writes no object. It does not check the objects that the tree reaches: the caller that captured the files is
// responsible.
func (a *appender) checkTree(what string, id objstore.ID) error {
	if id == emptyTree {
		a.w.Add(objstore.Tree, nil)
	}
	if id.IsZero() || id == emptyTree {
		return nil
	}
	kind, _, err := a.w.Get(id)
	if errors.Is(err, objstore.ErrNotFound) || err == nil && kind != objstore.Tree {
		return invalid("%s: treeId: tree %v is missing in the repository", what, id)
	}
	return err
}
