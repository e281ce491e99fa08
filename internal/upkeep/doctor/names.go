package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// names notes each ref with an invalid name, and each pair of refs whose names differ only by case.
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
				What: fmt.Sprintf("the name differs from %s only by case, and some file systems keep only one of the two refs", other),
			}, nil)
		}
	}
	return ctx.Err()
}

// malformed notes that item has an invalid name. The repair depends on the ref. If its file is also broken, the
// repair moves the file away. If item is a tip, its entry names the run, and the repair renames the ref. Any
// other ref has no repair.
func (e *examination) malformed(item refs.Item) {
	f := Finding{Kind: MalformedName, Where: string(item.Name), What: "the name is invalid, so git-smithers ignores the ref"}
	if item.Broken != nil {
		f.What += "; " + item.Broken.Error()
		f.Repair = "moves the file away"
		e.note(f, func(context.Context) error { return e.aside.move(item.File) })
		return
	}
	entry, err := snapshot.ReadEntry(e.store.Objects(), item.ID)
	if err != nil || !isIn(item.Name, refs.TipsFolder) {
		e.note(f, nil)
		return
	}
	right, err := refs.Tip(entry.Run)
	if err != nil {
		e.note(f, nil)
		return
	}
	f.Repair = fmt.Sprintf("replaces the ref by %s, the tip of run %q, unless the tip has newer entries", right, entry.Run)
	e.note(f, func(ctx context.Context) error { return e.repairs.rename(ctx, item, right) })
}

// misplaced notes the refs of runs in the private folders of linked worktrees, where git ignores them.
func (e *examination) misplaced(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(fsx.GlobQuote(e.git.repo.CommonDir), "worktrees", "*", "refs", "smithers"))
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

// misplacedFile notes the file at path in folder, the private folder of a linked worktree for refs of runs.
// If the file is a valid ref, misplacedFile adds its value to e.elsewhere, and the repair creates the ref in
// the right place. Otherwise the repair moves the file away.
func (e *examination) misplacedFile(ctx context.Context, folder, path string) error {
	where, err := filepath.Rel(e.git.repo.CommonDir, path)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	name := refs.Name(refs.Folder + filepath.ToSlash(inside))
	f := Finding{Kind: MisplacedRef, Where: filepath.ToSlash(where), What: "git ignores refs of runs in the private folder of a worktree"}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	id, err := objstore.ParseID(strings.TrimSpace(string(data)))
	if err != nil || id.IsZero() || !name.IsOurs() {
		f.Repair = "moves the file away"
		e.note(f, func(context.Context) error { return e.aside.move(f.Where) })
		return ctx.Err()
	}
	e.elsewhere = append(e.elsewhere, id)
	f.Repair = fmt.Sprintf("creates the ref %s if it is missing or older, and moves the file away", name)
	// folder is refs/smithers in the private folder of the worktree.
	private := filepath.Dir(filepath.Dir(folder))
	e.note(f, func(ctx context.Context) error { return e.repairs.replace(ctx, f.Where, name, id, private) })
	return nil
}
