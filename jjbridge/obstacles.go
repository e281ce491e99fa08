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

// obstacles looks at what stands in the working copy where edits would write.
type obstacles struct {
	root     string
	edits    []edit
	foldCase bool            // the file system takes names that differ in case for one
	removed  map[string]bool // paths of edits that go away, folded
	leftOut  map[string]string
	folders  map[folderUse]folderState // folders that were looked at
	refused  []Refusal
	known    map[string]bool // paths in refused
}

// folderUse is a folder that files are written into, or only taken out of.
type folderUse struct {
	name   string
	create bool
}

// folderState is what was found of a folder.
type folderState struct {
	refusal *Refusal // nil: nothing speaks against the use
	absent  bool     // it is not there, or what is there makes way for it
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
	written := make(map[string]string) // folded to as it is
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
			o.place(e.path)
		}
	}
}

func (o *obstacles) refuse(r *Refusal) {
	if r != nil && !o.known[r.Path] {
		o.known[r.Path] = true
		o.refused = append(o.refused, *r)
	}
}

// inTheWay is the refusal because of a file that was not recorded.
func (o *obstacles) inTheWay(name, what string) *Refusal {
	reason := unrecorded(what)
	if left, ok := o.leftOut[name]; ok {
		reason += " (" + left + ")"
	}
	return &Refusal{name, reason}
}

// folder looks whether files can be put into, or taken out of, a folder and those it is
// in: all of them are folders, none is a repository of its own, and the innermost that
// is there can be written to. The answer is kept.
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
		return folderState{absent: true} // or it has changed, which git sees
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

// place looks whether a file can come to where none was recorded.
func (o *obstacles) place(name string) {
	info, err := os.Lstat(o.full(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		o.refuse(&Refusal{name, err.Error()})
	case info.IsDir():
		o.clear(name)
	case !o.removed[o.fold(name)]:
		o.refuse(o.inTheWay(name, kindOf(info)))
	}
}

// clear looks whether all that is in a folder goes away, so that a file can come in its place.
func (o *obstacles) clear(name string) {
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
			o.clear(inner)
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

// kindOf is what a thing in the file system is called.
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

// badPath is why no file is ever written to a path; "" for every other path. git knows
// more such names, and writes nothing then.
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
