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

// TreeEntry is one entry of a tree: a name with its mode and its object.
type TreeEntry struct {
	Name string
	Mode Mode
	ID   ID
}

// Compare returns a negative number if git sorts e before other, a positive number if git sorts e after other,
// and zero otherwise. git sorts by name, and adds a slash to the name of a tree.
func (e TreeEntry) Compare(other TreeEntry) int {
	n := min(len(e.Name), len(other.Name))
	if c := strings.Compare(e.Name[:n], other.Name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(e.sortByte(n), other.sortByte(n))
}

// sortByte returns byte i of the name by which git sorts e, or -1 after the end of the name.
func (e TreeEntry) sortByte(i int) int {
	switch {
	case i < len(e.Name):
		return int(e.Name[i])
	case e.Mode == ModeTree:
		return '/'
	}
	return -1
}

// EncodeTree returns the bytes of the tree object with the given entries. The entries may be in any order.
// Names must be unique, not empty, and without slashes and NULs; ids must not be zero.
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

// DecodeTree returns the entries of a tree, in git's order. data has the tree's bytes. id is the tree's id;
// errors name it, and the ids in the tree have its size. DecodeTree accepts only bytes that [EncodeTree]
// writes; for other bytes the error is a [*CorruptError]. For a tree of more than MaxTreePaths entries, the
// error is a [*TreeSizeError].
func DecodeTree(id ID, data []byte) ([]TreeEntry, error) { return decodeTree(id, data, true) }

// DecodeForeignTree returns the entries of a tree that another program may have written. It is as tolerant as
// git: entries may be in any order, and modes may have leading zeros. If a mode is not a mode that git writes,
// the entry has the mode that git uses instead; see canonical. Otherwise it is like [DecodeTree], and it
// returns the same errors.
func DecodeForeignTree(id ID, data []byte) ([]TreeEntry, error) { return decodeTree(id, data, false) }

// decodeTree returns the result of DecodeTree if strict is true, and the result of DecodeForeignTree if strict
// is false.
func decodeTree(id ID, data []byte, strict bool) ([]TreeEntry, error) {
	bad := func(reason string) ([]TreeEntry, error) {
		return nil, &CorruptError{ID: id, Reason: "tree: " + reason}
	}
	size := int(id.size)
	text := string(data) // the names share this one copy of data
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

// follows reports whether a tree may have the entry e directly after entries. entries must be in git's order.
// The result is true if e sorts after the last of entries, and none of entries has the same name as e.
func follows(entries []TreeEntry, e TreeEntry) bool {
	n := len(entries)
	if n > 0 && entries[n-1].Compare(e) >= 0 {
		return false
	}
	// If e is not a tree, an entry with the same name sorts with or after e, so the check above has rejected e.
	if e.Mode != ModeTree {
		return true
	}
	// A tree can sort after a file of the same name with other entries between them: "a", "a.txt", "a/".
	_, doubled := slices.BinarySearchFunc(entries, TreeEntry{Name: e.Name, Mode: ModeFile}, TreeEntry.Compare)
	return !doubled
}

// cutMode returns the octal mode at the start of a tree entry, and the length in bytes of the mode and the
// following space. ok is false if b does not begin with 1 to 6 octal digits and a space. If strict is true, ok
// is also false for a mode with a leading zero.
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

// canonical returns the mode that git uses for m. A tree and a symbolic link lose their
// permissions. A regular file becomes ModeExecutable if its owner may execute it, and otherwise
// ModeFile. Every other kind of file becomes ModeCommit, a submodule.
func (m Mode) canonical() Mode {
	// kinds is the mask of the bits that hold the kind of file.
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

// FindEntry returns the first of entries with the given name. The second result is false if there is no such
// entry.
func FindEntry(entries []TreeEntry, name string) (TreeEntry, bool) {
	i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return TreeEntry{}, false
	}
	return entries[i], true
}

// ReadTree returns the entries of the tree with the given id. It reads the tree with r and decodes it
// with [DecodeTree].
func ReadTree(r Reader, id ID) ([]TreeEntry, error) {
	data, err := GetKind(r, id, Tree)
	if err != nil {
		return nil, err
	}
	return DecodeTree(id, data)
}

// ReadForeignTree returns the entries of the tree with the given id, which any program may have
// written. It decodes the tree with [DecodeForeignTree]. It returns no entries for the empty tree, which
// git need not store.
func ReadForeignTree(r Reader, id ID) ([]TreeEntry, error) {
	if id.IsEmptyTree() {
		return nil, nil
	}
	data, err := GetKind(r, id, Tree)
	if err != nil {
		return nil, err
	}
	return DecodeForeignTree(id, data)
}
