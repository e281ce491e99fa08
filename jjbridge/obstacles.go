package jjbridge

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// obstacles finds the files and folders of a working copy that prevent edits.
type obstacles struct {
	root     string
	edits    []edit
	foldCase bool                      // the file system does not distinguish case
	removed  map[string]bool           // folded paths that edits remove
	leftOut  map[string]string         // by path without a final slash: why the capture left the path out
	folders  map[folderUse]folderState // the folders that were checked
	refused  []Refusal                 // in the order of the edits
	known    map[string]bool           // the paths that refused has
}

// folderUse is a folder and its use. If create is true, files are written into the folder. Otherwise files are only
// removed from the folder.
type folderUse struct {
	name   string
	create bool
}

// folderState is the result of checking a folder.
type folderState struct {
	refusal *Refusal // nil if the use is possible
	absent  bool     // the folder does not exist, and a file in its place is not an obstacle
}

// newObstacles returns an obstacles for the given edits in the working copy at root. It checks nothing yet. foldCase is
// true if the file system ignores case. leftOut has the files that the capture left out.
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

// find checks every edit and fills o.refused, in the order of the edits. It changes no file. It refuses an edit if the
// edit's folder cannot be written to. It refuses an edit that writes a file in three more cases: the path is bad, an
// earlier edit writes the same path in other case, or an uncaptured file exists at the path.
func (o *obstacles) find() {
	written := make(map[string]string) // the path, by folded path
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
			o.refuse(&Refusal{e.path, "the path differs only in case from " + other})
			continue
		}
		written[o.fold(e.path)] = e.path
		in := o.folder(path.Dir(e.path), true)
		o.refuse(in.refusal)
		// A captured file at the path is not an obstacle. git itself looks for changes of the file.
		if in.refusal == nil && !in.absent && !e.to.isModule() && (!e.from.exists() || e.from.isModule()) {
			o.checkNew(e)
		}
	}
}

// refuse adds r to o.refused. It does nothing if r is nil or if o.refused already has a refusal of the path.
func (o *obstacles) refuse(r *Refusal) {
	if r != nil && !o.known[r.Path] {
		o.known[r.Path] = true
		o.refused = append(o.refused, *r)
	}
}

// inTheWay returns the refusal of a path at which an uncaptured file exists. name is the path, and kind is the result
// of kindOf for the file. If the capture left the file out, the refusal also has the capture's reason.
func (o *obstacles) inTheWay(name, kind string) *Refusal {
	reason := unrecorded(kind)
	if left, ok := o.leftOut[name]; ok {
		reason += " (" + left + ")"
	}
	return &Refusal{name, reason}
}

// folder checks whether files can be created in a folder or, if create is false, removed from the folder. name is the
// path of the folder. Each folder from the top down to name must be writable and, apart from the top, must not be a
// repository. If one of these folders is missing, the state is absent. The state is also absent if a file has the place
// of one of these folders, and either an edit removes the file or create is false. folder stores the result in
// o.folders for the next call.
func (o *obstacles) folder(name string, create bool) folderState {
	use := folderUse{name, create}
	found, ok := o.folders[use]
	if !ok {
		found = o.lookAtFolder(name, create)
		o.folders[use] = found
	}
	return found
}

// lookAtFolder makes the check that folder describes, without the result for name in o.folders. It uses the
// results for the folders above.
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
		return refuse(withoutPath(err))
	case !info.IsDir() && (o.removed[o.fold(name)] || !create):
		return folderState{absent: true} // if no edit removes the file, git itself finds the change and refuses
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse("the path is a symbolic link, but the restore needs a folder")
	case !info.IsDir():
		return folderState{refusal: o.inTheWay(name, kindOf(info))}
	case name != "." && isRepository(full):
		return refuse("the path is the folder of another repository")
	}
	if err := writable(full); err != nil {
		return refuse("the folder cannot be written to: " + err.Error())
	}
	return folderState{}
}

// withoutPath returns the text of an error of os without the path, which a Refusal has already.
func withoutPath(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return err.Error()
}

// checkNew checks whether e can write a file at its path, at which no file was captured. checkNew refuses the path if it has a file that no edit
// removes, unless the file is what e writes. If the path has a folder, checkCleared decides.
func (o *obstacles) checkNew(e edit) {
	name := e.path
	info, err := os.Lstat(o.full(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		o.refuse(&Refusal{name, withoutPath(err)})
	case info.IsDir():
		o.checkCleared(name)
	case !o.removed[o.fold(name)] && !isAlready(o.full(name), info, e.to):
		o.refuse(o.inTheWay(name, kindOf(info)))
	}
}

// maxCompared is the size of the largest file that isAlready reads, in bytes.
const maxCompared = 64 << 20

// isAlready reports whether a file is byte for byte what an edit writes: a regular file of the same mode, without the filters of git.
func isAlready(path string, info fs.FileInfo, to treeFile) bool {
	executable := info.Mode()&0o100 != 0
	if !info.Mode().IsRegular() || info.Size() > maxCompared || to.mode != objstore.ModeFile && to.mode != objstore.ModeExecutable || executable != (to.mode == objstore.ModeExecutable) {
		return false
	}
	file, err := fsx.OpenRegular(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxCompared+1))
	return err == nil && to.id.Names(objstore.Blob, data)
}

// checkCleared checks whether the edits remove every file in a folder, so that a file can replace the folder.
// name is the path of the folder. checkCleared refuses each file that stays, a repository, and a parent
// folder that is not writable.
func (o *obstacles) checkCleared(name string) {
	if isRepository(o.full(name)) {
		o.refuse(&Refusal{name, "the path is the folder of another repository"})
		return
	}
	if err := writable(o.full(path.Dir(name))); err != nil {
		o.refuse(&Refusal{path.Dir(name), "the folder cannot be written to: " + err.Error()})
		return
	}
	entries, err := os.ReadDir(o.full(name))
	if err != nil {
		o.refuse(&Refusal{name, withoutPath(err)})
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

// unrecorded returns the reason for a refusal because of an uncaptured file. kind is the result of kindOf for the file.
func unrecorded(kind string) string { return "a " + kind + " that was not captured is in the way" }

// full returns the file system path of name, a slash-separated path relative to the root of the working copy.
func (o *obstacles) full(name string) string {
	return filepath.Join(o.root, filepath.FromSlash(name))
}

// fold returns name, in lower case if the file system ignores case. Equal results mean the same file.
func (o *obstacles) fold(name string) string {
	if o.foldCase {
		return strings.ToLower(name)
	}
	return name
}

// kindOf returns the kind of a file in words: "symbolic link", "file" or, for all other kinds, "special
// file".
func kindOf(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "symbolic link"
	case info.Mode().IsRegular():
		return "file"
	}
	return "special file"
}

// isRepository reports whether dir contains .git or .jj, and so is the top of a repository's working copy.
func isRepository(dir string) bool {
	for _, name := range []string{".git", ".jj"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// badPath returns the reason why a restore never writes a file at the path name, or "" if the path is allowed. A part
// of an allowed path is not empty, ".", "..", ".git" or ".jj", in any case of letters. git itself refuses more paths.
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
