package gitindex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// Merge returns a new index with all paths of tracked, and with each path of before that can exist beside
// them. If both have an entry of a path, Merge takes the entry whose file was read later. root is the top of
// the working copy. Merge forgets the state of each file that may have changed, so git reads the file again.
func Merge(root string, tracked, before *Index) *Index {
	merged := &Index{Entries: make([]Entry, 0, len(tracked.Entries))}
	add := func(e Entry, from *Index) {
		settle(root, &e, from.Made)
		merged.Entries = append(merged.Entries, e)
	}
	rest := before.Entries
	for i, e := range tracked.Entries {
		if i > 0 && tracked.Entries[i-1].Path == e.Path {
			continue // a further stage of a conflict
		}
		for len(rest) > 0 && rest[0].Path < e.Path {
			if tracked.admits(rest[0].Path) {
				add(rest[0], before)
			}
			rest = rest[1:]
		}
		e = PlainEntry(root, e)
		if len(rest) > 0 && rest[0].Path == e.Path {
			if old := rest[0]; e.more == 0 && old.more == 0 && old.Mtime().After(e.Mtime()) {
				add(old, before)
				rest = rest[1:]
				continue
			}
			rest = rest[1:]
		}
		add(e, tracked)
	}
	for _, e := range rest {
		if tracked.admits(e.Path) {
			add(e, before)
		}
	}
	return merged
}

// PlainEntry returns e, an entry of the user's index, without its stage and without intent-to-add, so that
// git looks at the file. If e is outside of the sparse checkout and has no file below root, the result stays
// outside. If e has no content, the result's id is AnyID.
func PlainEntry(root string, e Entry) Entry {
	if e.stage() != 0 || e.more&flagIntent != 0 {
		e.forget()
	}
	e.flags = 0
	if e.more&flagSkip != 0 {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(e.Path))); err != nil {
			e.more = flagSkip
			return e
		}
	}
	e.more = 0
	if e.ID.IsZero() {
		e.ID = AnyID()
	}
	return e
}

// AnyID returns the id of the empty blob, which stands for unknown content.
func AnyID() objstore.ID { return objstore.Hash(objstore.Blob, nil) }

// settle prepares e, an entry of an index written at made, for a newer index. A file that changed in the
// second in which its index was written may have changed again. If size and time, with fractions of a second,
// do not show that the file is unchanged, settle makes git read the file again. root is the top of the
// working copy.
func settle(root string, e *Entry, made time.Time) {
	if e.more != 0 || e.Mode == objstore.ModeCommit || e.Mtime().Unix() < made.Unix() || made.IsZero() {
		return
	}
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(e.Path)))
	exact := err == nil && e.word(statNano) != 0 && info.ModTime().Equal(e.Mtime()) &&
		uint32(info.Size()) == e.Size() && e.Mtime().Before(made)
	if !exact {
		e.forget()
	}
}

// admits reports whether path can exist beside the paths of x: no path of x is below path, and path is not
// below a path of x.
func (x *Index) admits(path string) bool {
	i, _ := x.Find(path + "/")
	if i < len(x.Entries) && strings.HasPrefix(x.Entries[i].Path, path+"/") {
		return false
	}
	for at := len(path); ; {
		if at = strings.LastIndexByte(path[:at], '/'); at < 0 {
			return true
		}
		if _, found := x.Find(path[:at]); found {
			return false
		}
	}
}

// Without returns a copy of x without the paths in gone and with the entries in put. An entry in put replaces
// the entries of the same path.
func (x *Index) Without(gone map[string]bool, put []Entry) *Index {
	kept := make([]Entry, 0, len(x.Entries)+len(put))
	for _, e := range x.Entries {
		if !gone[e.Path] && !slices.ContainsFunc(put, func(p Entry) bool { return p.Path == e.Path }) {
			kept = append(kept, e)
		}
	}
	kept = append(kept, put...)
	slices.SortFunc(kept, func(a, b Entry) int { return compareEntries(&a, &b) })
	return &Index{Entries: kept, Made: x.Made}
}

// ForgetRecent makes git read each file again that is not older than the index. Without ForgetRecent, a
// comparison by git would run the file's filter.
func (x *Index) ForgetRecent() {
	for i := range x.Entries {
		if e := &x.Entries[i]; e.more == 0 && e.Mode != objstore.ModeCommit && e.Mtime().Unix() >= x.Made.Unix() {
			e.forget()
		}
	}
}
