package jjbridge

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// obstacles finds files and folders of the working copy that are in the way of edits.
type obstacles struct {
	root     string
	edits    []edit
	foldCase bool            // the file system does not distinguish case
	removed  map[string]bool // folded paths that edits remove
	leftOut  map[string]string
	folders  map[folderUse]folderState // the folders that were checked
	refused  []Refusal
	known    map[string]bool // paths in refused
}

// folderUse is a folder into which files are written, or from which files are only removed.
type folderUse struct {
	name   string
	create bool
}

// folderState is the result of checking a folder.
type folderState struct {
	refusal *Refusal // nil if the use is possible
	absent  bool     // it does not exist, or an edit removes what is there
}

func newObstacles(root string, edits []edit, foldCase bool, leftOut []snapshot.LeftOut) *obstacles {
	o := &obstacles{
		root: root, edits: edits, foldCase: foldCase,
		removed: make(map[string]bool), leftOut: make(map[string]string),
		folders: make(map[folderUse]folderState), known: make(map[string]bool),
	}
	for _, e := range edits {
		if e.from.exists() && !e.from.isModule() && !e.to.exists() {
			o.removed[o.fold(e.path)] = true
		}
	}
	for _, l := range leftOut {
		if l.Path != "" {
			o.leftOut[strings.TrimSuffix(l.Path, "/")] = l.Reason
		}
	}
	return o
}

// find fills refused, in the order of the edits.
func (o *obstacles) find() {
	written := make(map[string]string) // by folded path: the path
	for _, e := range o.edits {
		if !e.to.exists() {
			o.refuse(o.folder(path.Dir(e.path), false).refusal)
			continue
		}
		if reason := badPath(e.path); reason != "" {
			o.refuse(&Refusal{e.path, reason})
			continue
		}
		if other, ok := written[o.fold(e.path)]; ok {
			o.refuse(&Refusal{e.path, "it differs only in case from " + other})
			continue
		}
		written[o.fold(e.path)] = e.path
		in := o.folder(path.Dir(e.path), true)
		o.refuse(in.refusal)
		if in.refusal == nil && !in.absent && !e.to.isModule() && (!e.from.exists() || e.from.isModule()) {
			o.checkNew(e.path)
		}
	}
}

func (o *obstacles) refuse(r *Refusal) {
	if r != nil && !o.known[r.Path] {
		o.known[r.Path] = true
		o.refused = append(o.refused, *r)
	}
}

// inTheWay returns the refusal because of a file that was not captured.
func (o *obstacles) inTheWay(name, what string) *Refusal {
	reason := unrecorded(what)
	if left, ok := o.leftOut[name]; ok {
		reason += " (" + left + ")"
	}
	return &Refusal{name, reason}
}

// folder checks whether files can be put into a folder, or removed from it. The folder and all
// above it must be folders and not repositories of their own, and the innermost existing one must
// be writable. The result is kept.
func (o *obstacles) folder(name string, create bool) folderState {
	use := folderUse{name, create}
	found, ok := o.folders[use]
	if !ok {
		found = o.lookAtFolder(name, create)
		o.folders[use] = found
	}
	return found
}

func (o *obstacles) lookAtFolder(name string, create bool) folderState {
	if name != "." {
		if in := o.folder(path.Dir(name), create); in.refusal != nil || in.absent {
			return in
		}
	}
	refuse := func(reason string) folderState { return folderState{refusal: &Refusal{name, reason}} }
	full := o.full(name)
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folderState{absent: true}
	case err != nil:
		return refuse(err.Error())
	case !info.IsDir() && (o.removed[o.fold(name)] || !create):
		return folderState{absent: true} // or it has changed, and git refuses
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse("a symbolic link is in the way of a folder")
	case !info.IsDir():
		return folderState{refusal: o.inTheWay(name, kindOf(info))}
	case name != "." && isRepository(full):
		return refuse("another repository is in the way")
	}
	if err := writable(full); err != nil {
		return refuse("the folder cannot be written to: " + err.Error())
	}
	return folderState{}
}

// checkNew checks whether a file can be written where none was captured.
func (o *obstacles) checkNew(name string) {
	info, err := os.Lstat(o.full(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		o.refuse(&Refusal{name, err.Error()})
	case info.IsDir():
		o.checkCleared(name)
	case !o.removed[o.fold(name)]:
		o.refuse(o.inTheWay(name, kindOf(info)))
	}
}

// checkCleared checks whether everything in a folder is removed, so that a file can replace the
// folder.
func (o *obstacles) checkCleared(name string) {
	if isRepository(o.full(name)) {
		o.refuse(&Refusal{name, "another repository is in the way"})
		return
	}
	if err := writable(o.full(path.Dir(name))); err != nil {
		o.refuse(&Refusal{path.Dir(name), "the folder cannot be written to: " + err.Error()})
		return
	}
	entries, err := os.ReadDir(o.full(name))
	if err != nil {
		o.refuse(&Refusal{name, err.Error()})
		return
	}
	for _, entry := range entries {
		inner := name + "/" + entry.Name()
		switch {
		case entry.IsDir():
			o.checkCleared(inner)
		case !o.removed[o.fold(inner)]:
			o.refuse(o.inTheWay(inner, "file"))
		}
	}
}

func unrecorded(what string) string { return "a " + what + " that was not recorded is in the way" }

func (o *obstacles) full(name string) string {
	return filepath.Join(o.root, filepath.FromSlash(name))
}

func (o *obstacles) fold(name string) string {
	if o.foldCase {
		return strings.ToLower(name)
	}
	return name
}

// kindOf returns a word for the kind of a file.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "symbolic link"
	case info.Mode().IsRegular():
		return "file"
	}
	return "special file"
}

// isRepository reports whether a folder is the top of a repository's working copy.
func isRepository(dir string) bool {
	for _, name := range []string{".git", ".jj"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// badPath returns the reason why no file is ever written to a path, or "" if there is none. git
// knows more such names, and refuses to write them.
func badPath(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "not a path inside the working copy"
		case strings.EqualFold(part, ".git") || strings.EqualFold(part, ".jj"):
			return "a repository's own folder is never written to"
		}
	}
	return ""
}
