package jjbridge

import (
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// treeEdits holds the changes that turn one tree into another.
type treeEdits struct {
	files   map[string]treeFile // by path; a treeFile that does not exist removes the path
	folders []string            // folders to remove with all files, each with a final slash
}

// treeBuilder builds trees by edits of other trees. It reads only the trees above an edited path.
type treeBuilder struct {
	objects objstore.Reader
	made    map[objstore.ID][]byte // the encoded trees that b has built, by id
}

// Hash returns the hash with which the repository names its objects.
func (b *treeBuilder) Hash() objstore.Algorithm { return objstore.HashOf(b.objects) }

// Get returns the kind and the bytes of an object: a tree in b.made, or an object of b.objects.
func (b *treeBuilder) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if data, ok := b.made[id]; ok {
		return objstore.Tree, data, nil
	}
	return b.objects.Get(id)
}

// edited applies edits to the tree base and returns the id of the new tree. It adds new trees to b.made. A zero base is
// the empty tree. If edits has a file and also paths below the file's path, edited ignores these paths. The new tree
// has no empty folders. For each path in edits.folders, edited adds the removal of the folder to edits.files.
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

// comparePaths compares two paths for a sort. The slash counts as the smallest byte, so all paths below a path
// directly follow the path.
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

// build applies edits to the tree base, and returns the id of the new tree, or a zero id if no entry is left. prefix is
// the path of base: "", or a path with a final slash. paths are the edited paths that begin with prefix, in the order
// of comparePaths. files has the edits of these paths, and may have edits of other paths. A zero base is the empty
// tree.
func (b *treeBuilder) build(base objstore.ID, prefix string, paths []string, files map[string]treeFile) (objstore.ID, error) {
	_, byName, err := b.entries(base)
	if err != nil {
		return objstore.ID{}, err
	}
	for len(paths) > 0 {
		name, _, _ := strings.Cut(paths[0][len(prefix):], "/")
		count := 1 // of the paths that are name or below name
		for count < len(paths) && strings.HasPrefix(paths[count], prefix+name+"/") {
			count++
		}
		entry, err := b.entry(byName[name], prefix+name, paths[:count], files)
		if err != nil {
			return objstore.ID{}, err
		}
		paths = paths[count:]
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

// entry applies edits to e, the entry at path, and returns the new entry without its name. If e is zero, the
// tree has no entry at path. If the returned id is zero, the caller must remove the entry. paths are the edited
// paths in the order of comparePaths: path itself, if it is edited, and the paths below it. files has the edits
// of these paths.
func (b *treeBuilder) entry(e objstore.TreeEntry, path string, paths []string, files map[string]treeFile) (objstore.TreeEntry, error) {
	if file, ok := files[path]; ok {
		if file.exists() {
			return objstore.TreeEntry{Mode: file.mode, ID: file.id}, nil
		}
		// A folder at the removed path stays if paths below it are edited, too. Their edits decide which files it has.
		if e.Mode != objstore.ModeTree || len(paths) == 1 {
			e = objstore.TreeEntry{}
		}
		paths = paths[1:]
	}
	if len(paths) == 0 {
		return e, nil
	}
	// A folder with the edited paths replaces a file at path.
	if e.Mode != objstore.ModeTree {
		e = objstore.TreeEntry{}
	}
	id, err := b.build(e.ID, path+"/", paths, files)
	return objstore.TreeEntry{Mode: objstore.ModeTree, ID: id}, err
}

// add returns the id of the tree with the given entries. If this id is not base, add also adds the tree to
// b.made.
func (b *treeBuilder) add(base objstore.ID, entries []objstore.TreeEntry) objstore.ID {
	data := objstore.EncodeTree(entries)
	id := b.Hash().ID(objstore.Tree, data)
	if id != base {
		b.made[id] = data
	}
	return id
}

// newTrees returns the encoded trees that b has built for a new tree, and that the old tree does not have at
// the same path. oldID is the id of the old tree, or zero; newID is the id of the new tree.
func (b *treeBuilder) newTrees(oldID, newID objstore.ID) ([][]byte, error) {
	var trees [][]byte
	err := b.compare(oldID, newID, "", func(id objstore.ID) bool {
		data, built := b.made[id]
		if built {
			trees = append(trees, data)
		}
		return built
	}, func(string, treeFile, treeFile) {})
	return trees, err
}

// newFiles returns, by path, the files and submodules of a new tree, except those that are the same in the old
// tree. oldID is the id of the old tree, or zero; newID is the id of the new tree.
func (b *treeBuilder) newFiles(oldID, newID objstore.ID) (map[string]treeFile, error) {
	files := make(map[string]treeFile)
	err := b.compare(oldID, newID, "", func(id objstore.ID) bool { return !id.IsZero() }, func(path string, _, now treeFile) {
		if now.exists() {
			files[path] = now
		}
	})
	return files, err
}

// entries returns the entries of a tree, also by name. The zero id has no entries.
func (b *treeBuilder) entries(tree objstore.ID) (list []objstore.TreeEntry, byName map[string]objstore.TreeEntry, err error) {
	if !tree.IsZero() {
		list, err = objstore.ReadForeignTree(b, tree)
	}
	byName = make(map[string]objstore.TreeEntry, len(list))
	for _, e := range list {
		byName[e.Name] = e
	}
	return list, byName, err
}

// compare compares a new tree with an old tree. A zero id is the empty tree. prefix is the path of both trees: "", or a
// path with a final slash. compare calls onTree with the id of each new tree that differs from the old tree at the same
// path, the outermost first. If onTree returns true, compare also compares the entries of this tree. It calls onFile
// with each path at which a file or submodule differs; a treeFile that does not exist means that the tree has none there.
func (b *treeBuilder) compare(oldID, newID objstore.ID, prefix string, onTree func(objstore.ID) bool, onFile func(path string, was, now treeFile)) error {
	if oldID == newID || !onTree(newID) {
		return nil
	}
	before, gone, err := b.entries(oldID)
	if err != nil {
		return err
	}
	after, _, err := b.entries(newID)
	if err != nil {
		return err
	}
	for _, now := range after {
		was := gone[now.Name]
		delete(gone, now.Name)
		if err := b.compareAt(prefix+now.Name, was, now, onTree, onFile); err != nil {
			return err
		}
	}
	for _, was := range before {
		if _, isGone := gone[was.Name]; !isGone {
			continue
		}
		if err := b.compareAt(prefix+was.Name, was, objstore.TreeEntry{}, onTree, onFile); err != nil {
			return err
		}
	}
	return nil
}

// compareAt is compare for the entries of both trees at a path. The zero entry means that a tree has nothing there.
func (b *treeBuilder) compareAt(path string, was, now objstore.TreeEntry, onTree func(objstore.ID) bool, onFile func(path string, was, now treeFile)) error {
	oldTree, oldFile := splitEntry(was)
	newTree, newFile := splitEntry(now)
	if oldFile != newFile {
		onFile(path, oldFile, newFile)
	}
	prefix := ""
	if path != "" {
		prefix = path + "/"
	}
	return b.compare(oldTree, newTree, prefix, onTree, onFile)
}

// splitEntry returns the tree or the file of an entry.
func splitEntry(e objstore.TreeEntry) (objstore.ID, treeFile) {
	if e.Mode == objstore.ModeTree {
		return e.ID, treeFile{}
	}
	return objstore.ID{}, treeFile{e.Mode, e.ID}
}
