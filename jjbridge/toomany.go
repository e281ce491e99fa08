package jjbridge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// maxLeftFolders is how many folders are left out by name before all untracked files are.
const maxLeftFolders = 100

// fewEnough returns those of the untracked paths that the limits let in. If there are too many, the
// largest folders are left out by name until the rest fits. If there is no folder to name, all
// untracked files are left out.
func (c *choice) fewEnough(paths []string, sizes map[string]untrackedFile) []string {
	folders := newFolder(paths, sizes)
	all := folders.weight
	rest := all
	var left []string
	for i := 0; c.tooMuch(rest); i++ {
		name, gone := folders.heaviest(func(w weight) int64 { return c.excess(rest, w) })
		if name == "" || i == maxLeftFolders {
			c.opts.Warn(fmt.Errorf("all untracked files are left out, %s; the limits are %s", all, c.limits()))
			c.left.add("", snapshot.LeftUntracked, all.bytes)
			c.scope = snapshot.ScopeTracked
			return nil
		}
		rest = rest.minus(gone)
		left = append(left, name)
	}
	if len(left) == 0 {
		return paths
	}
	c.opts.Warn(fmt.Errorf("the untracked files of %s are left out, %s of %s; the limits are %s",
		strings.Join(left, ", "), all.minus(rest), all, c.limits()))
	for _, name := range left {
		c.left.add(name, snapshot.LeftUntracked, 0) // with its size, every capture would differ
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(path, name) })
	})
}

// limits returns the limits of all untracked files together.
func (c *choice) limits() weight {
	return weight{int64(c.opts.MaxUntracked), c.opts.MaxUntrackedBytes}
}

// tooMuch reports whether untracked files exceed the limits.
func (c *choice) tooMuch(w weight) bool {
	return w.files > c.limits().files || w.bytes > c.limits().bytes
}

// excess returns the weight of w by that limit which all files together exceed.
func (c *choice) excess(all, w weight) int64 {
	if all.files > c.limits().files {
		return w.files
	}
	return w.bytes
}

// weight is a number of files and their size in bytes.
type weight struct{ files, bytes int64 }

func (w weight) minus(other weight) weight {
	return weight{w.files - other.files, w.bytes - other.bytes}
}

func (w weight) String() string {
	return fmt.Sprintf("%d files with %d MB", w.files, w.bytes>>20)
}

// folder is the weight of the untracked files in one folder, with the folders below.
type folder struct {
	weight
	below map[string]*folder
}

// newFolder returns the folder of all paths.
func newFolder(paths []string, sizes map[string]untrackedFile) *folder {
	top := &folder{}
	for _, path := range paths {
		top.add(path, weight{1, sizes[path].bytes})
	}
	return top
}

func (f *folder) add(path string, w weight) {
	f.files, f.bytes = f.files+w.files, f.bytes+w.bytes
	name, rest, ok := strings.Cut(path, "/")
	if !ok {
		return
	}
	if f.below == nil {
		f.below = make(map[string]*folder)
	}
	if f.below[name] == nil {
		f.below[name] = &folder{}
	}
	f.below[name].add(rest, w)
}

// spreadOver and concentrated define when the weight of a folder is in few of its subfolders: those
// with at least 1/spreadOver of the weight have at least concentrated percent of it together.
const (
	spreadOver   = 10
	concentrated = 90
)

// heaviest removes the heaviest folder from f and returns its path, with a slash at its end, or ""
// if f has no folder. If the weight of a folder is in few of its subfolders, the heaviest of these
// is removed instead, and the folder's other files stay.
func (f *folder) heaviest(of func(weight) int64) (path string, gone weight) {
	name := f.largest(of)
	if name == "" {
		return "", weight{}
	}
	child := f.below[name]
	if child.holdsFew(of) {
		var inner string
		inner, gone = child.heaviest(of)
		path = name + "/" + inner
	} else {
		path, gone = name+"/", child.weight
		delete(f.below, name)
	}
	f.weight = f.minus(gone)
	return path, gone
}

// holdsFew reports whether the weight of f is in few subfolders, and f has other files or a single
// subfolder.
func (f *folder) holdsFew(of func(weight) int64) bool {
	var inLarge int64
	for _, inner := range f.below {
		if of(inner.weight)*spreadOver >= of(f.weight) {
			inLarge += of(inner.weight)
		}
	}
	return inLarge*100 >= of(f.weight)*concentrated && (inLarge < of(f.weight) || len(f.below) == 1)
}

// largest returns the name of the heaviest folder in f.
func (f *folder) largest(of func(weight) int64) string {
	var largest string
	for name, child := range f.below {
		if of(child.weight) == 0 {
			continue
		}
		if largest == "" || cmp.Or(-cmp.Compare(of(child.weight), of(f.below[largest].weight)), cmp.Compare(name, largest)) < 0 {
			largest = name
		}
	}
	return largest
}
