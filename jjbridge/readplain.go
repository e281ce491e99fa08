package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
)

// The limits of the contents that a plainReader keeps in memory, in bytes. git reads all other files.
const (
	maxPlainFile  = 1 << 20  // of one file
	maxPlainBytes = 32 << 20 // of all files
)

// plainReader reads the files that git would store byte for byte. If a capture has no other files to read, it need not
// run git for their contents.
type plainReader struct {
	c          *filesCapture
	rules      contentRules
	asked      bool            // git has told the attributes of all files
	fileMode   bool            // core.fileMode: whether git takes executable bits from files
	attributes map[string]bool // by folder: whether the folder, or one above it, has a .gitattributes file
	bytes      int64           // the total size of the files read
}

// newPlainReader returns a plainReader for the files at names. If there may be files with attributes, git tells the attributes first. The result is
// nil if a setting may make git store bytes that differ from the file's, and on systems other than Linux, where the
// places of the system's attribute files are unknown.
func (c *filesCapture) newPlainReader(ctx context.Context, names []string) (*plainReader, error) {
	rules := newContentRules(c.w)
	if c.git.gitDir != "" || runtime.GOOS != "linux" || rules.autoCRLF() != autoCRLFOff {
		return nil, nil
	}
	// With attr.tree, git also reads attributes from a tree.
	if _, found := rules.config.Get("attr.tree"); found {
		return nil, nil
	}
	symlinks, err := rules.config.Bool("core.symlinks", true)
	if err != nil || !symlinks {
		return nil, nil //nolint:nilerr // git reads the files, and says what is wrong with the setting
	}
	fileMode, err := rules.config.Bool("core.filemode", true)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	r := &plainReader{c: c, rules: rules, fileMode: fileMode, attributes: make(map[string]bool)}
	r.asked = len(c.state.Survey.Attributes) > 0
	for _, name := range append(rules.attributePaths(), systemAttributes(c.w.env)...) {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			r.asked = true
		}
	}
	if r.asked {
		err = c.askAttributes(ctx, names)
	}
	return r, err
}

// systemAttributes returns the paths of all files in which git may look for the system's attributes. They are
// /etc/gitattributes, and ../etc/gitattributes relative to the folder of the program git in env's PATH. If this program
// is a symbolic link, the folder of the link's target counts, too. The files may be missing.
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

// read reads one file of the working copy. file is the path of the file, and index is the file in the user's
// index at this path, if any. read returns the entry of the file for an index, and its content; the content of
// a symbolic link is its target. ok is false if git has to read the file, in these cases:
//   - The file is missing or unreadable, or it is neither regular nor a symbolic link.
//   - The file is larger than maxPlainFile, or exceeds maxPlainBytes together with the files read before.
//   - The file is a .gitattributes file, may have attributes that git has not told, or replaces a submodule.
//   - Its attributes make git change the bytes.
//   - The file changes while read reads it.
func (r *plainReader) read(file string, index treeFile) (_ gitindex.Entry, data []byte, ok bool) {
	full := r.c.w.full(file)
	before, err := os.Lstat(full)
	if err != nil || index.isModule() || path.Base(file) == ".gitattributes" || !r.asked && r.hasAttributes(path.Dir(file)) {
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
		!before.ModTime().Equal(after.ModTime()) || after.Size() != int64(len(data)) || mode != objstore.ModeSymlink && r.converts(file, data) {
		return gitindex.Entry{}, nil, false
	}
	r.bytes += int64(len(data))
	return gitindex.NewEntry(file, mode, algorithm(r.c.w.Repo).ID(objstore.Blob, data), after), data, true
}

// converts reports whether git may store other bytes than data, the content of file. Without a CR, git converts no line ends.
func (r *plainReader) converts(file string, data []byte) bool {
	if !r.asked {
		return false // there are no attributes
	}
	has, known := r.c.given[file]
	return !known || has.given("filter") || has.given("ident") || has.given("working-tree-encoding") ||
		r.rules.lineEndsOf(has).converts && bytes.IndexByte(data, '\r') >= 0
}

// mode returns the mode with which git stores the regular file that info describes. If core.fileMode is true, the file
// is executable if its owner may execute it. Otherwise the file has the executable bit of index, the file's entry in
// the user's index.
func (r *plainReader) mode(info fs.FileInfo, index treeFile) objstore.Mode {
	switch {
	case !r.fileMode && index.mode == objstore.ModeExecutable, r.fileMode && info.Mode()&0o100 != 0:
		return objstore.ModeExecutable
	}
	return objstore.ModeFile
}

// hasAttributes reports whether folder, or a folder above it in the working copy, has a .gitattributes file. folder is
// relative to the top; "." is the top. If hasAttributes cannot look into a folder, it returns true.
func (r *plainReader) hasAttributes(folder string) bool {
	if has, known := r.attributes[folder]; known {
		return has
	}
	_, err := os.Lstat(r.c.w.full(strings.TrimPrefix(folder+"/.gitattributes", "./")))
	has := !errors.Is(err, fs.ErrNotExist) || folder != "." && r.hasAttributes(path.Dir(folder))
	r.attributes[folder] = has
	return has
}
