package snapshot

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
)

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
		worktrees = e.ID.Algorithm().ID(objstore.Tree, data)
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

// writeVCS stores the draft's working copy in the entry, and sets the header's VCS. If the draft has no working copy,
// the entry keeps the working copy of the previous entry. If the two working copies are equal, the entry keeps
// vcs.json unchanged, so VCS.Frame is still the frame that first captured this working copy. If the working copy
// cannot be stored, the error wraps ErrInvalid.
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
	if before != nil && string(data) == string(encodeVCS(*before)) { // a.parts already has vcs.json and the trees
		return nil
	}
	if err := a.putFile(vcsName, data, maxDocument); err != nil {
		return err
	}
	return a.writeWorktrees(now)
}

// writeWorktrees stores the captured trees of vcs in the entry: the tree of the working copy and the trees of the
// tasks' worktrees. It first calls the draft's Objects, which adds the objects of these trees to the repository. If
// the repository then still lacks one of the trees, the error wraps ErrInvalid.
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
	a.put(worktreesName, objstore.ID{}) // removes the previous entry's trees
	if data := vcs.worktreesTree(); data != nil {
		a.put(worktreesName, a.w.Add(objstore.Tree, data))
	}
	return nil
}

// checkTree returns an error that wraps ErrInvalid if the repository does not have the tree with the given id. The
// zero id is valid. The error begins with the text in the parameter what, which names the owner of the tree. checkTree
// adds the empty tree, for which git writes no object. It does not check the objects that the tree reaches: the caller
// that captured the files is responsible.
func (a *appender) checkTree(what string, id objstore.ID) error {
	if id.IsEmptyTree() { // git write-tree prints this id for an empty working copy, but writes no object
		a.w.Add(objstore.Tree, nil)
		return nil
	}
	if id.IsZero() {
		return nil
	}
	kind, _, err := a.w.Get(id)
	if errors.Is(err, objstore.ErrNotFound) || err == nil && kind != objstore.Tree {
		return invalid("%s: treeId: tree %v is missing in the repository", what, id)
	}
	return err
}
