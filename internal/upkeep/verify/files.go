package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// fileVerifier checks captured files. It reads each object once, because frames and runs share most objects,
// and computes the size of a tree from the sizes of its subtrees.
type fileVerifier struct {
	objects objstore.Reader
	checked map[objstore.ID]*fileDamage       // the checked objects; nil for a sound object
	sizes   map[objstore.ID]objstore.TreeSize // the sizes of the sound trees
	// onlyTrees makes the verifier leave blobs unread, because git has checked their bytes.
	onlyTrees bool
	// absent collects the missing objects that a remote may promise. It is nil if the repository is not a
	// partial clone. lost has the missing objects that no remote promises.
	absent, lost map[objstore.ID]bool
}

// mayLack reports whether the repository may lack the object id: the repository is a partial clone, and id is
// not in lost. If so, mayLack adds id to absent.
func (v *fileVerifier) mayLack(id objstore.ID) bool {
	if v.absent == nil || v.lost[id] {
		return false
	}
	v.absent[id] = true
	return true
}

// fileDamage is one damaged place in a captured tree.
type fileDamage struct {
	name  string      // the damaged entry of the tree; "" if the tree itself is damaged
	below *fileDamage // the damage inside that entry; nil if name is ""
	err   error       // the reason
}

// shownNames is the maximal number of names of a path in an error, and shownBytes the maximal length of a name in
// bytes. A hostile path may have thousands of names.
const (
	shownNames = 64
	shownBytes = 256
)

// path returns the path to the damage. An ellipsis replaces names after the first shownNames names, and the
// end of a name longer than shownBytes.
func (d *fileDamage) path() string {
	var names []string
	for ; d != nil && d.name != ""; d = d.below {
		if len(names) == shownNames {
			names = append(names, "…")
			break
		}
		name := d.name
		if len(name) > shownBytes {
			name = strings.ToValidUTF8(name[:shownBytes], "") + "…"
		}
		names = append(names, name)
	}
	return strings.Join(names, "/")
}

// newFileVerifier returns a fileVerifier for a repository that is not a partial clone. It has read nothing
// yet.
func newFileVerifier(objects objstore.Reader) *fileVerifier {
	return &fileVerifier{
		objects: objects, checked: make(map[objstore.ID]*fileDamage), sizes: make(map[objstore.ID]objstore.TreeSize),
	}
}

// captured checks all objects that the captured trees in vcs reach: the trees of the shared working copy and of the
// tasks' worktrees. vcs may be nil.
func (v *fileVerifier) captured(ctx context.Context, vcs *snapshot.VCS) error {
	if vcs == nil {
		return nil
	}
	if err := v.root(ctx, "worktree", vcs.Tree); err != nil {
		return err
	}
	for _, w := range vcs.Worktrees {
		if err := v.root(ctx, fmt.Sprintf("worktree of %q", w.Name), w.Tree); err != nil {
			return err
		}
	}
	return nil
}

// carried checks that the repository has all objects of other engines' data, of attachments, and of collections that a
// newer version wrote, in entry. It does not check the meaning of these data.
func (v *fileVerifier) carried(ctx context.Context, entry *snapshot.Entry) error {
	parts, err := entry.Carried()
	if err != nil {
		return err
	}
	for _, part := range parts {
		damage := v.entry(ctx, part, objstore.TreeSize{})
		if damage == nil {
			damage = tooLarge(v.sizes[part.ID], part.ID)
		}
		if err := v.check(part.Name, damage); err != nil {
			return err
		}
	}
	return nil
}

// attempts checks the trees that the attempts in the journal of entry name. It ignores an unreadable journal,
// because the check of the entry reports such a problem.
func (v *fileVerifier) attempts(ctx context.Context, entry *snapshot.Entry) error {
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return nil // the check of the entry reports the problem
		}
		if err := v.root(ctx, fmt.Sprintf("attempt %q", snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)), a.Tree); err != nil {
			return err
		}
	}
	return nil
}

