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

// indexEdits are the changes of a capture to the private index.
type indexEdits struct {
	gone map[string]bool  // paths to remove
	put  []gitindex.Entry // entries to take from the user's index
	read []string         // paths that git has to read
}

func (e *indexEdits) empty() bool { return len(e.gone)+len(e.put)+len(e.read) == 0 }

// paths returns all edited paths.
func (e *indexEdits) paths() []string {
	paths := slices.AppendSeq(slices.Clone(e.read), maps.Keys(e.gone))
	for _, entry := range e.put {
		paths = append(paths, entry.Path)
	}
	return paths
}

// lstat is os.Lstat.
func lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// choice decides what to do with every path that may have changed.
type choice struct {
	*filesCapture
	edits indexEdits
}

// choose turns changes into edits, within the limits, and records what is left out.
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

// dropUnder removes the paths in a folder.
func (c *choice) dropUnder(folder string) {
	for i, _ := c.source.now.Find(folder); i < len(c.source.now.Entries); i++ {
		path := c.source.now.Entries[i].Path
		if !strings.HasPrefix(path, folder) {
			break
		}
		c.edits.gone[path] = true
	}
}

// modified decides on a path of the private index whose file looks different.
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

// take makes git read a file, and reports whether it does. It does not if the file is left out, or
// is of a kind that git does not track.
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

// readable reports whether a file can be opened.
func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return os.IsNotExist(err)
	}
	return f.Close() == nil
}

// missing decides on the tracked paths that the private index does not have. Their files were gone,
// or left out, at the last capture.
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

func (c *choice) underUnreadable(path string) bool {
	return slices.ContainsFunc(c.left.all, func(l snapshot.LeftOut) bool {
		return strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}

// untracked decides on the files that the user's index does not have. paths are all existing files
// that are not ignored.
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
	// The others were deleted, or are ignored now.
	for path := range added {
		c.edits.gone[path] = true
		c.edits.read = slices.DeleteFunc(c.edits.read, func(read string) bool { return read == path })
	}
}

// leave leaves a path out if the options say so.
func (c *choice) leave(path string) bool {
	as, ok := c.opts.leaves(path)
	if ok {
		c.left.add(as, snapshot.LeftUntracked, 0) // with its size, every capture would differ
	}
	return ok
}

// untrackedFile is the size of an untracked file.
type untrackedFile struct {
	bytes int64       // 0 if the file is too large to be captured
	info  fs.FileInfo // nil for a file that the private index has
}

// sizes returns the sizes of files by path, without files that are gone.
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

// withoutRepositories returns those of paths that are in no repository inside the working copy. git
// lists a repository of git's with a slash at its end, and knows nothing of jj's.
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

// tooLarge removes entries that were captured under a higher limit. A content that the user's index
// has stays, because the repository keeps it anyway.
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
