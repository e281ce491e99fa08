package jjbridge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// maxLeftFolders is the number of folders that fewEnough may leave out by name. If more folders are
// necessary, all untracked files are left out.
const maxLeftFolders = 100

// fewEnough returns the untracked paths that the capture takes, out of paths. If paths exceed the limits, fewEnough
// leaves out the heaviest folders until the other files fit. If it would have to leave out more than maxLeftFolders
// folders, or no folder is left, it sets c.scope to snapshot.ScopeTracked and returns nil. If it leaves out files, it
// calls opts.Warn and records in c.left the folders, or "" for all untracked files. sizes has the size of each path.
func (c *choice) fewEnough(paths []string, sizes map[string]untrackedFile) []string {
	folders := newFolder(paths, sizes)
	all := folders.weight
	rest := all
	var left []string
	for i := 0; c.tooMuch(rest); i++ {
		name, gone := folders.heaviest(func(w weight) int64 { return c.excess(rest, w) })
		if name == "" || i == maxLeftFolders {
			c.opts.Warn(fmt.Errorf("the capture leaves out all untracked files (%s); the limits are %s", all, c.limits()))
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
	c.opts.Warn(fmt.Errorf("the capture leaves out the untracked files in %s (%s of %s); the limits are %s",
		strings.Join(left, ", "), all.minus(rest), all, c.limits()))
	for _, name := range left {
		c.left.add(name, snapshot.LeftUntracked, 0) // no size, because a size would make every capture differ
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(path, name) })
	})
}

// limits returns the limits for the number and the total size of untracked files.
func (c *choice) limits() weight {
	return weight{int64(c.opts.MaxUntracked), c.opts.MaxUntrackedBytes}
}

// tooMuch reports whether w exceeds a limit for untracked files.
func (c *choice) tooMuch(w weight) bool {
	return w.files > c.limits().files || w.bytes > c.limits().bytes
}

// excess returns the part of w that counts: the number of files if total exceeds the limit for files, otherwise the
// number of bytes. total must exceed at least one of the limits.
func (c *choice) excess(total, w weight) int64 {
	if total.files > c.limits().files {
		return w.files
	}
	return w.bytes
}

// weight is a number of files and their total size in bytes.
type weight struct{ files, bytes int64 }

// minus returns w without the files and bytes of other.
func (w weight) minus(other weight) weight {
	return weight{w.files - other.files, w.bytes - other.bytes}
}

// String returns the weight in words, such as "20 files with 3 MB".
func (w weight) String() string {
	return fmt.Sprintf("%d files with %d MB", w.files, w.bytes>>20)
}

// folder is the weight of the untracked files in a folder and in all folders below it.
type folder struct {
	weight
	below map[string]*folder // by name; nil without subfolders
}

// newFolder returns the folder that contains all paths, with its subfolders and their weights. sizes has the
// size of each path.
func newFolder(paths []string, sizes map[string]untrackedFile) *folder {
	top := &folder{}
	for _, path := range paths {
		top.add(path, weight{1, sizes[path].bytes})
	}
	return top
}

// add adds the weight w of a file to f and to the folders below f that contain the file. path is the file's
// path relative to f.
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

// spreadOver and concentrated define when few subfolders have most of a folder's weight. A subfolder counts as large if
// it has at least 1/spreadOver of the weight. The large subfolders together must have at least concentrated percent.
const (
	spreadOver   = 10
	concentrated = 90
)

// heaviest removes the heaviest folder from f, and returns its path, with a final slash, and its weight. measure turns
// a weight into the number that heaviest compares. If no subfolder of f has a positive number, path is "". If holdsFew
// is true for the heaviest folder, heaviest removes the heaviest folder inside it instead.
func (f *folder) heaviest(measure func(weight) int64) (path string, gone weight) {
	name := f.largest(measure)
	if name == "" {
		return "", weight{}
	}
	child := f.below[name]
	if child.holdsFew(measure) {
		var inner string
		inner, gone = child.heaviest(measure)
		path = name + "/" + inner
	} else {
		path, gone = name+"/", child.weight
		delete(f.below, name)
	}
	f.weight = f.minus(gone)
	return path, gone
}

// holdsFew reports whether few subfolders of f have most of f's weight. These are the subfolders with at least
// 1/spreadOver of the weight each; together they must have at least concentrated percent. measure turns a weight into
// the number that holdsFew compares. If several such subfolders have all of f's weight, holdsFew returns false, because
// then the capture can leave out f itself.
func (f *folder) holdsFew(measure func(weight) int64) bool {
	whole := measure(f.weight)
	var inLarge int64
	for _, inner := range f.below {
		if part := measure(inner.weight); part*spreadOver >= whole {
			inLarge += part
		}
	}
	return inLarge*100 >= whole*concentrated && (inLarge < whole || len(f.below) == 1)
}

// largest returns the name of the heaviest subfolder of f. measure turns a weight into the number that largest
// compares. If no subfolder has a positive number, largest returns "". If several subfolders are equally heavy, it
// returns the first name in alphabetical order.
func (f *folder) largest(measure func(weight) int64) string {
	var largest string
	for name, child := range f.below {
		if measure(child.weight) == 0 {
			continue
		}
		if largest == "" || cmp.Or(-cmp.Compare(measure(child.weight), measure(f.below[largest].weight)), cmp.Compare(name, largest)) < 0 {
			largest = name
		}
	}
	return largest
}
