package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// extName is the folder of an entry for the data of other engines.
const extName = "ext"

// ExtDraft changes the data of another engine in an entry: ext/<engine>/. A name is a path with slashes. The tree
// spells each part of the path like the name of an output table. No path leads through a file or a collection.
type ExtDraft struct {
	Engine string
	Files  map[string][]byte        // by name; nil removes the file
	Rows   map[string][]page.Change // by the name of a collection; values are any JSON
}

// ExtFile reads a file of ext/<engine>/. It returns nil if the file does not exist. The bytes are shared and must
// not be changed.
func (e *Entry) ExtFile(engine, name string) ([]byte, error) {
	at, err := e.ext(engine, name)
	if err != nil || at.ID.IsZero() {
		return nil, err
	}
	data, err := page.ReadValue(e.r, at)
	if err != nil {
		return nil, fmt.Errorf("ext/%s/%s: %w", engine, name, err)
	}
	if data == nil {
		data = []byte{} // an empty file is not nil
	}
	return data, nil
}

// ExtRows returns a collection of ext/<engine>/. A missing collection is empty.
func (e *Entry) ExtRows(engine, name string) (*page.Collection, error) {
	at, err := e.ext(engine, name)
	if err != nil || at.ID.IsZero() {
		return emptyCollection(), err
	}
	rows, err := openCollection(e.r, e.Tree, at)
	if err != nil {
		return nil, fmt.Errorf("ext/%s/%s: %w", engine, name, err)
	}
	return rows, nil
}

// ExtNames lists the names directly in a folder of ext/<engine>/, sorted; "" is the top folder. It omits names
// that ExtDraft cannot have written.
func (e *Entry) ExtNames(engine, folder string) ([]string, error) {
	at, err := e.ext(engine, folder)
	if err != nil || at.Mode != objstore.ModeTree {
		return nil, err
	}
	return e.extNames(at.ID)
}

// ExtEngines lists the engines with data in the entry, sorted.
func (e *Entry) ExtEngines() ([]string, error) {
	at, err := e.extRoot()
	if err != nil || at.Mode != objstore.ModeTree {
		return nil, err
	}
	return e.extNames(at.ID)
}

// ExtID returns the id of the tree of ext/<engine>/ without reading it, or the zero ID if there is none.
func (e *Entry) ExtID(engine string) (objstore.ID, error) {
	at, err := e.ext(engine, "")
	return at.ID, err
}

// HasExt reports whether the entry has data of an engine.
func (e *Entry) HasExt(engine string) (bool, error) {
	id, err := e.ExtID(engine)
	return !id.IsZero(), err
}

// Carried returns the objects under reserved names. Append carries them from entry to entry unchanged.
func (e *Entry) Carried() ([]objstore.TreeEntry, error) {
	parts, err := e.parts()
	if err != nil {
		return nil, err
	}
	var carried []objstore.TreeEntry
	for _, part := range parts {
		if mode, _ := partMode(part.Name); mode == 0 {
			carried = append(carried, part)
		}
	}
	return carried, nil
}

