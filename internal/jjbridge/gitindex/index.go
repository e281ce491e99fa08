package gitindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// ErrUnreadable is wrapped by Read's errors about the content of an index file. The file is damaged, or of a
// kind that only git can read: a split index, or a sparse index with folders in place of files.
var ErrUnreadable = errors.New("unreadable index")

// Index is the content of a git index file: the files, and their state when git last read them.
type Index struct {
	Entries []Entry   // in git's order: by the bytes of their paths, then by stage
	Made    time.Time // the modification time of the index file

	Hash objstore.Algorithm // of the repository
}

// Entry is the record of one file in an index.
type Entry struct {
	Path string
	ID   objstore.ID
	Mode objstore.Mode
	// stat is the result of lstat as git writes it: ctime, mtime (seconds and nanoseconds each),
	// device, inode, mode, user, group, size, in big-endian words. It is zero if git has to read the
	// file again.
	stat  [10 * 4]byte
	flags uint16 // flagAssume, flagStage
	more  uint16 // flagSkip, flagIntent
}

// The bits of Entry.flags and, from flagSkip on, of Entry.more.
const (
	flagAssume   = 0x8000 // assume-unchanged
	flagExtended = 0x4000 // only in files: the entry also has the bits of Entry.more
	flagStage    = 0x3000 // the side of a conflict, 0 without a conflict
	flagLength   = 0x0fff // only in files: the length of the path, at most flagLength

	flagSkip   = 0x4000 // skip-worktree: outside of a sparse checkout
	flagIntent = 0x2000 // intent-to-add: the user will add the file, and the entry has no content
)

// The offsets of fields in Entry.stat.
const (
	statCTime = 0
	statCNano = 1 * 4
	statMTime = 2 * 4
	statNano  = 3 * 4
	statInode = 5 * 4
	statMode  = 6 * 4
	statSize  = 9 * 4
)

// Mtime returns the modification time that the file had when git last read it.
func (e *Entry) Mtime() time.Time {
	return time.Unix(int64(e.word(statMTime)), int64(e.word(statNano)))
}

// Size returns the size, in bytes modulo 2^32, that the file had when git last read it.
func (e *Entry) Size() uint32 { return e.word(statSize) }

// Skipped reports whether the entry is marked skip-worktree, as files outside of a sparse checkout are.
func (e *Entry) Skipped() bool { return e.more&flagSkip != 0 }

// stage returns the stage of the entry: 0 without a conflict, otherwise its side of the conflict. 1 is the
// base, 2 ours, 3 theirs.
func (e *Entry) stage() int { return int(e.flags & flagStage >> 12) }

// Read returns the content of the index file at path, of a repository with the hash, and sets Made to the file's modification time. The error
// wraps fs.ErrNotExist if the file is missing, and ErrUnreadable if Parse fails.
func Read(hash objstore.Algorithm, path string) (*Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	entries, err := Parse(hash, data)
	if err != nil {
		return nil, unreadable(err)
	}
	return &Index{Entries: entries, Made: info.ModTime(), Hash: hash}, nil
}

// unreadable returns err wrapped in ErrUnreadable.
func unreadable(err error) error { return fmt.Errorf("%w: %w", ErrUnreadable, err) }

// Parse decodes data, an index file of version 2, 3 or 4 with ids of the hash, and returns its entries in git's
// order. It rejects a sparse index, which has folders in place of files.
func Parse(hash objstore.Algorithm, data []byte) ([]Entry, error) {
	var entries []Entry
	err := parse(hash, data, false, func(count uint32) { entries = make([]Entry, 0, count) }, func(e *Entry) { entries = append(entries, *e) })
	return entries, err
}

