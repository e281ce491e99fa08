package jjbridge

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// choice holds the decisions of a capture about every path that differs from HEAD.
type choice struct {
	*filesCapture
	edits  treeEdits             // the changes of the base tree that are known without reading a file
	known  []gitindex.Entry      // files that have not changed since the last capture read them
	wanted map[string]wantedFile // the files to read, by path
}

// wantedFile is a file that a capture reads.
type wantedFile struct {
	index   treeFile // the file in the user's index, if any
	tracked bool     // the user's version control has a file at this path
}

// lstat returns the file information of path. It does not follow a symbolic link.
func lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// newChoice returns a choice without decisions.
func (c *filesCapture) newChoice() *choice {
	return &choice{filesCapture: c, edits: treeEdits{files: make(map[string]treeFile)}, wanted: make(map[string]wantedFile)}
}

// choose returns the decisions about all paths in found, the result of git status. A decision is an edit of HEAD's
// tree, or a file to read. In c.left, choose records the files that the capture leaves out because of limits or
// because they are unreadable. The captured tree lacks all files in a folder that git could not read.
func (c *filesCapture) choose(found *status) *choice {
	ch := c.newChoice()
	for _, folder := range found.unreadable {
		ch.left.add(folder, snapshot.LeftUnreadable, 0)
		ch.edits.folders = append(ch.edits.folders, folder)
	}
	for _, f := range found.files {
		if !ch.underLeftOut(f.path) {
			ch.tracked(f)
		}
	}
	ch.unwatched()
	if c.scope == snapshot.ScopeAll {
		ch.untracked(found.untracked)
	}
	return ch
}

// tracked decides about f, a path of HEAD or of the user's index. If the file is the same as in the index, the captured
// tree has the index's entry. If the file is missing, the captured tree lacks the path. The method module decides about
// a submodule, and modified about any other file.
func (c *choice) tracked(f statusFile) {
	switch {
	case f.module.is:
		c.module(f)
	case f.same:
		c.edits.files[f.path] = f.index // removes the path if the index lacks the path
		if f.index.exists() {
			c.secrets.keep(f.path)
		}
	case !f.exists:
		c.edits.files[f.path] = treeFile{}
	default:
		c.modified(f.path, f.index)
	}
}

// module decides about the submodule f. The captured tree has the commit in the user's index. If the submodule's HEAD
// is another commit, git later reads HEAD, and the captured tree has HEAD's commit instead. Changes inside the
// submodule are recorded as left out.
func (c *choice) module(f statusFile) {
	c.edits.files[f.path] = f.index
	if f.module.moved {
		c.wanted[f.path] = wantedFile{f.index, true}
	}
	if f.module.dirty {
		c.left.add(f.path, snapshot.LeftDirty, 0)
	}
}

// modified decides about a tracked file that may have changed. index is the file's entry in the user's index. If the
// file is missing or left out, the captured tree lacks the path.
func (c *choice) modified(path string, index treeFile) {
	info, err := lstat(c.w.full(path))
	if err != nil || !c.take(path, info, wantedFile{index, true}) {
		c.edits.files[path] = treeFile{}
	}
}

// unwatched decides about the files at which git status does not look, because the user marked them assume-unchanged
// or skip-worktree. A missing file with skip-worktree counts as unchanged, as in git.
func (c *choice) unwatched() {
	for _, u := range c.state.Survey.Unwatched {
		if c.underLeftOut(u.Path) {
			continue
		}
		if _, err := lstat(c.w.full(u.Path)); err != nil && u.Skipped {
			continue // git treats a missing file with skip-worktree as unchanged
		}
		c.modified(u.Path, treeFile{mode: u.Mode, id: u.ID})
	}
}

