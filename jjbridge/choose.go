package jjbridge

import (
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// indexEdits holds the changes that a capture makes to the private index.
type indexEdits struct {
	gone map[string]bool  // paths to remove
	put  []gitindex.Entry // entries to copy from the user's index
	read []string         // paths whose files git must read
}

func (e *indexEdits) empty() bool { return len(e.gone)+len(e.put)+len(e.read) == 0 }

// paths returns the paths of all edits, in no order.
func (e *indexEdits) paths() []string {
	paths := slices.AppendSeq(slices.Clone(e.read), maps.Keys(e.gone))
	for _, entry := range e.put {
		paths = append(paths, entry.Path)
	}
	return paths
}

// lstat returns the file information of path. It does not follow a symbolic link.
func lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// choice decides for every path that may have changed whether the capture reads its file, removes the path
// from the private index, or leaves the file out.
type choice struct {
	*filesCapture
	edits indexEdits
}

// choose returns the edits of the private index for the differences in found. It records in c.left every file
// that the capture leaves out, and every submodule. If all untracked files are left out, it sets c.scope to
// snapshot.ScopeTracked.
func (c *filesCapture) choose(found *changes) *indexEdits {
	ch := choice{filesCapture: c, edits: indexEdits{gone: make(map[string]bool)}}
	for _, folder := range found.unreadable {
		ch.left.add(folder, snapshot.LeftUnreadable, 0)
		ch.dropUnder(folder)
	}
	for _, path := range found.gone {
		ch.edits.gone[path] = true
	}
	for _, m := range found.modified {
		ch.modified(m)
	}
	ch.missing()
	ch.untracked(found.untracked)
	ch.tooLarge()
	return &ch.edits
}

// dropUnder adds to c.edits the removal of all paths of the private index in folder, which ends in a slash.
func (c *choice) dropUnder(folder string) {
	for i, _ := c.source.now.Find(folder); i < len(c.source.now.Entries); i++ {
		path := c.source.now.Entries[i].Path
		if !strings.HasPrefix(path, folder) {
			break
		}
		c.edits.gone[path] = true
	}
}

// modified decides about m, a path of the private index whose file differs or may differ. If the file is
// missing or take refuses it, the edits remove the path. A submodule is read again and recorded in
// c.left.modules.
func (c *choice) modified(m modifiedFile) {
	info, err := lstat(c.w.full(m.path))
	switch {
	case err != nil:
		c.edits.gone[m.path] = true
	case info.IsDir() && m.module:
		c.edits.read = append(c.edits.read, m.path)
		c.left.modules = append(c.left.modules, m.path)
	case !c.take(m.path, info):
		c.edits.gone[m.path] = true
	}
}

// take makes git read the file at path, and returns true. info describes the file. If the file is larger than
// MaxFile or unreadable, take records it as left out and returns false. If the file is neither a regular file
// nor a symbolic link, take returns false without a record.
func (c *choice) take(path string, info fs.FileInfo) bool {
	link := info.Mode()&fs.ModeSymlink != 0
	switch {
	case !info.Mode().IsRegular() && !link:
		return false
	case info.Size() > c.opts.MaxFile:
		c.left.add(path, snapshot.LeftTooLarge, info.Size())
		return false
	case !link && !readable(c.w.full(path)):
		c.left.add(path, snapshot.LeftUnreadable, 0)
		return false
	}
	c.edits.read = append(c.edits.read, path)
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

// missing decides about the tracked paths that the private index lacks. Their files were missing, or left
// out, at the last capture. If such a file exists now, missing passes it to take. It skips the paths in
// unreadable folders.
func (c *choice) missing() {
	rest := c.source.now.Entries
	for i, e := range c.source.tracked.Entries {
		for len(rest) > 0 && rest[0].Path < e.Path {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].Path == e.Path || i > 0 && c.source.tracked.Entries[i-1].Path == e.Path {
			continue
		}
		if c.underUnreadable(e.Path) {
			continue
		}
		info, err := lstat(c.w.full(e.Path))
		switch {
		case err != nil:
		case info.IsDir() && e.Mode == objstore.ModeCommit:
			c.edits.put = append(c.edits.put, gitindex.PlainEntry(c.w.Root, e))
			c.edits.read = append(c.edits.read, e.Path)
			c.left.modules = append(c.left.modules, e.Path)
		default:
			c.take(e.Path, info)
		}
	}
}

// underUnreadable reports whether path is in a folder that the capture has left out so far, for any reason.
func (c *choice) underUnreadable(path string) bool {
	return slices.ContainsFunc(c.left.all, func(l snapshot.LeftOut) bool {
		return strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}

// untracked decides about the files that the user's index lacks. paths are all existing files that are
// neither tracked nor ignored. The edits remove every other untracked path from the private index; if c.scope
// is not snapshot.ScopeAll, they remove all untracked paths.
func (c *choice) untracked(paths []string) {
	added := c.source.added()
	if c.scope == snapshot.ScopeAll {
		paths = c.withoutRepositories(paths)
		paths = slices.DeleteFunc(paths, c.leave)
		sizes := c.sizes(paths, added)
		paths = c.fewEnough(paths, sizes)
		for _, path := range paths {
			if _, known := added[path]; known {
				delete(added, path)
			} else if info := sizes[path].info; info != nil {
				c.take(path, info)
			}
		}
	}
	// The files of the remaining entries were deleted, are ignored now, or are left out.
	for path := range added {
		c.edits.gone[path] = true
		c.edits.read = slices.DeleteFunc(c.edits.read, func(read string) bool { return read == path })
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
	bytes int64       // the bytes that count against MaxUntrackedBytes; 0 if a new file is larger than MaxFile
	info  fs.FileInfo // nil if the private index has the file
}

// sizes returns the untrackedFile of each path. added are the untracked entries of the private index: their
// recorded size counts, up to MaxFile. A new path whose file is gone is missing from the result.
func (c *choice) sizes(paths []string, added map[string]*gitindex.Entry) map[string]untrackedFile {
	files := make(map[string]untrackedFile, len(paths))
	for _, path := range paths {
		if e, known := added[path]; known {
			files[path] = untrackedFile{bytes: min(int64(e.Size()), c.opts.MaxFile)}
			continue
		}
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

// tooLarge removes from the private index each path whose recorded size exceeds MaxFile, and records the path
// as left out. An earlier capture had a higher limit. A path with the same content as in the user's index
// stays, because the repository keeps that content anyway.
func (c *choice) tooLarge() {
	limit := uint32(min(c.opts.MaxFile, math.MaxUint32))
	for i := range c.source.now.Entries {
		e := &c.source.now.Entries[i]
		if e.Size() <= limit || c.edits.gone[e.Path] {
			continue
		}
		if i, found := c.source.tracked.Find(e.Path); found && c.source.tracked.Entries[i].ID == e.ID {
			continue
		}
		c.edits.gone[e.Path] = true
		c.left.add(e.Path, snapshot.LeftTooLarge, int64(e.Size()))
	}
}
