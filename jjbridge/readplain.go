package jjbridge

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
)

// The bounds of what plainReader keeps in memory. git reads the rest.
const (
	maxPlainFile  = 1 << 20
	maxPlainBytes = 8 << 20
)

// plainReader reads files that git would store byte for byte, so that no git has to run for them.
type plainReader struct {
	c          *filesCapture
	fileMode   bool            // whether git takes executable bits from files
	attributes map[string]bool // by folder: whether it, or one above, has a .gitattributes
	bytes      int64           // of the files read
}

// newPlainReader returns nil if any attribute or setting may make git store other bytes.
func (c *filesCapture) newPlainReader() *plainReader {
	rules := newContentRules(c.w)
	if c.git.gitDir != "" || runtime.GOOS != "linux" || len(c.state.Survey.Attributes) > 0 || rules.autoCRLF() != autoCRLFOff {
		return nil
	}
	if _, found := rules.config.Get("attr.tree"); found {
		return nil
	}
	for _, name := range append(rules.attributeFiles(), systemAttributes(c.w.env)...) {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	symlinks, err := rules.config.Bool("core.symlinks", true)
	if err != nil || !symlinks {
		return nil
	}
	fileMode, err := rules.config.Bool("core.filemode", true)
	if err != nil {
		return nil
	}
	return &plainReader{c: c, fileMode: fileMode, attributes: make(map[string]bool)}
}

// systemAttributes returns where git may look for the system's attributes: in etc beside the folder of
// the program or, for a git in /usr/bin, in /etc.
func systemAttributes(env []string) []string {
	files := []string{"/etc/gitattributes"}
	program, err := gitexec.Find(env, "git")
	if err != nil {
		return files
	}
	add := func(program string) {
		files = append(files, filepath.Join(filepath.Dir(program), "..", "etc", "gitattributes"))
	}
	add(program)
	if target, err := filepath.EvalSymlinks(program); err == nil {
		add(target)
	}
	return files
}

// read reads a file, which the user's index may have. ok is false if git has to read it: it is large,
// has attributes, or changes meanwhile.
func (r *plainReader) read(file string, index treeFile) (_ gitindex.Entry, data []byte, ok bool) {
	full := r.c.w.full(file)
	before, err := os.Lstat(full)
	if err != nil || index.isModule() || path.Base(file) == ".gitattributes" || r.hasAttributes(path.Dir(file)) {
		return gitindex.Entry{}, nil, false
	}
	var mode objstore.Mode
	switch {
	case before.Size() > min(maxPlainFile, maxPlainBytes-r.bytes):
		return gitindex.Entry{}, nil, false
	case before.Mode()&fs.ModeSymlink != 0:
		mode = objstore.ModeSymlink
		var target string
		target, err = os.Readlink(full)
		data = []byte(target)
	case before.Mode().IsRegular():
		mode = r.mode(before, index)
		data, err = os.ReadFile(full)
	default:
		return gitindex.Entry{}, nil, false
	}
	after, statErr := os.Lstat(full)
	if err != nil || statErr != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() ||
		!before.ModTime().Equal(after.ModTime()) || after.Size() != int64(len(data)) {
		return gitindex.Entry{}, nil, false
	}
	r.bytes += int64(len(data))
	return gitindex.NewEntry(file, mode, objstore.Hash(objstore.Blob, data), after), data, true
}

// mode returns the mode as which git stores a file.
func (r *plainReader) mode(info fs.FileInfo, index treeFile) objstore.Mode {
	switch {
	case !r.fileMode && index.mode == objstore.ModeExecutable, r.fileMode && info.Mode()&0o100 != 0:
		return objstore.ModeExecutable
	}
	return objstore.ModeFile
}

// hasAttributes reports whether a folder, or one above, has a .gitattributes.
func (r *plainReader) hasAttributes(folder string) bool {
	if has, known := r.attributes[folder]; known {
		return has
	}
	_, err := os.Lstat(r.c.w.full(strings.TrimPrefix(folder+"/.gitattributes", "./")))
	has := !errors.Is(err, fs.ErrNotExist) || folder != "." && r.hasAttributes(path.Dir(folder))
	r.attributes[folder] = has
	return has
}
