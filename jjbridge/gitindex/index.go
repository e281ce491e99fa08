package gitindex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// ErrUnreadable is wrapped by the errors about an index file that is damaged, or of a kind that Read
// leaves to git: a split index, or a sparse one with folders in place of files.
var ErrUnreadable = errors.New("unreadable index")

// Index is git's index: the files, and what each looked like when git last read it.
type Index struct {
	Entries []Entry   // in git's order: by the bytes of their paths, then by stage
	Made    time.Time // when it was written; a file that is not older may have changed since
}

// Entry is one file in an index.
type Entry struct {
	Path string
	ID   objstore.ID
	Mode objstore.Mode
	// stat is the result of lstat as git writes it: ctime, mtime (seconds and nanoseconds each),
	// device, inode, mode, user, group, size, in big-endian words. It is zero if git has to read the
	// file again.
	stat  [10 * 4]byte
	flags uint16 // flagStage
	more  uint16 // flagSkip, flagIntent
}

const (
	flagExtended = 0x4000
	flagStage    = 0x3000
	flagLength   = 0x0fff

	flagSkip   = 0x4000 // skip-worktree: outside of a sparse checkout
	flagIntent = 0x2000 // intent-to-add: announced, without content
)

const (
	statMTime = 2 * 4 // offsets in stat
	statNano  = 3 * 4
	statMode  = 6 * 4
	statSize  = 9 * 4
)

func (e *Entry) word(at int) uint32 { return binary.BigEndian.Uint32(e.stat[at:]) }

// Mtime returns the time of the file when git last read it.
func (e *Entry) Mtime() time.Time {
	return time.Unix(int64(e.word(statMTime)), int64(e.word(statNano)))
}

// Size returns the size of the file in bytes, modulo 2^32, when git last read it.
func (e *Entry) Size() uint32 { return e.word(statSize) }

// Skipped reports whether the file is outside of a sparse checkout.
func (e *Entry) Skipped() bool { return e.more&flagSkip != 0 }

// Plain reports whether git looks at the file: the entry is neither skipped nor without content.
func (e *Entry) Plain() bool { return e.more == 0 }

// forget makes git read the file again.
func (e *Entry) forget() { e.stat = [10 * 4]byte{} }

func (e *Entry) stage() int { return int(e.flags & flagStage >> 12) }

// Read reads an index file. The error wraps fs.ErrNotExist or ErrUnreadable.
func Read(path string) (*Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	entries, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return &Index{Entries: entries, Made: info.ModTime()}, nil
}

// Parse decodes an index file of version 2, 3 or 4 with ids of 20 bytes.
func Parse(data []byte) ([]Entry, error) {
	if len(data) < 12+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errors.New("no index")
	}
	body, trailer := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	// index.skipHash leaves zeros in place of the sum.
	if sum := sha1.Sum(body); !bytes.Equal(sum[:], trailer) && !bytes.Equal(trailer, make([]byte, sha1.Size)) {
		return nil, errors.New("wrong checksum")
	}
	p := parser{rest: body[12:], text: string(body[12:]), version: binary.BigEndian.Uint32(data[4:])}
	if p.version < 2 || p.version > 4 {
		return nil, fmt.Errorf("version %d", p.version)
	}
	count := binary.BigEndian.Uint32(data[8:])
	if int64(count)*62 > int64(len(data)) {
		return nil, errors.New("truncated")
	}
	entries := make([]Entry, count)
	for i := range entries {
		if err := p.entry(&entries[i]); err != nil {
			return nil, err
		}
		if i > 0 && compareEntries(&entries[i-1], &entries[i]) >= 0 {
			return nil, errors.New("entries out of order")
		}
	}
	return entries, p.extensions()
}

// compareEntries orders entries as git does: by path, then by stage.
func compareEntries(a, b *Entry) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return a.stage() - b.stage()
}

// parser decodes what follows the header.
type parser struct {
	rest    []byte
	text    string // all of it, which the paths share
	version uint32
	before  string // the path of the entry before
}

var errTruncated = errors.New("truncated")

func (p *parser) entry(e *Entry) error {
	const fixed = 40 + sha1.Size + 2
	if len(p.rest) < fixed {
		return errTruncated
	}
	copy(e.stat[:], p.rest)
	e.Mode = objstore.Mode(e.word(statMode))
	var err error
	if e.ID, err = objstore.IDFromBytes(p.rest[40 : 40+sha1.Size]); err != nil {
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
	e.flags = flags & flagStage
	if p.version == 4 {
		return p.compressedPath(e, length)
	}
	end := bytes.IndexByte(p.rest[length:], 0)
	if end <= 0 {
		return errTruncated
	}
	at := len(p.text) - len(p.rest) + length
	e.Path = p.text[at : at+end]
	length = (length + end + 8) &^ 7
	if length > len(p.rest) {
		return errTruncated
	}
	p.rest = p.rest[length:]
	return e.check()
}

// compressedPath decodes a path of version 4: how many bytes to cut from the path before, and what to append.
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
	return e.check()
}

// offsetVarint decodes an integer as git encodes offsets, from n bytes. n is 0 if there is none.
func offsetVarint(b []byte) (value uint64, n int) {
	for i, c := range b {
		if i > 8 {
			return 0, 0
		}
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

func (e *Entry) check() error {
	switch e.Mode {
	case objstore.ModeFile, objstore.ModeExecutable, objstore.ModeSymlink, objstore.ModeCommit:
	default:
		return fmt.Errorf("%q has mode %o", e.Path, e.Mode) // a folder, in a sparse index
	}
	if e.Path == "" || e.ID.IsZero() && e.more&flagIntent == 0 {
		return fmt.Errorf("malformed entry %q", e.Path)
	}
	return nil
}

// extensions skips the optional extensions, whose names begin with a capital. Any other is an error.
func (p *parser) extensions() error {
	for len(p.rest) >= 8 {
		name, size := string(p.rest[:4]), int64(binary.BigEndian.Uint32(p.rest[4:]))
		if c := name[0]; c < 'A' || c > 'Z' {
			return fmt.Errorf("extension %q", name)
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

// encode returns an index file with these entries and no extension.
func (x *Index) encode() []byte {
	version := uint32(2)
	if slices.ContainsFunc(x.Entries, func(e Entry) bool { return e.more != 0 }) {
		version = 3
	}
	out := make([]byte, 0, 12+len(x.Entries)*112+sha1.Size)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.Entries)))
	for i := range x.Entries {
		out = x.Entries[i].appendTo(out)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func (e *Entry) appendTo(out []byte) []byte {
	start := len(out)
	out = append(out, e.stat[:]...)
	binary.BigEndian.PutUint32(out[start+statMode:], uint32(e.Mode))
	out = e.ID.AppendTo(out)
	flags := e.flags&flagStage | uint16(min(len(e.Path), flagLength))
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

// Write writes the index to path, dated x.Made: git reads files again that are not older. A zero
// x.Made means now.
func (x *Index) Write(path string) error {
	data := x.encode()
	if err := os.WriteFile(path+Unfinished, data, 0o666); err != nil {
		return err
	}
	if !x.Made.IsZero() {
		if err := os.Chtimes(path+Unfinished, x.Made, x.Made); err != nil {
			return err
		}
	}
	return os.Rename(path+Unfinished, path)
}

// Find returns the position of path in x.Entries, or the position where it belongs.
func (x *Index) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(x.Entries, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
}
