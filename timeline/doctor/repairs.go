package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// repairs changes the repository as findings say. Whatever a repair removes is in the folder for damaged files.
type repairs struct {
	store  *timeline.Store
	git    *gitRunner
	aside  asideFolder
	absent *absentObjects
}

// spare adds refspecs that exclude run history.
func (r *repairs) spare(ctx context.Context, key string) error {
	for _, spec := range []string{"^" + refs.Folder + "*", "^" + refs.RemotesFolder + "*"} {
		if _, err := r.git.run(ctx, "config", "--local", "--add", key, spec); err != nil {
			return err
		}
		// The store shares the configuration that was read.
		r.git.repo.Config = maps.Clone(r.git.repo.Config)
		r.git.repo.Config[key] = append(slices.Clone(r.git.repo.Config[key]), spec)
	}
	return nil
}

// removeLock removes a lock unless it has changed in the meantime.
func (r *repairs) removeLock(ctx context.Context, lock refs.LockFile) error {
	if lock.Dead {
		return r.store.Refs().RecoverLocks(ctx)
	}
	path := r.aside.inCommonDir(lock.File)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.ModTime().Equal(lock.Made) {
		return fmt.Errorf("%w: %s was replaced", refs.ErrLocked, lock.File)
	}
	return r.aside.move(lock.File)
}

// rename creates the ref with the right name and deletes the malformed one. If the right ref
// has another history, both stay.
func (r *repairs) rename(ctx context.Context, item refs.Item, right refs.Name) error {
	current, err := r.store.Refs().Resolve(ctx, right)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if !timeline.Descends(r.store.Objects(), current, item.ID) {
		if !current.IsZero() && !timeline.Descends(r.store.Objects(), item.ID, current) {
			return fmt.Errorf("%w: %s has another history", refs.ErrConflict, right)
		}
		if err := r.store.Refs().Apply(ctx, refs.Update{Name: right, Old: current, New: item.ID}); err != nil {
			return err
		}
	}
	_, err = r.git.run(ctx, "update-ref", "-d", string(item.Name), item.ID.String())
	return err
}

// replace creates a ref from a file in a wrong place, with the objects of that place. An existing
// ref that is newer, or has another history, stays.
func (r *repairs) replace(ctx context.Context, file string, name refs.Name, id objstore.ID, private string) error {
	if err := r.absent.takeObjects(ctx, filepath.Join(private, "objects"), id); err != nil {
		return err
	}
	lost, err := lostIn(ctx, r.store.Objects(), id)
	if err != nil {
		return err
	}
	if slices.Contains(lost, id) {
		return r.aside.move(file) // it points at nothing
	}
	current, err := r.store.Refs().Resolve(ctx, name)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if current.IsZero() || isIn(name, refs.TipsFolder) && current != id && timeline.Descends(r.store.Objects(), id, current) {
		if err := r.store.Refs().Apply(ctx, refs.Update{Name: name, Old: current, New: id}); err != nil {
			return err
		}
	}
	return r.aside.move(file)
}

// salvage saves the readable objects of a damaged pack.
func (r *repairs) salvage(ctx context.Context, d objstore.Damage) error {
	_, err := r.store.Objects().Salvage(ctx, d.Pack, r.aside.path("objects"))
	return err
}

// mendPacked rewrites packed-refs without its invalid lines, under git's own lock.
func (r *repairs) mendPacked(context.Context) (err error) {
	path := r.aside.inCommonDir(packedRefs)
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s.lock", refs.ErrLocked, packedRefs)
	}
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed {
			err = errors.Join(err, lock.Close(), os.Remove(lock.Name()))
		}
	}()
	if err := r.aside.copy(packedRefs); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sound, _ := refs.SoundPacked(data)
	if _, err := lock.Write(sound); err != nil {
		return err
	}
	if err := errors.Join(lock.Sync(), lock.Close()); err != nil {
		return err
	}
	renamed = true
	return os.Rename(lock.Name(), path)
}

// mendRef moves a broken ref's file aside, and creates the ref if its value is known. A packed
// value becomes visible again, and stays.
func (r *repairs) mendRef(ctx context.Context, name refs.Name, id objstore.ID) error {
	if err := r.aside.copy(string(name)); err != nil {
		return err
	}
	if err := r.store.Refs().RemoveBroken(ctx, name); err != nil {
		return err
	}
	current, err := r.store.Refs().Resolve(ctx, name)
	if err != nil && !errors.Is(err, refs.ErrNotFound) || id.IsZero() {
		return ignoreNotFound(err)
	}
	if current == id {
		return nil
	}
	if !current.IsZero() && !timeline.Descends(r.store.Objects(), id, current) {
		return nil // of another history: the packed value was the ref's value once
	}
	return r.store.Refs().Apply(ctx, refs.Update{Name: name, Old: current, New: id})
}

// moveBack moves a tip from a missing entry to an existing one, and records the old value.
func (r *repairs) moveBack(ctx context.Context, item refs.Item, to objstore.ID) error {
	if err := r.aside.writeDown(item.Name, item.ID); err != nil {
		return err
	}
	return r.store.Refs().Apply(ctx, refs.Update{Name: item.Name, Old: item.ID, New: to})
}

// keepReached packs the objects that commit id reaches and commit but does not, into the folder
// for damaged files, so that git gc does not delete them. An incomplete commit is left to git.
func (r *repairs) keepReached(ctx context.Context, id, but objstore.ID) error {
	list, err := r.git.run(ctx, "rev-list", "--objects", id.String(), "^"+but.String())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || list == "" {
		return nil //nolint:nilerr // nothing can be saved
	}
	folder := r.aside.path("objects")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	_, _, err = gitexec.Process{
		Dir: r.git.repo.CommonDir, Env: gitexec.PlumbingEnv(r.store.Env()), Options: []string{"--git-dir=."},
		Args: []string{"pack-objects", "-q", filepath.Join(folder, "pack")}, Stdin: bytes.NewReader([]byte(list)),
	}.Run(ctx)
	return err
}
