package page

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
)

// ReplaceValue stores a value that is not in a collection: as a blob or, above 16 KiB, as a tree of parts and
// chunks. It returns a tree entry with the given name for the value. The same bytes always have the same id and
// mode.
//
// If the value replaces another value, old is the entry of the replaced value; otherwise old is zero.
// ReplaceValue does not write objects that the replaced value has, too. An error means that the replaced value
// cannot be read from w.
//
// The value may have at most MaxValue bytes. ReplaceValue does not check this, but ReadValue rejects a larger
// value. The caller must not change the bytes of value afterwards.
func ReplaceValue(w objstore.Writer, name string, value []byte, old objstore.TreeEntry) (objstore.TreeEntry, error) {
	known := make(objects)
	if !old.ID.IsZero() {
		if err := known.reach(w, old, 0); err != nil {
			return objstore.TreeEntry{}, err
		}
	}
	pieces := cutValue(objstore.HashOf(w), value)
	known.add(w, pieces)
	root := rootOf(pieces)
	return root.entry(name), nil
}

// ReadValue returns the value that ReplaceValue stored as e. If ReplaceValue would not write these objects, or
// the value has more than MaxValue bytes, the error is a [*objstore.CorruptError]. Any other error is an error
// of r. The returned bytes are shared and must not be changed.
func ReadValue(r objstore.Reader, e objstore.TreeEntry) ([]byte, error) {
	return readValue(r, e, MaxValue)
}

// ReadStart returns the first bytes of the value that ReplaceValue stored as e: the whole value if that has at most 16 KiB,
// and otherwise at least 2 KiB. ReadStart reads the objects that hold these bytes, and does not check the rest of the value.
// Errors are those of ReadValue. The returned bytes are shared and must not be changed.
func ReadStart(r objstore.Reader, e objstore.TreeEntry) ([]byte, error) {
	if e.Mode != objstore.ModeTree {
		return ReadValue(r, e)
	}
	at := e
	for range maxPartDepth + 1 { // the levels of trees above the first piece, at most
		entries, err := objstore.ReadTree(r, at.ID)
		switch {
		case err != nil:
			return nil, err
		case len(entries) == 0:
			return nil, corrupt(at.ID, "chunks: empty tree")
		}
		if at = entries[0]; at.Mode == objstore.ModeFile {
			return objstore.GetBlob(r, at.ID, int64(parts.most))
		}
	}
	return nil, corrupt(e.ID, "chunks: more than %d levels", maxPartDepth)
}

// readValue returns the value that ReplaceValue stored as e. If ReplaceValue would not write these objects, or
// the value has more than limit bytes, the error is a [*objstore.CorruptError]. Any other error is an error of
// r. The returned bytes are shared and must not be changed.
func readValue(r objstore.Reader, e objstore.TreeEntry, limit int) ([]byte, error) {
	switch e.Mode {
	case objstore.ModeTree:
		return readParts(r, e.ID, limit)
	case objstore.ModeFile:
		data, err := objstore.GetBlob(r, e.ID, maxInline)
		if err == nil && len(data) > min(limit, maxInline) {
			return nil, corrupt(e.ID, "value: blob of %d bytes", len(data))
		}
		return data, err
	case objstore.ModeExecutable, objstore.ModeSymlink, objstore.ModeCommit:
	}
	return nil, corrupt(e.ID, "value: unexpected mode %o", uint32(e.Mode))
}

// values reads the values of a collection that are stored apart from their rows, and remembers the trees that it has
// read. It is made for one operation and is not safe for concurrent use.
type values struct {
	r       objstore.Reader
	root    objstore.ID
	folders map[string]objstore.ID          // by the first two digits; nil until read
	lists   map[string][]objstore.TreeEntry // of the folders that were read, by the same digits
}

// newValues returns a reader of the tree of values with the id root. A zero root means that no value is stored apart.
func newValues(r objstore.Reader, root objstore.ID) *values { return &values{r: r, root: root} }

// splitName returns where the tree of values stores the value of the row with the given key: the name of a
// folder, and the name of an entry in the folder. The two names together are the SHA-256 of the key in hex. The
// folder's name is the first two digits.
func splitName(key string) (folder, name string) {
	sum := sha256.Sum256([]byte(key))
	text := hex.EncodeToString(sum[:])
	return text[:2], text[2:]
}

// load sets v.folders from the tree of values, unless v.folders is set already. If v.root is zero, there are no
// folders. If the tree is empty, or has an entry that is not a folder named by two hex digits, the error is a
// [*objstore.CorruptError].
func (v *values) load() error {
	if v.folders != nil {
		return nil
	}
	folders := make(map[string]objstore.ID)
	if !v.root.IsZero() {
		entries, err := objstore.ReadTree(v.r, v.root)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return corrupt(v.root, "values: empty tree")
		}
		for _, e := range entries {
			if e.Mode != objstore.ModeTree || !isLowerHex(e.Name, 2) {
				return corrupt(v.root, "values: unexpected entry %q", e.Name)
			}
			folders[e.Name] = e.ID
		}
	}
	v.folders, v.lists = folders, make(map[string][]objstore.TreeEntry)
	return nil
}

