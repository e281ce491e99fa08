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

// names finds refs with invalid names, and names that a case-insensitive file system confuses.
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
				What: fmt.Sprintf("differs from %s only by case: some file systems keep only one of them", other),
			}, nil)
		}
	}
	return ctx.Err()
}

// malformed reports a ref with an invalid name. If the ref is a tip, its entry names the run and
// the repair renames the ref.
func (e *examination) malformed(item refs.Item) {
	f := Finding{Kind: MalformedName, Where: string(item.Name), What: "the name is invalid, and git-smithers does not read it"}
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
	f.Repair = fmt.Sprintf("the run is %q: renames the ref to %s, unless that one is newer", entry.Run, right)
	e.note(f, func(ctx context.Context) error { return e.repairs.rename(ctx, item, right) })
}

// misplaced finds refs of ours in the private folders of linked worktrees, where git ignores them.
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

// misplacedFile reports a file in a linked worktree's private folder of refs. If it is a valid ref of ours, the
// repair creates the ref in the right place.
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
	f := Finding{Kind: MisplacedRef, Where: filepath.ToSlash(where), What: "git ignores such a ref in the folder of a worktree"}
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
	f.Repair = fmt.Sprintf("creates %s in the right place if it is missing, and moves the file away", name)
	private := filepath.Dir(filepath.Dir(folder))
	e.note(f, func(ctx context.Context) error { return e.repairs.replace(ctx, f.Where, name, id, private) })
	return nil
}
