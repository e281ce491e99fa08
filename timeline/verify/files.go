package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// fileVerifier checks captured files. Frames and runs share most of them, so each object is
// read once, and a tree is measured by the sizes of those below it.
type fileVerifier struct {
	objects objstore.Reader
	checked map[objstore.ID]*fileDamage       // nil: sound
	sizes   map[objstore.ID]objstore.TreeSize // of the trees among them that are sound
	// onlyTrees leaves blobs unread.
	onlyTrees bool
	// absent gathers what a partial clone lacks, as if its remote promised it; nil in any other repository. lost is what
	// the remote does not promise.
	absent, lost map[objstore.ID]bool
}

// mayLack reports whether an object may be missing, as far as is known.
func (v *fileVerifier) mayLack(id objstore.ID) bool {
	if v.absent == nil || v.lost[id] {
		return false
	}
	v.absent[id] = true
	return true
}

// fileDamage is one thing that is wrong below a captured tree.
type fileDamage struct {
	name  string      // of the tree's entry that is damaged; "" if the tree itself is
	below *fileDamage // inside that entry; nil if the entry itself is damaged
	err   error
}

// shownNames and shownBytes are how many names, and how much of each, an error has of a path: it may have thousands.
const (
	shownNames = 64
	shownBytes = 256
)

// path returns the path to the damage. It shortens long names, and long paths.
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

// captured checks all that the trees of a working copy reach; a nil one has none.
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

// carried checks that all objects of what other engines keep in an entry are there. What they say
// is not ours to judge.
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
		if err := v.root(ctx, fmt.Sprintf("attempt %q", row.Key), a.Tree); err != nil {
			return err
		}
	}
	return nil
}

// root checks a whole tree, which what names; the zero id is none.
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

// tooLarge is the damage of a tree beyond the bounds; nil within them.
func tooLarge(size objstore.TreeSize, id objstore.ID) *fileDamage {
	if err := size.Check(id); err != nil {
		return &fileDamage{err: err}
	}
	return nil
}

// check is damage as the error about what.
func (v *fileVerifier) check(what string, damage *fileDamage) error {
	switch {
	case damage == nil:
		return nil
	case damage.name == "":
		return fmt.Errorf("%s: %w", what, damage.err)
	}
	return fmt.Errorf("%s: %q: %w", what, damage.path(), damage.err)
}

// entry checks what an entry of a tree is. Submodules are other repositories' business.
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

// object checks a tree and what it reaches, or a blob. above is what the trees have that lead to it.
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
	// What is too much here may not be so where fewer folders lead to it.
	if ctx.Err() == nil && (damage == nil || !errors.Is(damage.err, objstore.ErrTreeSize)) {
		v.checked[id] = damage
	}
	return damage
}

// tree checks what a tree reaches. The trees above stay in memory meanwhile, so they and this one are measured first.
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
