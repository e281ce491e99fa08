package timeline

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// maxTreeDepth is how deep folders may be nested: twice as deep as git reads them.
const maxTreeDepth = 4096

// fileVerifier checks captured files. Frames share most of them, so each object is
// read once.
type fileVerifier struct {
	objects objstore.Reader
	checked map[objstore.ID]*fileDamage // nil: sound
	// onlyTrees leaves blobs unread.
	onlyTrees bool
}

// fileDamage is one thing that is wrong below a captured tree.
type fileDamage struct {
	path string // relative to that tree; "" for the tree itself
	err  error
}

func newFileVerifier(objects objstore.Reader) *fileVerifier {
	return &fileVerifier{objects: objects, checked: make(map[objstore.ID]*fileDamage)}
}

// captured checks all that the trees of a working copy reach; a nil one has none.
func (v *fileVerifier) captured(vcs *snapshot.VCS) error {
	if vcs == nil {
		return nil
	}
	if err := v.root("worktree", vcs.Tree); err != nil {
		return err
	}
	for _, w := range vcs.Worktrees {
		if err := v.root(fmt.Sprintf("worktree of %q", w.Name), w.Tree); err != nil {
			return err
		}
	}
	return nil
}

// carried checks that all objects of what other engines keep in an entry are there. What they say
// is not ours to judge.
func (v *fileVerifier) carried(entry *snapshot.Entry) error {
	parts, err := entry.Carried()
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := v.check(part.Name, v.entry(part, 0)); err != nil {
			return err
		}
	}
	return nil
}

// attempts checks the trees that the attempts of an entry's journal name.
func (v *fileVerifier) attempts(entry *snapshot.Entry) error {
	attempts, err := entry.Attempts()
	if err != nil {
		return nil // what is wrong with the journal is a problem of the entry already
	}
	for row, err := range attempts.Rows() {
		if err != nil {
			return nil // the same
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return nil // the same
		}
		if err := v.root(fmt.Sprintf("attempt %q", row.Key), a.Tree); err != nil {
			return err
		}
	}
	return nil
}

// root checks a whole tree, which what names; the zero id is none.
func (v *fileVerifier) root(what string, id objstore.ID) error {
	if id.IsZero() {
		return nil
	}
	return v.check(what, v.object(id, objstore.Tree, 0))
}

// check is damage as the error about what.
func (v *fileVerifier) check(what string, damage *fileDamage) error {
	switch {
	case damage == nil:
		return nil
	case damage.path == "":
		return fmt.Errorf("%s: %w", what, damage.err)
	}
	return fmt.Errorf("%s: %q: %w", what, damage.path, damage.err)
}

// entry checks what an entry of a tree is. Submodules are other repositories' business.
func (v *fileVerifier) entry(e objstore.TreeEntry, depth int) *fileDamage {
	switch e.Mode {
	case objstore.ModeCommit:
		return nil
	case objstore.ModeTree:
		return v.object(e.ID, objstore.Tree, depth)
	case objstore.ModeFile, objstore.ModeExecutable, objstore.ModeSymlink:
	}
	return v.object(e.ID, objstore.Blob, depth)
}

// object checks a tree and what it reaches, or a blob.
func (v *fileVerifier) object(id objstore.ID, kind objstore.Kind, depth int) *fileDamage {
	if damage, ok := v.checked[id]; ok {
		return damage
	}
	if kind == objstore.Blob && v.onlyTrees {
		return nil
	}
	data, err := objstore.GetKind(v.objects, id, kind)
	var damage *fileDamage
	switch {
	case err != nil:
		damage = &fileDamage{err: err}
	case kind == objstore.Tree:
		damage = v.tree(id, data, depth)
	}
	v.checked[id] = damage
	return damage
}

// tree checks what a tree reaches.
func (v *fileVerifier) tree(id objstore.ID, data []byte, depth int) *fileDamage {
	entries, err := objstore.DecodeForeignTree(id, data)
	if err == nil && depth > maxTreeDepth {
		err = &objstore.CorruptError{ID: id, Reason: "nested too deep"}
	}
	if err != nil {
		return &fileDamage{err: err}
	}
	for _, e := range entries {
		damage := v.entry(e, depth+1)
		switch {
		case damage == nil:
		case damage.path == "":
			return &fileDamage{e.Name, damage.err}
		default:
			return &fileDamage{e.Name + "/" + damage.path, damage.err}
		}
	}
	return nil
}
