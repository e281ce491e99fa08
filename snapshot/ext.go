package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// extName is the folder of an entry for the data of other engines.
const extName = "ext"

// ExtDraft changes the data of one other engine in an entry: the folder ext/<engine>/. The name of a file or collection
// is a path with slashes below this folder. In the entry's tree, each part of the path is escaped like the name of an
// output table. Every part of a path but the last must name a folder.
type ExtDraft struct {
	Engine string
	Files  map[string][]byte        // the content of each file, by name; nil removes the file
	Rows   map[string][]page.Change // by the name of a collection; a row's value is any JSON, and nil removes the row
}

// ExtFile returns the content of a file in ext/<engine>/, or nil if the file does not exist. An empty file is
// not nil. The bytes are shared and must not be changed.
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

// ExtFileStart returns the first bytes of a file in ext/<engine>/: the whole content if that has at most 16 KiB, and otherwise at
// least 2 KiB. If the file does not exist, ExtFileStart returns nil. The bytes are shared and must not be changed.
func (e *Entry) ExtFileStart(engine, name string) ([]byte, error) {
	at, err := e.ext(engine, name)
	if err != nil || at.ID.IsZero() {
		return nil, err
	}
	data, err := page.ReadStart(e.r, at)
	if err != nil {
		return nil, fmt.Errorf("ext/%s/%s: %w", engine, name, err)
	}
	return data, nil
}

// ExtRows opens a collection in ext/<engine>/. If the collection does not exist, ExtRows returns an empty
// collection.
func (e *Entry) ExtRows(engine, name string) (*page.Collection, error) {
	at, err := e.ext(engine, name)
	if err != nil || at.ID.IsZero() {
		return emptyCollection(), err
	}
	rows, err := openCollection(e.r, at)
	if err != nil {
		return nil, fmt.Errorf("ext/%s/%s: %w", engine, name, err)
	}
	return rows, nil
}

// ExtNames returns the names directly in a folder of ext/<engine>/, sorted. The folder "" is ext/<engine>/
// itself. If the folder does not exist, ExtNames returns nil. It omits names that ExtDraft cannot have written.
func (e *Entry) ExtNames(engine, folder string) ([]string, error) {
	at, err := e.ext(engine, folder)
	if err != nil || at.Mode != objstore.ModeTree {
		return nil, err
	}
	return e.extNames(at.ID)
}

// ExtEngines returns the names of the engines that have data in the entry, sorted.
func (e *Entry) ExtEngines() ([]string, error) {
	at, err := e.extRoot()
	if err != nil || at.Mode != objstore.ModeTree {
		return nil, err
	}
	return e.extNames(at.ID)
}

// ExtID returns the id of the tree ext/<engine>/ without reading the tree, or the zero ID if the entry has no
// data of the engine.
func (e *Entry) ExtID(engine string) (objstore.ID, error) {
	at, err := e.ext(engine, "")
	return at.ID, err
}

// ExtFileIDs returns the ids of the files that are directly in ext/<engine>/, by name, without reading the files. Files with the same
// id have the same content. It omits names that ExtDraft cannot have written.
func (e *Entry) ExtFileIDs(engine string) (map[string]objstore.ID, error) {
	at, err := e.ext(engine, "")
	if err != nil || at.Mode != objstore.ModeTree {
		return nil, err
	}
	entries, err := objstore.ReadTree(e.r, at.ID)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]objstore.ID, len(entries))
	for _, entry := range entries {
		if name, ok := unescape(entry.Name, plainTable); ok {
			ids[name] = entry.ID
		}
	}
	return ids, nil
}

// HasExt reports whether the entry has data of an engine.
func (e *Entry) HasExt(engine string) (bool, error) {
	id, err := e.ExtID(engine)
	return !id.IsZero(), err
}

