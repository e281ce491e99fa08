package jjbridge

import (
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// treeEdits are the differences of a tree from another one.
type treeEdits struct {
	files   map[string]treeFile // by path; a treeFile that does not exist removes the path
	folders []string            // folders to remove, each with a slash at its end
}

// treeBuilder builds trees, reading only those that edits touch.
type treeBuilder struct {
	objects objstore.Reader
	made    map[objstore.ID][]byte // the trees that it has built
}

// Get returns an object, also a tree that was built.
func (b *treeBuilder) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if data, ok := b.made[id]; ok {
		return objstore.Tree, data, nil
	}
	return b.objects.Get(id)
}

// edited returns the tree base with the edits. A zero base is the empty tree. Of a path and the paths
// below it, the path wins. An empty folder is none.
func (b *treeBuilder) edited(base objstore.ID, edits treeEdits) (objstore.ID, error) {
	for _, folder := range edits.folders {
		for path := range edits.files {
			if strings.HasPrefix(path, folder) {
				delete(edits.files, path)
			}
		}
		edits.files[strings.TrimSuffix(folder, "/")] = treeFile{}
	}
	sorted := slices.SortedFunc(maps.Keys(edits.files), comparePaths)
	id, err := b.build(base, "", sorted, edits.files)
	if err == nil && id.IsZero() {
		id = b.add(base, nil)
	}
	return id, err
}

// comparePaths orders paths so that those of a folder are in a row, and follow the folder's own.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		switch {
		case x == y:
			continue
		case x == '/':
			return -1
		case y == '/':
			return 1
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// build edits the tree base, whose path is prefix. paths are those that begin with prefix. The result
// is zero if nothing is left.
func (b *treeBuilder) build(base objstore.ID, prefix string, paths []string, files map[string]treeFile) (objstore.ID, error) {
	var entries []objstore.TreeEntry
	if !base.IsZero() {
		var err error
		if entries, err = objstore.ReadForeignTree(b, base); err != nil {
			return objstore.ID{}, err
		}
	}
	byName := make(map[string]objstore.TreeEntry, len(entries))
	for _, e := range entries {
		byName[e.Name] = e
	}
	for len(paths) > 0 {
		name, _, _ := strings.Cut(paths[0][len(prefix):], "/")
		of := 1
		for of < len(paths) && strings.HasPrefix(paths[of], prefix+name+"/") {
			of++
		}
		entry, err := b.entry(byName[name], prefix+name, paths[:of], files)
		if err != nil {
			return objstore.ID{}, err
		}
		paths = paths[of:]
		if entry.ID.IsZero() {
			delete(byName, name)
			continue
		}
		entry.Name = name
		byName[name] = entry
	}
	if len(byName) == 0 {
		return objstore.ID{}, nil
	}
	return b.add(base, slices.Collect(maps.Values(byName))), nil
}

// entry returns the edited entry at path. paths are path itself, if it is edited, and those below.
func (b *treeBuilder) entry(e objstore.TreeEntry, path string, paths []string, files map[string]treeFile) (objstore.TreeEntry, error) {
	if file, ok := files[path]; ok {
		if file.exists() {
			return objstore.TreeEntry{Mode: file.mode, ID: file.id}, nil
		}
		if e.Mode != objstore.ModeTree || len(paths) == 1 {
			e = objstore.TreeEntry{}
		}
		paths = paths[1:]
	}
	if len(paths) == 0 {
		return e, nil
	}
	if e.Mode != objstore.ModeTree {
		e = objstore.TreeEntry{}
	}
	id, err := b.build(e.ID, path+"/", paths, files)
	return objstore.TreeEntry{Mode: objstore.ModeTree, ID: id}, err
}

// add returns the tree of entries, and keeps it if it is not base.
func (b *treeBuilder) add(base objstore.ID, entries []objstore.TreeEntry) objstore.ID {
	data := objstore.EncodeTree(entries)
	id := objstore.Hash(objstore.Tree, data)
	if id != base {
		b.made[id] = data
	}
	return id
}

// newTrees returns those of the trees built for now that the tree before does not have at their path.
func (b *treeBuilder) newTrees(before, now objstore.ID) ([][]byte, error) {
	var trees [][]byte
	err := b.compare(before, now, "", func(id objstore.ID) bool {
		data, built := b.made[id]
		if built {
			trees = append(trees, data)
		}
		return built
	}, func(string, treeFile) {})
	return trees, err
}

// newFiles returns the files of the tree now that the tree before does not have so, by path.
func (b *treeBuilder) newFiles(before, now objstore.ID) (map[string]treeFile, error) {
	files := make(map[string]treeFile)
	err := b.compare(before, now, "", func(objstore.ID) bool { return true }, func(path string, f treeFile) { files[path] = f })
	return files, err
}

// has reports whether a tree has a file, or a submodule, at a path.
func (b *treeBuilder) has(tree objstore.ID, path string) bool {
	entries, err := objstore.ReadForeignTree(b, tree)
	if err != nil {
		return false
	}
	name, rest, inner := strings.Cut(path, "/")
	i := slices.IndexFunc(entries, func(e objstore.TreeEntry) bool { return e.Name == name })
	if i < 0 || inner != (entries[i].Mode == objstore.ModeTree) {
		return false
	}
	return !inner || b.has(entries[i].ID, rest)
}

// compare compares the tree now, at the path prefix, with before, which may be zero. It calls enter
// with each tree that differs, and goes into it if enter returns true; file with each differing file.
func (b *treeBuilder) compare(before, now objstore.ID, prefix string, enter func(objstore.ID) bool, file func(path string, f treeFile)) error {
	if before == now || !enter(now) {
		return nil
	}
	entries, err := objstore.ReadForeignTree(b, now)
	if err != nil {
		return err
	}
	known := make(map[string]objstore.TreeEntry)
	if !before.IsZero() {
		old, err := objstore.ReadForeignTree(b, before)
		if err != nil {
			return err
		}
		for _, e := range old {
			known[e.Name] = e
		}
	}
	for _, e := range entries {
		was := known[e.Name]
		switch {
		case was == e:
		case e.Mode != objstore.ModeTree:
			file(prefix+e.Name, treeFile{mode: e.Mode, id: e.ID})
		default:
			if was.Mode != objstore.ModeTree {
				was = objstore.TreeEntry{}
			}
			if err := b.compare(was.ID, e.ID, prefix+e.Name+"/", enter, file); err != nil {
				return err
			}
		}
	}
	return nil
}
