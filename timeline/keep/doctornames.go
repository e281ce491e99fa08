package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// names looks for refs whose names are none of ours, and for names that file systems
// which do not tell case apart take for one.
func (e *examination) names(ctx context.Context) error {
	folded := make(map[string]refs.Name)
	for _, item := range e.refs.Items {
		fold := strings.ToLower(string(item.Name))
		other, twice := folded[fold]
		folded[fold] = item.Name
		if !item.Ours {
			e.malformed(item)
		}
		if twice {
			e.note(Finding{
				Kind: CaseCollision, Where: string(item.Name),
				What: fmt.Sprintf("differs from %s by case alone: some file systems keep one of them", other),
			}, nil)
		}
	}
	return ctx.Err()
}

// malformed notes a ref whose name is none of ours. That of a tip whose entry tells the
// right one is renamed.
func (e *examination) malformed(item refs.Item) {
	f := Finding{Kind: MalformedName, Where: string(item.Name), What: "no ref of ours is called so, and nothing here reads it"}
	if item.Broken != nil {
		f.What += "; " + item.Broken.Error()
		f.Repair = "moves the file away"
		e.note(f, func(context.Context) error { return e.moveAside(item.File) })
		return
	}
	entry, err := snapshot.ReadEntry(e.parts.Objects, item.ID)
	if err != nil || !isIn(item.Name, refs.TipsFolder) {
		e.note(f, nil)
		return
	}
	right, err := refs.Tip(entry.Run)
	if err != nil {
		e.note(f, nil)
		return
	}
	f.Repair = fmt.Sprintf("the run is %q: the ref becomes %s, unless that is further already", entry.Run, right)
	e.note(f, func(ctx context.Context) error { return e.rename(ctx, item, right) })
}

// rename makes the ref that a malformed one should be, and deletes that one. Where the
// right one is of another history both stay.
func (k *Keeper) rename(ctx context.Context, item refs.Item, right refs.Name) error {
	current, err := k.parts.Refs.Resolve(ctx, right)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if !k.descends(current, item.ID) {
		if !current.IsZero() && !k.descends(item.ID, current) {
			return fmt.Errorf("%w: %s is of another history", refs.ErrConflict, right)
		}
		if err := k.parts.Refs.Apply(ctx, refs.Update{Name: right, Old: current, New: item.ID}); err != nil {
			return err
		}
	}
	_, err = k.git(ctx, "update-ref", "-d", string(item.Name), item.ID.String())
	return err
}

// descends reports whether the history of an entry of a run leads to another one, which
// may be the same. The zero id is nobody's.
func (k *Keeper) descends(from, to objstore.ID) bool {
	if from.IsZero() || to.IsZero() {
		return false
	}
	for id := from; ; {
		if id == to {
			return true
		}
		entry, err := snapshot.ReadEntry(k.parts.Objects, id)
		if err != nil || entry.Parent.IsZero() {
			return false
		}
		id = entry.Parent
	}
}

// misplaced looks for refs of ours in the private folders of linked worktrees, where
// git looks for none of them.
func (e *examination) misplaced(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(globQuoted(e.parts.Repo.CommonDir), "worktrees", "*", "refs", "smithers"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return e.misplacedFile(ctx, folder, path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func (e *examination) misplacedFile(ctx context.Context, folder, path string) error {
	where, err := filepath.Rel(e.parts.Repo.CommonDir, path)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	name := refs.Name(refs.Folder + filepath.ToSlash(inside))
	f := Finding{Kind: MisplacedRef, Where: filepath.ToSlash(where), What: "git looks for no such ref in the folder of a worktree"}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	id, err := objstore.ParseID(strings.TrimSpace(string(data)))
	if err != nil || id.IsZero() || !name.IsOurs() {
		f.Repair = "moves the file away"
		e.note(f, func(context.Context) error { return e.moveAside(f.Where) })
		return ctx.Err()
	}
	e.elsewhere = append(e.elsewhere, id)
	f.Repair = fmt.Sprintf("makes %s where it belongs, unless it is there, and moves the file away", name)
	private := filepath.Dir(filepath.Dir(folder))
	e.note(f, func(ctx context.Context) error { return e.replace(ctx, f.Where, name, id, private) })
	return nil
}

// replace makes a ref from a file that is in the wrong place, with the objects that are
// in the wrong place with it. A ref that is further already, or of another history, stays.
func (k *Keeper) replace(ctx context.Context, file string, name refs.Name, id objstore.ID, private string) error {
	if err := k.takeObjects(ctx, filepath.Join(private, "objects"), id); err != nil {
		return err
	}
	lost, err := lostIn(ctx, k.parts.Objects, id)
	if err != nil {
		return err
	}
	if slices.Contains(lost, id) {
		return k.moveAside(file) // it points at nothing
	}
	current, err := k.parts.Refs.Resolve(ctx, name)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if current.IsZero() || isIn(name, refs.TipsFolder) && current != id && k.descends(id, current) {
		if err := k.parts.Refs.Apply(ctx, refs.Update{Name: name, Old: current, New: id}); err != nil {
			return err
		}
	}
	return k.moveAside(file)
}
