// Package cache keeps the results of tasks for other runs of the repository: an equal task need not run again.
//
// The entries are in the tree of a commit without parents, which the ref refs/smithers/_cache names: the folder AB/KEY has the entry
// with the sum KEY, which begins with AB. It has entry.json, output.json if the task has an output, and the folder files with the new
// files that the task left behind. The ref moves by compare-and-swap, and is not part of any run: to remove it loses time, not data.
package cache

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	fanOut    = 2  // the length of the names of the folders that have the entries
	sumLength = 64 // of an entry's name
)

// Cache is the cache of a store's repository. It is safe for concurrent use.
type Cache struct {
	store *timeline.Store
	trees objstore.Reader // reads the trees of working copies; nil means the store's objects
}

// Of returns the cache of a store's repository. It reads nothing.
func Of(s *timeline.Store) *Cache { return &Cache{store: s} }

// Within returns a copy of c that reads the trees of working copies from r, which may have trees that are not stored. It returns nil if c is nil.
func (c *Cache) Within(r objstore.Reader) *Cache {
	if c == nil {
		return nil
	}
	return &Cache{c.store, r}
}

// fileAt returns what is at a path of a tree.
func (c *Cache) fileAt(tree objstore.ID, path string) (jjbridge.FileState, error) {
	r := c.trees
	if r == nil {
		r = c.store.Objects()
	}
	at, err := jjbridge.FileAt(r, tree, path)
	return at, timeline.Explain(err)
}

// Fits reports whether the changes of files of a result fit a captured working copy, and whether they would change a file there.
func (c *Cache) Fits(files *snapshot.VCS, edits []jjbridge.FileEdit) (fits, changes bool, err error) {
	for _, e := range edits {
		now, err := c.fileAt(files.Tree, e.Path)
		if err != nil || jjbridge.IsLeftOut(files.LeftOut, e.Path) || now != e.Was && now != e.Now {
			return false, false, err
		}
		changes = changes || now != e.Now
	}
	return true, changes, nil
}

// Find returns the entry with a sum, or nil if there is none. If the entry is not as it was stored, the error wraps ErrAltered.
func (c *Cache) Find(ctx context.Context, sum string) (*Entry, error) {
	if len(sum) != sumLength {
		return nil, nil //nolint:nilnil // no entry has such a sum
	}
	_, at, err := c.ref().Root(ctx)
	for _, name := range []string{sum[:fanOut], sum} {
		if err != nil || at.IsZero() {
			return nil, explain(err)
		}
		at, err = treeref.Folder(c.store.Objects(), at, name)
	}
	if err != nil || at.IsZero() {
		return nil, explain(err)
	}
	key, err := consent.KeyOf(c.store)
	if err != nil {
		return nil, err
	}
	e, err := decode(c.store.Objects(), key, sum, at, true)
	return e, explain(err)
}

// explain returns an error of reading an entry with its code. It keeps what ErrAltered says.
func explain(err error) error {
	if errors.Is(err, ErrAltered) {
		return err
	}
	return timeline.Explain(err)
}

// All returns all entries without their outputs, sorted by their sums. An error that wraps ErrAltered is about one entry, and others
// follow.
func (c *Cache) All(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		_, tree, err := c.ref().Root(ctx)
		if err != nil {
			yield(nil, timeline.Explain(err))
			return
		}
		if tree.IsZero() {
			return
		}
		key, err := consent.KeyOf(c.store)
		if err != nil {
			yield(nil, err)
			return
		}
		err = c.walk(tree, func(sum string, folder objstore.ID) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := decode(c.store.Objects(), key, sum, folder, false)
			if err = explain(err); err != nil && !errors.Is(err, ErrAltered) {
				return err
			}
			if !yield(e, err) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, timeline.Explain(err))
		}
	}
}

var errStopped = errors.New("the caller wants no more entries")

