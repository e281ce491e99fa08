package jjbridge

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/snapshot"
)

// choice decides what to do with every path that is not as in HEAD.
type choice struct {
	*filesCapture
	edits  treeEdits           // of the base
	known  []gitindex.Entry    // files that are as the last capture has read them
	wanted map[string]treeFile // files that git has to read, by path, as they are in the user's index
}

// lstat returns the file information of path. It does not follow a symbolic link.
func lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

func (c *filesCapture) newChoice() *choice {
	return &choice{filesCapture: c, edits: treeEdits{files: make(map[string]treeFile)}, wanted: make(map[string]treeFile)}
}

// choose turns what git status says into edits of HEAD's tree and wanted files, within the limits,
// and records what is left out.
func (c *filesCapture) choose(found *status) *choice {
	ch := c.newChoice()
	for _, folder := range found.unreadable {
		ch.left.add(folder, snapshot.LeftUnreadable, 0)
		ch.edits.folders = append(ch.edits.folders, folder)
	}
	for _, f := range found.files {
		if !ch.underUnreadable(f.path) {
			ch.tracked(f)
		}
	}
	ch.unwatched()
	if c.scope == snapshot.ScopeAll {
		ch.untracked(found.untracked)
	}
	return ch
}

// tracked decides on a path of HEAD or of the user's index.
func (c *choice) tracked(f statusFile) {
	switch {
	case f.module.is:
		c.module(f)
	case f.same:
		c.edits.files[f.path] = f.index // may be none
	case !f.exists:
		c.edits.files[f.path] = treeFile{}
	default:
		c.modified(f.path, f.index)
	}
}

// module decides on a submodule: it is its HEAD, or what the user's index has if it is not initialized.
func (c *choice) module(f statusFile) {
	c.edits.files[f.path] = f.index
	if f.module.moved {
		c.wanted[f.path] = f.index
	}
	if f.module.dirty {
		c.left.add(f.path, snapshot.LeftDirty, 0)
	}
}

// modified decides on a tracked path whose file looks different.
func (c *choice) modified(path string, index treeFile) {
	info, err := lstat(c.w.full(path))
	if err != nil || !c.take(path, info, index) {
		c.edits.files[path] = treeFile{}
	}
}

// unwatched decides on the files that the user told git not to look at.
func (c *choice) unwatched() {
	for _, u := range c.state.Survey.Unwatched {
		if c.underUnreadable(u.Path) {
			continue
		}
		if _, err := lstat(c.w.full(u.Path)); err != nil && u.Skipped {
			continue // as in the index
		}
		c.modified(u.Path, treeFile{mode: u.Mode, id: u.ID})
	}
}

// take captures a file, and reports whether it does. It does not if the file is left out, or is of a
// kind that git does not track.
func (c *choice) take(path string, info fs.FileInfo, index treeFile) bool {
	link := info.Mode()&fs.ModeSymlink != 0
	switch {
	case !info.Mode().IsRegular() && !link:
		return false
	case info.Size() > c.opts.MaxFile:
		c.left.add(path, snapshot.LeftTooLarge, info.Size())
		return false
	case c.unchanged(path, info):
		return true
	case !link && !readable(c.w.full(path)):
		c.left.add(path, snapshot.LeftUnreadable, 0)
		return false
	}
	c.wanted[path] = index
	return true
}

// unchanged takes the content that the last capture has read, and reports whether the file still has it.
func (c *choice) unchanged(path string, info fs.FileInfo) bool {
	i, found := c.before.Find(path)
	if !found || !c.before.Fresh(&c.before.Entries[i], info) {
		return false
	}
	e := c.before.Entries[i]
	c.known = append(c.known, e)
	c.edits.files[path] = treeFile{mode: e.Mode, id: e.ID}
	return true
}

// readable reports whether the file at path can be opened. A missing file counts as readable, because git
// handles its absence.
func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return os.IsNotExist(err)
	}
	return f.Close() == nil
}

func (c *choice) underUnreadable(path string) bool {
	return slices.ContainsFunc(c.left.all, func(l snapshot.LeftOut) bool {
		return strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}

// untracked decides about the files that the user's index lacks. paths are all existing files that are
// neither tracked nor ignored. The edits remove every other untracked path from the private index; if c.scope
// is not snapshot.ScopeAll, they remove all untracked paths.
func (c *choice) untracked(paths []string) {
	paths = slices.DeleteFunc(c.withoutRepositories(paths), c.leave)
	sizes := c.sizes(paths)
	for _, path := range c.fewEnough(paths, sizes) {
		if info := sizes[path].info; info != nil {
			c.take(path, info, treeFile{})
		}
	}
}

// leave reports whether CaptureOptions.Leave excludes path. If so, leave records the matching entry of Leave
// as left out.
func (c *choice) leave(path string) bool {
	as, ok := c.opts.leaves(path)
	if ok {
		c.left.add(as, snapshot.LeftUntracked, 0) // no size, because a size would make every capture differ
	}
	return ok
}

// untrackedFile is an untracked file and its weight against the limits.
type untrackedFile struct {
	bytes int64       // 0 if the file is too large to be captured
	info  fs.FileInfo // nil for a file that is gone
}

// sizes returns the sizes of files by path.
func (c *choice) sizes(paths []string) map[string]untrackedFile {
	files := make(map[string]untrackedFile, len(paths))
	for _, path := range paths {
		if info, err := lstat(c.w.full(path)); err == nil {
			file := untrackedFile{info: info}
			if info.Size() <= c.opts.MaxFile {
				file.bytes = info.Size()
			}
			files[path] = file
		}
	}
	return files
}

// withoutRepositories returns the paths that are in no other repository inside the working copy, and records
// each such repository as left out. git lists a nested git repository as one path that ends in a slash, but
// lists the files of a nested jj repository one by one.
func (c *choice) withoutRepositories(paths []string) []string {
	var kept []string
	for _, path := range paths {
		if strings.HasPrefix(path, ".jj/") {
			continue
		}
		if folder, ok := repositoryOf(path); ok {
			c.left.add(folder, snapshot.LeftEmbedded, 0)
			continue
		}
		kept = append(kept, path)
	}
	if len(kept) == len(paths) {
		return kept
	}
	return slices.DeleteFunc(kept, c.underUnreadable)
}