// root checks the tree with the given id and all objects that it reaches. The zero id means that no files were
// captured, so it is no error. Errors begin with treeName, a text that names the tree.
func (v *fileVerifier) root(ctx context.Context, treeName string, id objstore.ID) error {
	if id.IsZero() {
		return nil
	}
	damage := v.object(ctx, id, objstore.Tree, objstore.TreeSize{})
	if damage == nil {
		damage = tooLarge(v.sizes[id], id)
	}
	return v.check(treeName, damage)
}

// tooLarge returns damage if size, the size of the tree id, exceeds the limits, and otherwise nil.
func tooLarge(size objstore.TreeSize, id objstore.ID) *fileDamage {
	if err := size.Check(id); err != nil {
		return &fileDamage{err: err}
	}
	return nil
}

// check returns nil if damage is nil, and otherwise damage as an error. The error begins with
// treeName, a text that names the tree.
func (v *fileVerifier) check(treeName string, damage *fileDamage) error {
	switch {
	case damage == nil:
		return nil
	case damage.name == "":
		return fmt.Errorf("%s: %w", treeName, damage.err)
	}
	return fmt.Errorf("%s: %q: %w", treeName, damage.path(), damage.err)
}

// entry checks the object of e, an entry of a tree, and all objects that this object reaches. above is the size of the
// trees above. entry skips submodules, because other repositories have their commits.
func (v *fileVerifier) entry(ctx context.Context, e objstore.TreeEntry, above objstore.TreeSize) *fileDamage {
	switch e.Mode {
	case objstore.ModeCommit:
		return nil
	case objstore.ModeTree:
		return v.object(ctx, e.ID, objstore.Tree, above)
	case objstore.ModeFile, objstore.ModeExecutable, objstore.ModeSymlink:
	}
	return v.object(ctx, e.ID, objstore.Blob, above)
}

// object checks the object id of the given kind: a blob, or a tree and all objects that the tree reaches. It returns
// nil if they are sound, or if a promised object is missing in a partial clone. With onlyTrees, it does not read blobs.
// above is the size of the trees on the path to the object.
func (v *fileVerifier) object(ctx context.Context, id objstore.ID, kind objstore.Kind, above objstore.TreeSize) *fileDamage {
	if damage, ok := v.checked[id]; ok {
		return damage
	}
	if kind == objstore.Blob && v.onlyTrees {
		return nil
	}
	data, err := objstore.GetKind(v.objects, id, kind)
	var damage *fileDamage
	switch {
	case errors.Is(err, objstore.ErrNotFound) && v.mayLack(id):
	case err != nil:
		damage = &fileDamage{err: err}
	case kind == objstore.Tree:
		damage = v.tree(ctx, id, data, above)
	}
	// A tree that is too deep on this path may be within the limits on a shorter path, so it is checked again there.
	if ctx.Err() == nil && (damage == nil || !errors.Is(damage.err, objstore.ErrTreeSize)) {
		v.checked[id] = damage
	}
	return damage
}

// tree checks the tree id, with the content data, and all objects that it reaches. It first checks the sizes
// of this tree and of the trees above, because these trees stay in memory meanwhile.
func (v *fileVerifier) tree(ctx context.Context, id objstore.ID, data []byte, above objstore.TreeSize) *fileDamage {
	entries, err := objstore.DecodeForeignTree(id, data)
	if err == nil {
		above = above.With(entries)
		err = above.Check(id)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return &fileDamage{err: err}
	}
	above.Depth++
	var size objstore.TreeSize
	for _, e := range entries {
		if damage := v.entry(ctx, e, above); damage != nil {
			return &fileDamage{e.Name, damage, damage.err}
		}
		var below objstore.TreeSize
		if e.Mode == objstore.ModeTree {
			below = v.sizes[e.ID]
		}
		size.Add(e, below)
	}
	v.sizes[id] = size
	return nil
}