// walk calls f for each entry's folder in a tree of the cache.
func (c *Cache) walk(tree objstore.ID, f func(sum string, folder objstore.ID) error) error {
	fans, err := objstore.ReadTree(c.store.Objects(), tree)
	if err != nil {
		return err
	}
	for _, fan := range fans {
		if fan.Mode != objstore.ModeTree || len(fan.Name) != fanOut {
			continue
		}
		folders, err := objstore.ReadTree(c.store.Objects(), fan.ID)
		if err != nil {
			return err
		}
		for _, folder := range folders {
			if len(folder.Name) != sumLength || !strings.HasPrefix(folder.Name, fan.Name) {
				continue // no entry
			}
			if err := f(folder.Name, folder.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Put stores an entry, in the place of an earlier one with the same sum. It sets e.Sum and e.Own. The repository must have the files of the
// entry. If Put returns nil, the entry is stored as durably as a frame.
func (c *Cache) Put(ctx context.Context, e *Entry) error {
	if int64(len(e.Output)) > MaxOutput || len(e.Files) > MaxFiles {
		return fault.New(fault.LimitExceeded, "the result of task %s is too large for the cache", e.Node())
	}
	key, err := consent.OwnKey(c.store)
	if err != nil {
		return err
	}
	e.Sum, e.Own = e.Key.Sum(), true
	return c.update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		return c.with(batch, root, e.Sum, e.encode(batch, key))
	})
}

// with returns the tree root with another folder for the entry with a sum; without the entry if folder is zero.
func (c *Cache) with(w objstore.Writer, root objstore.ID, sum string, folder objstore.ID) (objstore.ID, error) {
	fan, err := treeref.Folder(w, root, sum[:fanOut])
	if err == nil {
		fan, err = treeref.With(w, fan, objstore.TreeEntry{Name: sum, Mode: objstore.ModeTree, ID: folder})
	}
	if err != nil {
		return root, err
	}
	root, err = treeref.With(w, root, objstore.TreeEntry{Name: sum[:fanOut], Mode: objstore.ModeTree, ID: fan})
	if err == nil && root.IsZero() {
		root = w.Add(objstore.Tree, objstore.EncodeTree(nil))
	}
	return root, err
}

// Remove removes the entries for which drop returns true, and those that were altered. It returns the sums of what it removed. The
// objects stay until git collects garbage.
func (c *Cache) Remove(ctx context.Context, drop func(*Entry) bool) (removed []string, err error) {
	err = c.update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		removed = nil
		if root.IsZero() {
			return root, nil
		}
		err := c.walk(root, func(sum string, folder objstore.ID) error {
			e, err := decode(batch, nil, sum, folder, false)
			if err = explain(err); err != nil && !errors.Is(err, ErrAltered) {
				return err
			}
			if err != nil || drop(e) {
				removed = append(removed, sum)
			}
			return nil
		})
		for _, sum := range removed {
			if err == nil {
				root, err = c.with(batch, root, sum, objstore.ID{})
			}
		}
		return root, err
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// update replaces the tree of the cache by the one that build returns for it, as treeref.Ref does.
func (c *Cache) update(ctx context.Context, build func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error)) error {
	return explain(c.ref().Update(ctx, build))
}

// Peer returns the rows of Smithers' cache, which no task takes. The folder smithers of the tree has them.
func (c *Cache) Peer() treeref.Rows {
	return treeref.Rows{Ref: c.ref(), Folder: "smithers", Key: "cache_key"}
}

// ref returns the ref of the cache.
func (c *Cache) ref() treeref.Ref {
	return treeref.Ref{Store: c.store, Name: refs.Cache, Message: "results of tasks, for equal tasks"}
}

// Nearest returns the entry of the same task whose key has the fewest parts that differ from key; the newest of several. It returns nil
// if there is none.
func Nearest(entries []*Entry, key Key) *Entry {
	var best *Entry
	least := 0
	for _, e := range entries {
		if e.Workflow() != key[PartWorkflow] || e.Node() != key[PartNode] {
			continue
		}
		differ := len(key.Differing(e.Key))
		if best == nil || cmp.Or(cmp.Compare(differ, least), cmp.Compare(best.CreatedAtMs, e.CreatedAtMs)) < 0 {
			best, least = e, differ
		}
	}
	return best
}

// Changes returns the files that differ between two trees, as the changed files of an entry, and the bytes of the new ones. The
// repository must have both trees. Code: limit_exceeded if there are more than MaxFiles, or one is not a file or a symbolic link.
func (c *Cache) Changes(ctx context.Context, before, after objstore.ID) (files []jjbridge.FileEdit, size int64, err error) {
	objects := c.store.Objects()
	files, err = jjbridge.FileEdits(ctx, objects, before, after, "")
	if err == nil && len(files) > MaxFiles {
		err = fault.New(fault.LimitExceeded, "more than %d files changed", MaxFiles)
	}
	for _, f := range files {
		for _, state := range []jjbridge.FileState{f.Was, f.Now} {
			if _, unfit := parseState(formatState(state)); err == nil && unfit != nil {
				err = fault.New(fault.LimitExceeded, "%s is not a file", f.Path)
			}
		}
		if err == nil && f.Now.Mode != 0 {
			var data []byte
			data, err = objstore.GetKind(objects, f.Now.ID, objstore.Blob)
			size += int64(len(data))
		}
	}
	if err != nil {
		return nil, 0, timeline.Explain(err)
	}
	return files, size, nil
}

// KeepFiles adds changes of files to e: each change that the stored entry with the same key has, if e does not change the file and the tree after has it
// as the stored entry leaves it. A task whose key lacks the files may have found such a file as it would write it, and the file belongs to its result.
// found is false if there is no such entry of this clone.
func (c *Cache) KeepFiles(ctx context.Context, e *Entry, after objstore.ID) (found bool, err error) {
	old, err := c.Find(ctx, e.Key.Sum())
	if errors.Is(err, ErrAltered) {
		return false, nil
	}
	if err != nil || old == nil || !old.Own {
		return false, err
	}
	for _, f := range old.Files {
		if slices.ContainsFunc(e.Files, func(own jjbridge.FileEdit) bool { return own.Path == f.Path }) {
			continue
		}
		at, err := jjbridge.FileAt(c.store.Objects(), after, f.Path)
		if err != nil {
			return true, timeline.Explain(err)
		}
		if at != f.Now {
			continue
		}
		e.Files = append(e.Files, f)
		if f.Now.Mode == 0 {
			continue
		}
		data, err := objstore.GetKind(c.store.Objects(), f.Now.ID, objstore.Blob)
		if err != nil {
			return true, timeline.Explain(err)
		}
		e.Bytes += int64(len(data))
	}
	slices.SortFunc(e.Files, func(a, b jjbridge.FileEdit) int { return strings.Compare(a.Path, b.Path) })
	return true, nil
}

// PartOf returns the value of the part for a path of a tree: the mode and the id of what is there, or "none". The repository must have
// the tree.
func (c *Cache) PartOf(tree objstore.ID, path string) (string, error) {
	at, err := c.fileAt(tree, path)
	if err != nil {
		return "", err
	}
	if at.Mode == 0 {
		return "none", nil
	}
	return formatState(at), nil
}