// isLowerHex reports whether s consists of exactly size lower-case hex digits.
func isLowerHex(s string, size int) bool {
	for i := range len(s) {
		if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return len(s) == size
}

// list returns the entries of a folder, sorted by name, or nil if there is no such folder. If the folder is
// empty or has an entry that Edit does not write, the error is a [*objstore.CorruptError]. The caller must not
// change the slice.
func (v *values) list(folder string) ([]objstore.TreeEntry, error) {
	if err := v.load(); err != nil {
		return nil, err
	}
	id, ok := v.folders[folder]
	if entries, read := v.lists[folder]; read || !ok {
		return entries, nil
	}
	entries, err := objstore.ReadTree(v.r, id)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, corrupt(id, "values: empty folder")
	}
	for _, e := range entries {
		if (e.Mode != objstore.ModeTree && e.Mode != objstore.ModeFile) || !isLowerHex(e.Name, 2*sha256.Size-len(folder)) {
			return nil, corrupt(id, "values: unexpected entry %q", e.Name)
		}
	}
	v.lists[folder] = entries
	return entries, nil
}

// find returns the entry of the value that is stored apart for the row with the given key. The second result is
// false if there is no such entry.
func (v *values) find(key string) (objstore.TreeEntry, bool, error) {
	folder, name := splitName(key)
	return v.entry(folder, name)
}

// entry returns the entry with the given name in a folder. The second result is false if there is no such
// entry.
func (v *values) entry(folder, name string) (objstore.TreeEntry, bool, error) {
	entries, err := v.list(folder)
	if err != nil {
		return objstore.TreeEntry{}, false, err
	}
	i, found := slices.BinarySearchFunc(entries, name, func(e objstore.TreeEntry, name string) int {
		return strings.Compare(e.Name, name)
	})
	if !found {
		return objstore.TreeEntry{}, false, nil
	}
	return entries[i], true, nil
}

// get returns the value of the row with the line l. A value in the row itself was checked when the line was
// decoded. get reads and checks a value that is stored apart. The error is a [*objstore.CorruptError] if this
// value is missing, is not JSON, or belongs in the row, or if its id or size differs from the reference in the
// row. The returned bytes are shared and must not be changed.
func (v *values) get(l *line) ([]byte, error) {
	if !l.apart {
		return l.body(), nil
	}
	size, id := l.reference()
	e, found, err := v.find(l.key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, corrupt(v.root, "values: none for the row %q", l.key)
	}
	if e.ID != id {
		return nil, corrupt(e.ID, "value: not the one in its row")
	}
	value, err := readValue(v.r, e, size)
	if err != nil {
		return nil, err
	}
	switch {
	case len(value) != size:
		return nil, corrupt(e.ID, "value: not of the size in its row")
	case !storedApart(value):
		return nil, corrupt(e.ID, "value: belongs in its row")
	case !jsontext.Valid(value):
		return nil, corrupt(e.ID, "value: not JSON")
	}
	return value, nil
}

// edit writes the tree of values without the values of the keys in remove, and with the entries in set. The
// keys of both maps are keys of rows. edit replaces the names of the entries by the names that splitName
// returns. It returns the id of the new tree, or the zero ID if no value is left. An error is about reading the
// old tree.
func (v *values) edit(w objstore.Writer, remove map[string]struct{}, set map[string]objstore.TreeEntry) (objstore.ID, error) {
	changed := make(map[string][]objstore.TreeEntry)
	// take removes the entry of a key and returns its folder and name.
	take := func(key string) (folder, name string, err error) {
		folder, name = splitName(key)
		if _, ok := changed[folder]; !ok {
			entries, err := v.list(folder)
			if err != nil {
				return "", "", err
			}
			changed[folder] = slices.Clone(entries)
		}
		changed[folder] = slices.DeleteFunc(changed[folder], func(e objstore.TreeEntry) bool { return e.Name == name })
		return folder, name, nil
	}
	for key := range remove {
		if _, _, err := take(key); err != nil {
			return objstore.ID{}, err
		}
	}
	for key, e := range set {
		folder, name, err := take(key)
		if err != nil {
			return objstore.ID{}, err
		}
		changed[folder] = append(changed[folder], objstore.TreeEntry{Name: name, Mode: e.Mode, ID: e.ID})
	}
	return v.write(w, changed)
}

// write writes the new folders in changed, and a tree of all folders. The keys of changed are names of folders,
// and the values are the new entries. write leaves out a folder without entries. It returns the id of the tree,
// or the zero ID if no folder is left.
func (v *values) write(w objstore.Writer, changed map[string][]objstore.TreeEntry) (objstore.ID, error) {
	if err := v.load(); err != nil {
		return objstore.ID{}, err
	}
	folders := maps.Clone(v.folders)
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		entries := changed[name]
		if len(entries) == 0 {
			delete(folders, name)
			continue
		}
		folders[name] = w.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	if len(folders) == 0 {
		return objstore.ID{}, nil
	}
	root := make([]objstore.TreeEntry, 0, len(folders))
	for name, id := range folders {
		root = append(root, objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: id})
	}
	return w.Add(objstore.Tree, objstore.EncodeTree(root)), nil
}