// extNames returns the unescaped names in a tree, sorted.
func (e *Entry) extNames(tree objstore.ID) ([]string, error) {
	entries, err := objstore.ReadTree(e.r, tree)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, ok := unescape(entry.Name, plainTable); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// extRoot returns the tree entry of ext, or the zero entry if there is none.
func (e *Entry) extRoot() (objstore.TreeEntry, error) {
	parts, err := e.parts()
	if err != nil {
		return objstore.TreeEntry{}, err
	}
	root, _ := objstore.FindEntry(parts, extName)
	return root, nil
}

// ext returns the tree entry of a name in ext/<engine>/, or the zero entry if there is none.
func (e *Entry) ext(engine, name string) (objstore.TreeEntry, error) {
	at, err := e.extRoot()
	if err != nil {
		return objstore.TreeEntry{}, err
	}
	for _, part := range extPath(engine, name) {
		if at.ID.IsZero() || at.Mode != objstore.ModeTree {
			return objstore.TreeEntry{}, nil
		}
		entries, err := objstore.ReadTree(e.r, at.ID)
		if err != nil {
			return objstore.TreeEntry{}, err
		}
		at, _ = objstore.FindEntry(entries, escape(part, plainTable))
	}
	return at, nil
}

// extPath returns the parts of a name below ext/.
func extPath(engine, name string) []string {
	if name == "" {
		return []string{engine}
	}
	return append([]string{engine}, strings.Split(name, "/")...)
}

// extEdit is a planned change at one place below ext/: of a file, of a collection, or of a folder's children.
type extEdit struct {
	children map[string]*extEdit // by escaped name
	isFile   bool
	file     []byte // nil removes the file
	rows     []page.Change
}

// at returns the edit of a path below x. It creates missing edits.
func (x *extEdit) at(path []string) (*extEdit, error) {
	for _, part := range path {
		if err := checkTable(part); err != nil {
			return nil, invalid("ext: a part of a name: %w", err)
		}
		if x.children == nil {
			x.children = make(map[string]*extEdit)
		}
		name := escape(part, plainTable)
		if x.children[name] == nil {
			x.children[name] = new(extEdit)
		}
		x = x.children[name]
	}
	return x, nil
}

// write makes the edit at a place and returns the new tree entry. before is the place's tree entry so far; a zero
// ID means that nothing is there.
func (x *extEdit) write(w objstore.Writer, before objstore.TreeEntry) (objstore.TreeEntry, error) {
	switch {
	case x.isFile && (len(x.rows) > 0 || x.children != nil), len(x.rows) > 0 && x.children != nil:
		return objstore.TreeEntry{}, invalid("ext: %s is changed as two of a file, a collection and a folder", before.Name)
	case x.isFile && x.file == nil:
		return objstore.TreeEntry{}, nil
	case x.isFile:
		return page.ReplaceValue(w, before.Name, x.file, before)
	case len(x.rows) > 0:
		return x.writeRows(w, before)
	case x.children != nil:
		return x.writeFolder(w, before)
	}
	return before, nil
}

// writeRows makes the edit of a collection.
func (x *extEdit) writeRows(w objstore.Writer, before objstore.TreeEntry) (objstore.TreeEntry, error) {
	rows := emptyCollection()
	if !before.ID.IsZero() {
		var err error
		if rows, err = openCollection(w, before.ID, before); err != nil {
			return objstore.TreeEntry{}, err
		}
	}
	rows, err := editCollection(rows, w, extName+"/…/"+before.Name, x.rows)
	if err != nil {
		return objstore.TreeEntry{}, err
	}
	return rows.Entry(before.Name), nil
}

// writeFolder makes the edits of a folder's children. A folder without children is removed.
func (x *extEdit) writeFolder(w objstore.Writer, before objstore.TreeEntry) (objstore.TreeEntry, error) {
	var entries []objstore.TreeEntry
	if !before.ID.IsZero() {
		if before.Mode != objstore.ModeTree {
			return objstore.TreeEntry{}, invalid("ext: %s is not a folder", before.Name)
		}
		var err error
		if entries, err = objstore.ReadTree(w, before.ID); err != nil {
			return objstore.TreeEntry{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.children)) {
		had, _ := objstore.FindEntry(entries, name)
		had.Name = name
		has, err := x.children[name].write(w, had)
		if err != nil {
			return objstore.TreeEntry{}, err
		}
		entries = slices.DeleteFunc(entries, func(e objstore.TreeEntry) bool { return e.Name == name })
		if !has.ID.IsZero() {
			entries = append(entries, has)
		}
	}
	after := objstore.TreeEntry{Name: before.Name, Mode: objstore.ModeTree}
	if len(entries) == 0 {
		return after, nil
	}
	data := objstore.EncodeTree(entries)
	if after.ID = objstore.Hash(objstore.Tree, data); after.ID != before.ID {
		w.Add(objstore.Tree, data)
	}
	return after, nil
}

// writeExt makes the draft's changes of ext.
func (a *appender) writeExt() error {
	if a.stored.ext == nil {
		return nil
	}
	before, _ := objstore.FindEntry(a.parts, extName)
	before.Name = extName
	after, err := a.stored.ext.write(a.w, before)
	if err != nil {
		return err
	}
	a.parts = slices.DeleteFunc(a.parts, func(e objstore.TreeEntry) bool { return e.Name == extName })
	if !after.ID.IsZero() {
		a.parts = append(a.parts, after)
	}
	return nil
}