// take decides whether the capture has the file at path, and returns true if so. If the file has changed since the last
// capture, take adds it to c.wanted. info describes the file, and file has the facts that the user's version control knows about it.
//
// take returns false for a file that is neither regular nor a symbolic link. It also returns false for a file that is
// too large or unreadable, and for an untracked file with a secret or with a name that git refuses, and records this file as left out. The search of a
// file in c.wanted may still leave it out.
func (c *choice) take(path string, info fs.FileInfo, file wantedFile) bool {
	link := info.Mode()&fs.ModeSymlink != 0
	switch {
	case !info.Mode().IsRegular() && !link:
		return false
	case !file.tracked && c.refuse(path, link):
		return false
	case info.Size() > c.opts.MaxFile:
		c.left.add(path, snapshot.LeftTooLarge, info.Size())
		return false
	case !file.tracked && !link && c.secrets.isNamed(path):
		c.leaveSecret(path, "")
		return false
	case c.unchanged(path, info, file.tracked):
		return true
	case !link && !readable(c.w.full(path)):
		c.left.add(path, snapshot.LeftUnreadable, 0)
		return false
	}
	if c.wanted[path] = file; file.tracked && !link && c.secrets.isNamed(path) {
		c.secrets.add(path, "", false)
	}
	return true
}

// refuse reports whether git refuses the name of an untracked file, and records the file, or its folder with such a name, as left
// out.
func (c *choice) refuse(path string, link bool) bool {
	mode := objstore.ModeFile
	if link {
		mode = objstore.ModeSymlink
	}
	refused := refusedPart(path, mode)
	if refused != "" {
		c.left.add(refused, snapshot.LeftUnreadable, 0)
	}
	return refused != ""
}

// unchanged reports whether the file at path still has the content that the last capture read. If so, unchanged captures
// this content without reading the file, or leaves it out, if the last capture found a secret in it and the file is not
// tracked. unchanged returns false if a content must be read although it is the same: the last capture left it out and
// this capture takes it, or it was searched by other rules.
func (c *choice) unchanged(path string, info fs.FileInfo, tracked bool) bool {
	i, found := c.before.Find(path)
	if !found || !c.before.Fresh(&c.before.Entries[i], info) {
		return false
	}
	rule, out, secret := c.secrets.known(path)
	leave := !tracked && c.opts.Secrets != nil
	if leave && !c.secrets.searched() || !leave && out {
		return false
	}
	e := c.before.Entries[i]
	c.known = append(c.known, e)
	if secret && leave {
		c.leaveSecret(path, rule)
		return true
	}
	if tracked {
		c.secrets.keep(path)
	}
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

// underLeftOut reports whether path is in one of the folders that c.left records as left out. Such a record ends
// in a slash.
func (c *choice) underLeftOut(path string) bool {
	return slices.ContainsFunc(c.left.all, func(l snapshot.LeftOut) bool {
		return strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}

// untracked decides about paths, the files that are neither tracked nor ignored. It captures the files within the
// limits, and records the others as left out: files that CaptureOptions.Leave excludes, repositories inside the working
// copy, and folders with too many or too large files.
func (c *choice) untracked(paths []string) {
	paths = slices.DeleteFunc(c.withoutRepositories(paths), c.leave)
	sizes := c.sizes(paths)
	for _, path := range c.fewEnough(paths, sizes) {
		if info := sizes[path].info; info != nil {
			c.take(path, info, wantedFile{})
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
	info  fs.FileInfo // nil only in the zero value, which means that the file is gone
}

// sizes returns the information about the files at paths, by path. A file that is larger than CaptureOptions.MaxFile
// has bytes 0, because the capture will not have the file. A missing file is not in the result.
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

// withoutRepositories returns the paths that are in no other repository inside the working copy, and records each
// such repository as left out. It also drops the files of the working copy's own .jj folder. For a nested git
// repository, git lists only one path, which ends in a slash. For a nested jj repository, git lists the files one by
// one.
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
	// The files of a nested jj repository that are outside its .jj folder are still in kept.
	return slices.DeleteFunc(kept, c.underLeftOut)
}
