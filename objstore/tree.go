package objstore

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Mode is the file mode of a tree entry.
type Mode uint32

// The modes that git writes.
const (
	ModeTree       Mode = 0o040000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeCommit     Mode = 0o160000 // a submodule
)

// TreeEntry is one name in a tree.
type TreeEntry struct {
	Name string
	Mode Mode
	ID   ID
}

// Compare orders entries as git does: by name, with a slash after the name of a tree.
func (e TreeEntry) Compare(other TreeEntry) int {
	n := min(len(e.Name), len(other.Name))
	if c := strings.Compare(e.Name[:n], other.Name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(e.sortByte(n), other.sortByte(n))
}

// sortByte returns byte i of the name as git sorts it, or -1 beyond its end.
func (e TreeEntry) sortByte(i int) int {
	switch {
	case i < len(e.Name):
		return int(e.Name[i])
	case e.Mode == ModeTree:
		return '/'
	}
	return -1
}

// EncodeTree returns the bytes of a tree object. It sorts a copy of entries. Names must be unique,
// not empty, and free of slashes and NULs; ids must not be zero.
func EncodeTree(entries []TreeEntry) []byte {
	sorted := slices.SortedFunc(slices.Values(entries), TreeEntry.Compare)
	size := 0
	for _, e := range sorted {
		size += len("100644 ") + len(e.Name) + 1 + maxIDSize
	}
	out := make([]byte, 0, size)
	for _, e := range sorted {
		out = strconv.AppendUint(out, uint64(e.Mode), 8)
		out = append(out, ' ')
		out = append(out, e.Name...)
		out = append(out, 0)
		out = e.ID.AppendTo(out)
	}
	return out
}

// DecodeTree decodes the tree object with the given id. The size of the id is also the size of the
// ids in the tree. It accepts only bytes that EncodeTree writes, and returns the entries in git's
// order. Other bytes are a [*CorruptError].
func DecodeTree(id ID, data []byte) ([]TreeEntry, error) { return decodeTree(id, data, true) }

// DecodeForeignTree decodes a tree that another program may have written, as git does: entries may
// be in any order, and modes may have leading zeros. A mode that git does not write becomes the
// mode that git takes it for.
func DecodeForeignTree(id ID, data []byte) ([]TreeEntry, error) { return decodeTree(id, data, false) }

func decodeTree(id ID, data []byte, strict bool) ([]TreeEntry, error) {
	bad := func(reason string) ([]TreeEntry, error) {
		return nil, &CorruptError{ID: id, Reason: "tree: " + reason}
	}
	size := int(id.size)
	text := string(data) // one copy, which the names share
	var entries []TreeEntry
	for rest := 0; rest < len(data); {
		mode, digits, ok := cutMode(data[rest:], strict)
		if !ok {
			return bad("malformed mode")
		}
		start := rest + digits
		length := bytes.IndexByte(data[start:], 0)
		if length <= 0 || strings.Contains(text[start:start+length], "/") {
			return bad("malformed name")
		}
		at := start + length + 1
		if len(data)-at < size {
			return bad("truncated")
		}
		entryID, err := IDFromBytes(data[at : at+size])
		if err != nil || entryID.IsZero() {
			return bad("malformed id")
		}
		e := TreeEntry{Name: text[start : start+length], Mode: mode, ID: entryID}
		if strict && !follows(entries, e) {
			return bad("entries out of order")
		}
		if !strict {
			e.Mode = mode.canonical()
		}
		if len(entries) == MaxTreePaths {
			return nil, TreeSize{Paths: MaxTreePaths + 1}.Check(id)
		}
		entries = append(entries, e)
		rest = at + size
	}
	return entries, nil
}

// follows reports whether e may follow entries: in order, and with a new name. A tree and a file of
// the same name are sorted apart.
func follows(entries []TreeEntry, e TreeEntry) bool {
	n := len(entries)
	if n > 0 && entries[n-1].Compare(e) >= 0 {
		return false
	}
	if e.Mode != ModeTree {
		return true
	}
	_, doubled := slices.BinarySearchFunc(entries, TreeEntry{Name: e.Name, Mode: ModeFile}, TreeEntry.Compare)
	return !doubled
}

// cutMode reads the octal mode at the front of a tree entry. It also returns how many bytes the
// mode takes with the space after it. If strict, leading zeros are malformed.
func cutMode(b []byte, strict bool) (mode Mode, length int, ok bool) {
	for i, c := range b {
		switch {
		case c == ' ':
			return mode, i + 1, i > 0
		case c < '0' || c > '7' || i == 6 || strict && i == 0 && c == '0':
			return 0, 0, false
		}
		mode = mode<<3 | Mode(c-'0')
	}
	return 0, 0, false
}

// canonical returns the mode for which git takes m. git looks at the kind of file and at one of its
// permissions.
func (m Mode) canonical() Mode {
	const kinds = 0o170000
	switch kind := m & kinds; {
	case kind == ModeTree, kind == ModeSymlink:
		return kind
	case kind != ModeFile&kinds:
		return ModeCommit
	case m&0o100 != 0:
		return ModeExecutable
	}
	return ModeFile
}

// FindEntry looks for a name in the entries of a tree.
func FindEntry(entries []TreeEntry, name string) (TreeEntry, bool) {
	i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return TreeEntry{}, false
	}
	return entries[i], true
}

// ReadTree gets and decodes a tree.
func ReadTree(r Reader, id ID) ([]TreeEntry, error) {
	data, err := GetKind(r, id, Tree)
	if err != nil {
		return nil, err
	}
	return DecodeTree(id, data)
}

// ReadForeignTree gets a tree that git or another program may have written, and decodes it with
// [DecodeForeignTree]. The empty tree, which git need not store, has no entries.
func ReadForeignTree(r Reader, id ID) ([]TreeEntry, error) {
	if id == EmptyTree {
		return nil, nil
	}
	data, err := GetKind(r, id, Tree)
	if err != nil {
		return nil, err
	}
	return DecodeForeignTree(id, data)
}

// EmptyTree returns the id of a tree without entries. git need not store that tree.
var EmptyTree = Hash(Tree, nil)
