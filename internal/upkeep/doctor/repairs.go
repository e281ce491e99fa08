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
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// repairs has the repairs of findings. See Doctor.Repair for what they save in the folder for damaged files.
type repairs struct {
	store  *timeline.Store
	git    *gitRunner
	aside  asideFolder
	absent *absentObjects
}

// spare adds refspecs that exclude run history to a remote's refspecs for git fetch, in the local configuration and in
// the configuration in memory. key is the configuration key of the remote's refspecs, remote.NAME.fetch.
func (r *repairs) spare(ctx context.Context, key string) error {
	for _, spec := range []string{"^" + refs.Folder + "*", "^" + refs.RemotesFolder + "*"} {
		if _, err := r.git.run(ctx, "config", "--local", "--add", key, spec); err != nil {
			return err
		}
		// The store shares this map, so change a copy.
		r.git.repo.Config = maps.Clone(r.git.repo.Config)
		r.git.repo.Config[key] = append(slices.Clone(r.git.repo.Config[key]), spec)
	}
	return nil
}

// removeLock removes a lock. If the lock belongs to a dead process of git-smithers, removeLock removes all locks of
// dead processes. Otherwise it moves the lock file to the folder for damaged files. If the file no longer exists,
// removeLock does nothing. If a newer lock has replaced the file, the error is ErrLocked.
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

// rename gives the value of item, a ref with an invalid name, to the ref newName, and deletes item. If newName
// does not exist, or has an older entry of the same history, rename sets newName to the value of item. If newName
// has this value or a newer entry, rename leaves newName unchanged. If newName has another history, rename changes
// neither ref and returns ErrConflict.
func (r *repairs) rename(ctx context.Context, item refs.Item, newName refs.Name) error {
	current, err := r.store.Refs().Resolve(ctx, newName)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if !timeline.Descends(r.store.Objects(), current, item.ID) {
		if !current.IsZero() && !timeline.Descends(r.store.Objects(), item.ID, current) {
			return fmt.Errorf("%w: %s has another history", refs.ErrConflict, newName)
		}
		if err := r.store.Refs().Apply(ctx, refs.Update{Name: newName, Old: current, New: item.ID}); err != nil {
			return err
		}
	}
	_, err = r.git.run(ctx, "update-ref", "-d", string(item.Name), item.ID.String())
	return err
}

// replace moves the ref file oldPath, which is in the wrong folder, to the folder for damaged files, and gives its
// value id to the ref newName. Before that, replace copies the objects that the store lacks and id needs from the
// folder "objects" in dir. replace creates newName if the ref does not exist. If newName is a tip and older than id,
// replace moves it to id. Every other existing ref stays unchanged. If the object id is still missing, replace only
// moves the file.
func (r *repairs) replace(ctx context.Context, oldPath string, newName refs.Name, id objstore.ID, dir string) error {
	if err := r.absent.takeObjects(ctx, filepath.Join(dir, "objects"), id); err != nil {
		return err
	}
	_, lost, err := verify.Reached(ctx, r.store.Objects(), true, id)
	if err != nil {
		return err
	}
	if slices.Contains(lost, id) {
		return r.aside.move(oldPath) // the object of the misplaced ref does not exist
	}
	current, err := r.store.Refs().Resolve(ctx, newName)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	if current.IsZero() || isIn(newName, refs.TipsFolder) && current != id && timeline.Descends(r.store.Objects(), id, current) {
		if err := r.store.Refs().Apply(ctx, refs.Update{Name: newName, Old: current, New: id}); err != nil {
			return err
		}
	}
	return r.aside.move(oldPath)
}

// salvage copies the readable objects of the damaged pack d to a new pack, and moves the damaged files away. If only
// the index of the pack is damaged, the pack gets a new index.
func (r *repairs) salvage(ctx context.Context, d objstore.Damage) error {
	_, err := r.store.Objects().Salvage(ctx, d.Pack, r.aside.path("objects"))
	return err
}

// mendPacked removes the invalid lines from packed-refs. It saves a copy of the old file first. It holds git's
// lock of packed-refs while it works. If another process holds the lock, the error is ErrLocked.
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
			_ = lock.Close() // it may be closed already
			err = errors.Join(err, os.Remove(lock.Name()))
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
	if err := os.Rename(lock.Name(), path); err != nil {
		return err
	}
	renamed = true
	return nil
}

// mendRef saves and removes the file of the broken ref name. If id is not zero, mendRef then sets the ref to id.
// Without the file, an older value of the ref in packed-refs may become visible. mendRef keeps this older value in
// two cases: id is zero, or id does not descend from the value.
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
		return nil // the packed value is of another history, but it was the ref's value at some time
	}
	return r.store.Refs().Apply(ctx, refs.Update{Name: name, Old: current, New: id})
}

// moveBack moves the ref of item, whose entry is unreadable, back to entryID, the id of an older entry. The ref is a
// tip, or the ref that holds a pruned run. moveBack first records the ref's old value in the folder for damaged files.
func (r *repairs) moveBack(ctx context.Context, item refs.Item, entryID objstore.ID) error {
	if err := r.aside.writeDown(item.Name, item.ID); err != nil {
		return err
	}
	return r.store.Refs().Apply(ctx, refs.Update{Name: item.Name, Old: item.ID, New: entryID})
}

// keepReached saves the objects that the commit id reaches and the commit tip does not. git gc might otherwise
// delete them. keepReached writes a pack of these objects into the folder for damaged files. If there are no such
// objects, or git cannot list them, keepReached saves nothing and returns nil.
func (r *repairs) keepReached(ctx context.Context, id, tip objstore.ID) error {
	list, err := r.git.run(ctx, "rev-list", "--objects", id.String(), "^"+tip.String())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || list == "" {
		return nil //nolint:nilerr // the objects of an incomplete commit cannot be packed
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
