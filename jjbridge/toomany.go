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

// fewEnough returns those of the untracked paths that the limits let in. Above them, the largest folders are left out
// by name until the rest fits. If no folder is left to name, all untracked files are left out.
func (c *choosing) fewEnough(paths []string, sizes map[string]untrackedFile) []string {
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
		c.left.add(name, snapshot.LeftUntracked, 0) // its size would make every capture another one
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(path, name) })
	})
}

// limits are what untracked files may weigh together.
func (c *choosing) limits() weight {
	return weight{int64(c.opts.MaxUntracked), c.opts.MaxUntrackedBytes}
}

// tooMuch reports whether untracked files are more than the limits let in.
func (c *choosing) tooMuch(w weight) bool {
	return w.files > c.limits().files || w.bytes > c.limits().bytes
}

// excess is how heavy w is by the limit that all files together break.
func (c *choosing) excess(all, w weight) int64 {
	if all.files > c.limits().files {
		return w.files
	}
	return w.bytes
}

// weight is how many files there are and how large they are together.
type weight struct{ files, bytes int64 }

func (w weight) minus(other weight) weight {
	return weight{w.files - other.files, w.bytes - other.bytes}
}

func (w weight) String() string {
	return fmt.Sprintf("%d files with %d MB", w.files, w.bytes>>20)
}

// folder is the untracked files of one folder, with those below.
type folder struct {
	weight
	below map[string]*folder
}

// newFolder is the folder of all paths.
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

// spreadOver and concentrated say when the weight of a folder is in few folders of its own: those with at least one part
// in spreadOver of it have concentrated parts of a hundred.
const (
	spreadOver   = 10
	concentrated = 90
)

// heaviest takes the heaviest folder out of f and returns its path, with a slash at its end, or "" if f has no folder.
// A folder whose weight is in few folders of its own stays for what it has besides, and the heaviest of them goes.
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

// holdsFew reports whether f's weight is in few folders, and there is something besides or only one of them.
func (f *folder) holdsFew(of func(weight) int64) bool {
	var inLarge int64
	for _, inner := range f.below {
		if of(inner.weight)*spreadOver >= of(f.weight) {
			inLarge += of(inner.weight)
		}
	}
	return inLarge*100 >= of(f.weight)*concentrated && (inLarge < of(f.weight) || len(f.below) == 1)
}

// largest is the name of the largest folder in f that has any weight.
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