// parse decodes data, an index file of version 2, 3 or 4 with ids of the hash. It calls onCount with the number of
// entries, and then onEntry with every entry, in git's order. onEntry must not keep the pointer. If sparse is
// true, parse also accepts a sparse index, which has folders in place of files. parse may have called both
// functions when it returns an error.
func parse(hash objstore.Algorithm, data []byte, sparse bool, onCount func(count uint32), onEntry func(*Entry)) error {
	// The header has 12 bytes: "DIRC", the version and the number of entries.
	if len(data) < 12+hash.Size() || string(data[:4]) != "DIRC" {
		return errors.New("not an index file")
	}
	body, trailer := data[:len(data)-hash.Size()], data[len(data)-hash.Size():]
	// If index.skipHash is set, git writes zeros in place of the checksum.
	if !bytes.Equal(hash.Sum(body).Bytes(), trailer) && !bytes.Equal(trailer, make([]byte, hash.Size())) {
		return errors.New("wrong checksum")
	}
	p := parser{idSize: hash.Size(), rest: body[12:], text: string(body[12:]), version: binary.BigEndian.Uint32(data[4:]), sparse: sparse}
	if p.version < 2 || p.version > 4 {
		return fmt.Errorf("unsupported version %d", p.version)
	}
	count := binary.BigEndian.Uint32(data[8:])
	// An entry has at least 62 bytes.
	if int64(count)*62 > int64(len(data)) {
		return errors.New("truncated")
	}
	onCount(count)
	var before Entry
	for i := range count {
		var e Entry
		if err := p.entry(&e); err != nil {
			return err
		}
		if i > 0 && compareEntries(&before, &e) >= 0 {
			return errors.New("entries out of order")
		}
		onEntry(&e)
		before = e
	}
	return p.extensions()
}

// compareEntries compares a and b in git's order: by path, then by stage. The result is negative if a comes
// first, and positive if b comes first.
func compareEntries(a, b *Entry) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return a.stage() - b.stage()
}

// parser decodes the part of an index file after the header.
type parser struct {
	idSize  int    // of an id in bytes
	rest    []byte // the bytes not decoded yet
	text    string // the whole part as a string, of which the paths are substrings
	version uint32
	sparse  bool   // folders may stand in place of files
	before  string // the path of the entry before
}

var errTruncated = errors.New("truncated")

// entry decodes the next entry into e and advances p.rest. It returns an error if the entry is truncated or if
// check rejects the entry.
func (p *parser) entry(e *Entry) error {
	// An entry is the stat data, the id, two bytes of flags, perhaps two more, and the path.
	fixed := len(e.stat) + p.idSize + 2
	if len(p.rest) < fixed {
		return errTruncated
	}
	copy(e.stat[:], p.rest)
	e.Mode = objstore.Mode(e.word(statMode))
	var err error
	if e.ID, err = objstore.IDFromBytes(p.rest[len(e.stat):][:p.idSize]); err != nil {
		return err
	}
	flags := binary.BigEndian.Uint16(p.rest[fixed-2:])
	length := fixed
	if flags&flagExtended != 0 {
		if len(p.rest) < fixed+2 || p.version < 3 {
			return errTruncated
		}
		e.more = binary.BigEndian.Uint16(p.rest[fixed:]) & (flagSkip | flagIntent)
		length += 2
	}
	e.flags = flags & (flagAssume | flagStage)
	if p.version == 4 {
		return p.compressedPath(e, length)
	}
	end := bytes.IndexByte(p.rest[length:], 0)
	if end <= 0 {
		return errTruncated
	}
	at := len(p.text) - len(p.rest) + length
	e.Path = p.text[at : at+end]
	length = (length + end + 8) &^ 7 // with one to eight NULs after the path
	if length > len(p.rest) {
		return errTruncated
	}
	p.rest = p.rest[length:]
	return p.check(e)
}

// compressedPath decodes a path of version 4 into e.Path and advances p.rest to the next entry. length is the
// number of bytes of the entry before its path. Version 4 stores the number of bytes to cut from the end of the
// previous entry's path, and the text to append. compressedPath returns an error if the path is truncated or if
// check rejects the entry.
func (p *parser) compressedPath(e *Entry, length int) error {
	strip, n := offsetVarint(p.rest[length:])
	if n == 0 || strip > uint64(len(p.before)) {
		return errTruncated
	}
	length += n
	end := bytes.IndexByte(p.rest[length:], 0)
	if end < 0 {
		return errTruncated
	}
	e.Path = p.before[:len(p.before)-int(strip)] + string(p.rest[length:length+end])
	p.before, p.rest = e.Path, p.rest[length+end+1:]
	return p.check(e)
}