// Carried returns the tree entries that Append copies to the next entry without reading them. These are "ext", which
// only Draft.Ext changes, "attachments", and each collection of the journal that this version does not know. The name
// of such a collection is its path in the entry's tree.
func (e *Entry) Carried() ([]objstore.TreeEntry, error) {
	parts, err := e.parts()
	if err != nil {
		return nil, err
	}
	var carried []objstore.TreeEntry
	for _, part := range parts {
		if e.known.kindOf(part.Name) == carriedPart {
			carried = append(carried, part)
		}
	}
	j, err := e.readJournal()
	if err != nil {
		return nil, err
	}
	for _, part := range j.unread {
		part.Name = journalName + "/" + part.Name
		carried = append(carried, part)
	}
	return carried, nil
}

// extNames returns the unescaped names in a tree, sorted. It omits a name that escape cannot have written.
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

// extRoot returns the tree entry of ext/, or the zero entry if the entry has no ext/.
func (e *Entry) extRoot() (objstore.TreeEntry, error) {
	parts, err := e.parts()
	if err != nil {
		return objstore.TreeEntry{}, err
	}
	root, _ := objstore.FindEntry(parts, extName)
	return root, nil
}

// ext returns the tree entry with the given name in ext/<engine>/. name may be a path. If name is "", ext returns the
// tree entry of ext/<engine>/ itself. If the name does not exist, ext returns the zero entry.
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

// extPath returns the parts of the path <engine>/<name>, or the engine alone if the name is empty.
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

// at returns the edit of the file, collection or folder at path, a list of names below x. It creates the missing edits
// along the path. If an element of path cannot be a name, the error wraps ErrInvalid.
func (x *extEdit) at(path []string) (*extEdit, error) {
	for _, part := range path {
		if err := checkTable(part); err != nil {
			return nil, invalid("ext: name of a file or a folder: %w", err)
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

// write applies the edit x to a file, a collection or a folder below ext/. before is the current tree entry, and the
// result is the new tree entry, or before itself if x has no changes. A tree entry with the zero ID means that nothing
// is stored there. If x changes the same entry as more than one of a file, a collection and a folder, the error wraps
// ErrInvalid.
func (x *extEdit) write(w objstore.Writer, before objstore.TreeEntry) (objstore.TreeEntry, error) {
	switch {
	case x.isFile && (len(x.rows) > 0 || x.children != nil), len(x.rows) > 0 && x.children != nil:
		return objstore.TreeEntry{}, invalid("ext: the draft changes %s as more than one of a file, a collection and a folder", before.Name)
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

// writeRows applies the changes x.rows to a collection. before is the current tree entry of the collection, and the
// result is the new one. If the collection has no rows left, the ID of the result is zero.
func (x *extEdit) writeRows(w objstore.Writer, before objstore.TreeEntry) (objstore.TreeEntry, error) {
	rows := emptyCollection()
	if !before.ID.IsZero() {
		var err error
		if rows, err = openCollection(w, before); err != nil {
			return objstore.TreeEntry{}, err
		}
	}
	rows, err := editCollection(rows, w, extName+"/…/"+before.Name, x.rows)
	if err != nil {
		return objstore.TreeEntry{}, err
	}
	return rows.Entry(before.Name), nil
}

// writeFolder applies the edits x.children to a folder. before is the current tree entry of the folder, and the
// result is the new one. If the folder is empty afterwards, the ID of the result is zero. If before is not a folder,
// the error wraps ErrInvalid.
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
	if len(entries) == 0 { // an empty folder is not stored
		return after, nil
	}
	data := objstore.EncodeTree(entries)
	if after.ID = objstore.HashOf(w).ID(objstore.Tree, data); after.ID != before.ID {
		w.Add(objstore.Tree, data)
	}
	return after, nil
}

// writeExt applies the draft's changes to the folder ext/ of the entry. If ext/ is empty afterwards, the entry has no
// ext/. If the draft has no such changes, the entry keeps prev's ext/.
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
