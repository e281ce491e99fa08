package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// fileVerifier checks captured files. It reads each object once, because frames and runs share most of them, and
// computes the size of a tree from the sizes of its subtrees.
type fileVerifier struct {
	objects objstore.Reader
	checked map[objstore.ID]*fileDamage       // nil if the object is sound
	sizes   map[objstore.ID]objstore.TreeSize // sizes of the sound trees
	// onlyTrees leaves blobs unread.
	onlyTrees bool
	// absent is nil unless the repository is a partial clone. It collects the missing objects that a remote may
	// promise. lost has the missing objects that no remote promises.
	absent, lost map[objstore.ID]bool
}

// mayLack reports whether an object may be missing, as far as is known, and records it as absent.
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
	below *fileDamage // the damage inside that entry; nil if the entry itself is damaged
	err   error
}

// shownNames limits the names of a path in an error, and shownBytes the length of each: a path may have thousands of
// names.
const (
	shownNames = 64
	shownBytes = 256
)

// path returns the path to the damage, shortened if the path or a name is long.
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

func newFileVerifier(objects objstore.Reader) *fileVerifier {
	return &fileVerifier{
		objects: objects, checked: make(map[objstore.ID]*fileDamage), sizes: make(map[objstore.ID]objstore.TreeSize),
	}
}

// captured checks all objects that the trees of a working copy reach. vcs may be nil.
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

// carried checks that an entry has all objects of other engines' data. It does not check their content.
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

// attempts checks the trees that the attempts of an entry's journal name.
func (v *fileVerifier) attempts(ctx context.Context, entry *snapshot.Entry) error {
	attempts, err := entry.Attempts()
	if err != nil {
		return nil // already reported as a problem of the entry
	}
	for row, err := range attempts.Rows() {
		if err != nil {
			return nil // the same
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return nil // the same
		}
		if err := v.root(ctx, fmt.Sprintf("attempt %q", row.Key), a.Tree); err != nil {
			return err
		}
	}
	return nil
}

// root checks a whole tree. what names the tree in the error. The zero id has no tree.
func (v *fileVerifier) root(ctx context.Context, what string, id objstore.ID) error {
	if id.IsZero() {
		return nil
	}
	damage := v.object(ctx, id, objstore.Tree, objstore.TreeSize{})
	if damage == nil {
		damage = tooLarge(v.sizes[id], id)
	}
	return v.check(what, damage)
}

// tooLarge returns an error if a tree exceeds the limits, or nil.
func tooLarge(size objstore.TreeSize, id objstore.ID) *fileDamage {
	if err := size.Check(id); err != nil {
		return &fileDamage{err: err}
	}
	return nil
}

// check returns damage as an error about what, or nil.
func (v *fileVerifier) check(what string, damage *fileDamage) error {
	switch {
	case damage == nil:
		return nil
	case damage.name == "":
		return fmt.Errorf("%s: %w", what, damage.err)
	}
	return fmt.Errorf("%s: %q: %w", what, damage.path(), damage.err)
}

// entry checks the object of a tree's entry. It skips submodules, which belong to other repositories.
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

// object checks a blob, or a tree and all that it reaches. above is the size of the trees on the path to the object.
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
	// A tree that is too deep on this path may be within the limits on a shorter one.
	if ctx.Err() == nil && (damage == nil || !errors.Is(damage.err, objstore.ErrTreeSize)) {
		v.checked[id] = damage
	}
	return damage
}

// tree checks all that a tree reaches. It first checks the size of this tree and those above, because they stay in
// memory meanwhile.
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