// offsetVarint decodes the integer at the start of b, in git's offset encoding. It returns the integer and the number n
// of its bytes. If b does not begin with a complete integer of at most 9 bytes, both results are 0.
func offsetVarint(b []byte) (value uint64, n int) {
	for i, c := range b {
		if i > 8 {
			return 0, 0
		}
		// In this encoding, each further byte also adds one to the value so far.
		if i > 0 {
			value++
		}
		value = value<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

// check returns an error if the mode of e is invalid in an index, if its path is empty, or if its id is zero. A
// folder is valid only if p.sparse is true. A zero id is valid only if e is marked intent-to-add.
func (p *parser) check(e *Entry) error {
	switch e.Mode {
	case objstore.ModeTree:
		if !p.sparse {
			return fmt.Errorf("%q is a folder", e.Path)
		}
	case objstore.ModeFile, objstore.ModeExecutable, objstore.ModeSymlink, objstore.ModeCommit:
	default:
		return fmt.Errorf("%q has mode %o", e.Path, e.Mode)
	}
	if e.Path == "" || e.ID.IsZero() && e.more&flagIntent == 0 {
		return fmt.Errorf("malformed entry %q", e.Path)
	}
	return nil
}

// sparseExtension marks a sparse index.
const sparseExtension = "sdir"

// extensions skips the extensions after the entries. The name of an optional extension begins with a capital
// letter. extensions returns an error for any other extension, except sparseExtension if p.sparse is true, and
// for truncated data.
func (p *parser) extensions() error {
	for len(p.rest) >= 8 {
		name, size := string(p.rest[:4]), int64(binary.BigEndian.Uint32(p.rest[4:]))
		if c := name[0]; (c < 'A' || c > 'Z') && (!p.sparse || name != sparseExtension) {
			return fmt.Errorf("unsupported extension %q", name)
		}
		if size > int64(len(p.rest)-8) {
			return errTruncated
		}
		p.rest = p.rest[8+size:]
	}
	if len(p.rest) != 0 {
		return errTruncated
	}
	return nil
}

// encode returns the content of an index file with the entries of x, in their order, and without extensions.
// The version is 3 if an entry has flags of that version, otherwise 2.
func (x *Index) encode() []byte {
	version := uint32(2)
	if slices.ContainsFunc(x.Entries, func(e Entry) bool { return e.more != 0 }) {
		version = 3
	}
	// 112 bytes for an entry are an estimate.
	out := make([]byte, 0, 12+len(x.Entries)*112+x.Hash.Size())
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.Entries)))
	for i := range x.Entries {
		out = x.Entries[i].appendTo(out)
	}
	return x.Hash.Sum(out).AppendTo(out)
}

// appendTo appends e to out as an index file of version 2 or 3 stores it, with the padding after its path. It
// returns the extended slice.
func (e *Entry) appendTo(out []byte) []byte {
	start := len(out)
	out = append(out, e.stat[:]...)
	binary.BigEndian.PutUint32(out[start+statMode:], uint32(e.Mode))
	out = e.ID.AppendTo(out)
	flags := e.flags&(flagAssume|flagStage) | uint16(min(len(e.Path), flagLength))
	if e.more != 0 {
		flags |= flagExtended
	}
	out = binary.BigEndian.AppendUint16(out, flags)
	if e.more != 0 {
		out = binary.BigEndian.AppendUint16(out, e.more)
	}
	out = append(out, e.Path...)
	for pad := 8 - (len(out)-start)%8; pad > 0; pad-- {
		out = append(out, 0)
	}
	return out
}

// Write replaces the file at path by the index. Unless x.Made is zero, the file gets x.Made as its
// modification time.
func (x *Index) Write(path string) error {
	if x.Made.IsZero() {
		return replace(path, x.encode())
	}
	return writeDated(path, x.encode(), x.Made)
}

// Find returns the position in x.Entries of the first entry with the given path, and true. If x has no such
// entry, Find returns the position where the entry belongs, and false. The entries must be in git's order.
func (x *Index) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(x.Entries, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
}

// Sort puts the entries into git's order.
func (x *Index) Sort() {
	slices.SortFunc(x.Entries, func(a, b Entry) int { return compareEntries(&a, &b) })
}
