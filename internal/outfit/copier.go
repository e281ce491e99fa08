package outfit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errSkipped means that a file is left out, and the others are copied.
var errSkipped = errors.New("skipped")

// copier copies files from one folder into another. os.Root keeps it from paths that lead out of either.
type copier struct {
	top            string // the path of source
	source, target *os.Root
	scratch        string          // a folder at the top of target, for files that are not whole yet
	blocked        map[string]bool // see isBlocked
}

// newCopier returns a copier from the folder source into the folder target. The caller closes it.
func newCopier(source, target string) (*copier, error) {
	from, err := os.OpenRoot(source)
	if err != nil {
		return nil, err
	}
	to, err := os.OpenRoot(target)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	c := &copier{source, from, to, scratchPrefix + rand.Text(), make(map[string]bool)}
	if err := c.makeScratch(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// The folder copier.scratch ignores all its files, so that no capture takes the copy of a secret that a killed process has left.
const (
	scratchPrefix = ".smithers-bring-"
	scratchIgnore = "*\n"
)

// makeScratch makes the folder scratch, and removes those of killed processes.
func (c *copier) makeScratch() error {
	all, err := fs.ReadDir(c.target.FS(), ".")
	for _, old := range all {
		if !old.IsDir() || !strings.HasPrefix(old.Name(), scratchPrefix) {
			continue
		}
		if text, err := c.target.ReadFile(path.Join(old.Name(), ".gitignore")); err == nil && string(text) == scratchIgnore {
			_ = c.target.RemoveAll(old.Name()) // git ignores what cannot be removed
		}
	}
	if err == nil {
		err = c.target.Mkdir(c.scratch, 0o700)
	}
	if err == nil {
		err = c.target.WriteFile(path.Join(c.scratch, ".gitignore"), []byte(scratchIgnore), 0o600)
	}
	return err
}

// close closes both folders.
func (c *copier) close() {
	_ = c.target.RemoveAll(c.scratch) // the next process removes what stays
	_ = c.source.Close()              // each copied file is closed already
	_ = c.target.Close()
}

// check returns an error that names the limit if the files at paths exceed one.
func (c *copier) check(paths []string) error {
	var bytes int64
	for _, name := range paths {
		if info, err := c.source.Lstat(name); err == nil {
			bytes += info.Size()
		}
	}
	if len(paths) > maxFiles || bytes > maxBytes {
		return fmt.Errorf("%s names %d files with %d MB, and the limits are %d files with %d MB", IncludeFile, len(paths), bytes>>20, maxFiles, maxBytes>>20)
	}
	return nil
}

// isBlocked reports whether something that is not a folder is in the place of a folder above name in the new folder: a frame may have a link there.
func (c *copier) isBlocked(name string) bool {
	dir := path.Dir(name)
	blocked, known := c.blocked[dir]
	if !known && dir != "." {
		info, err := c.target.Lstat(dir)
		blocked = c.isBlocked(dir) || err == nil && !info.IsDir()
		c.blocked[dir] = blocked
	}
	return blocked
}

// copy copies the file or link at name with its mode and time, and returns its size. The error is fs.ErrExist if the new folder has the path, and
// errSkipped if there is nothing to copy.
func (c *copier) copy(name string) (int64, error) {
	info, err := c.source.Lstat(name)
	dir, dirErr := c.source.Stat(path.Dir(name))
	if errors.Join(err, dirErr) != nil {
		return 0, errSkipped // gone since git has listed it, or in a folder of somebody else
	}
	if _, err := c.target.Lstat(name); err == nil {
		return 0, fs.ErrExist
	}
	if err := c.target.MkdirAll(path.Dir(name), dir.Mode().Perm()|0o700); err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := c.source.Readlink(name)
		if err != nil || c.leadsBack(name, to) {
			return 0, errSkipped
		}
		return 0, c.target.Symlink(to, name)
	}
	if !info.Mode().IsRegular() {
		return 0, errSkipped
	}
	in, err := c.source.Open(name)
	if err != nil {
		return 0, errSkipped
	}
	defer in.Close() //nolint:errcheck // it was only read
	return info.Size(), c.write(in, name, info)
}

// leadsBack reports whether a link at name to the path to would lead from the new folder into the old one: through it, one would write the other's files.
// The way may lead through other links, for example if the user's name of the old folder is a link.
func (c *copier) leadsBack(name, to string) bool {
	if below := filepath.Join(path.Dir(name), to); !filepath.IsAbs(to) {
		if filepath.IsLocal(below) {
			return false
		}
		to = filepath.Join(c.top, below)
	}
	end, _ := filepath.EvalSymlinks(filepath.Join(c.top, name)) // "" if it leads nowhere
	for _, at := range []string{to, end} {
		if rel, err := filepath.Rel(c.top, at); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// write writes the content of in as the new file name. A process that is killed meanwhile leaves no part of it at name.
func (c *copier) write(in *os.File, name string, info fs.FileInfo) error {
	temp := path.Join(c.scratch, "file")
	out, err := c.target.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// The kernel copies, and shares the blocks where the file system can. A file that grows meanwhile is cut off.
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err == nil {
		err = errors.Join(c.target.Chtimes(temp, info.ModTime(), info.ModTime()), c.target.Rename(temp, name))
	}
	if err != nil {
		err = errors.Join(err, c.target.Remove(temp))
	}
	return err
}
