package jjbridge

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

// errBadIndex is wrapped by the errors about an index file that is damaged, or of a kind
// that readIndex leaves to git: a split one, one with folders in place of files.
var errBadIndex = errors.New("unreadable index")

// index is git's index: which files there are, and what they looked like when they were
// last read. Entries are in git's order: by the bytes of their path, then by stage.
type index struct {
	entries []indexEntry
	made    time.Time // when it was written: what is not older may have changed since
}

// indexEntry is one file in an index.
type indexEntry struct {
	path string
	id   objstore.ID
	mode objstore.Mode
	// stat is what lstat said of the file, as git writes it: ctime, mtime (seconds and
	// nanoseconds each), device, inode, mode, user, group, size, all in big-endian words. All zero:
	// never looked at.
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

func (e *indexEntry) word(at int) uint32 { return binary.BigEndian.Uint32(e.stat[at:]) }

// mtime is when the file was last changed, as far as was known.
func (e *indexEntry) mtime() time.Time {
	return time.Unix(int64(e.word(statMTime)), int64(e.word(statNano)))
}

// size is how long the file was, modulo 2^32.
func (e *indexEntry) size() uint32 { return e.word(statSize) }

// forget makes git read the file again.
func (e *indexEntry) forget() { e.stat = [10 * 4]byte{} }

func (e *indexEntry) stage() int { return int(e.flags & flagStage >> 12) }

// readIndex reads an index file. The error wraps fs.ErrNotExist or errBadIndex.
func readIndex(path string) (*index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	entries, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadIndex, err)
	}
	return &index{entries: entries, made: info.ModTime()}, nil
}

// parseIndex reads versions 2 to 4 with ids of 20 bytes.
func parseIndex(data []byte) ([]indexEntry, error) {
	if len(data) < 12+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errors.New("no index")
	}
	body, trailer := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	// index.skipHash leaves zeros in place of the sum.
	if sum := sha1.Sum(body); !bytes.Equal(sum[:], trailer) && !bytes.Equal(trailer, make([]byte, sha1.Size)) {
		return nil, errors.New("wrong checksum")
	}
	p := indexParser{rest: body[12:], text: string(body[12:]), version: binary.BigEndian.Uint32(data[4:])}
	if p.version < 2 || p.version > 4 {
		return nil, fmt.Errorf("version %d", p.version)
	}
	count := binary.BigEndian.Uint32(data[8:])
	if int64(count)*62 > int64(len(data)) {
		return nil, errors.New("truncated")
	}
	entries := make([]indexEntry, count)
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

// compareEntries is git's order.
func compareEntries(a, b *indexEntry) int {
	if c := strings.Compare(a.path, b.path); c != 0 {
		return c
	}
	return a.stage() - b.stage()
}

// indexParser reads what comes after the header.
type indexParser struct {
	rest    []byte
	text    string // rest as it was at first, which the paths share
	version uint32
	before  string // the path of the entry before
}

var errTruncated = errors.New("truncated")

func (p *indexParser) entry(e *indexEntry) error {
	const fixed = 40 + sha1.Size + 2
	if len(p.rest) < fixed {
		return errTruncated
	}
	copy(e.stat[:], p.rest)
	e.mode = objstore.Mode(e.word(statMode))
	var err error
	if e.id, err = objstore.IDFromBytes(p.rest[40 : 40+sha1.Size]); err != nil {
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
	e.path = p.text[at : at+end]
	length = (length + end + 8) &^ 7
	if length > len(p.rest) {
		return errTruncated
	}
	p.rest = p.rest[length:]
	return e.check()
}

// compressedPath is a path in version 4: how much of the one before goes, and what comes.
func (p *indexParser) compressedPath(e *indexEntry, length int) error {
	strip, n := offsetVarint(p.rest[length:])
	if n == 0 || strip > uint64(len(p.before)) {
		return errTruncated
	}
	length += n
	end := bytes.IndexByte(p.rest[length:], 0)
	if end < 0 {
		return errTruncated
	}
	e.path = p.before[:len(p.before)-int(strip)] + string(p.rest[length:length+end])
	p.before, p.rest = e.path, p.rest[length+end+1:]
	return e.check()
}

// offsetVarint reads an integer as git's packs and indexes encode offsets; n is 0 where
// there is none.
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

func (e *indexEntry) check() error {
	switch e.mode {
	case objstore.ModeFile, objstore.ModeExecutable, objstore.ModeSymlink, objstore.ModeCommit:
	default:
		return fmt.Errorf("%q has mode %o", e.path, e.mode) // a folder, in a sparse index
	}
	if e.path == "" || e.id.IsZero() && e.more&flagIntent == 0 {
		return fmt.Errorf("malformed entry %q", e.path)
	}
	return nil
}

// extensions are left alone but for those that git calls necessary, whose names are in
// lower case.
func (p *indexParser) extensions() error {
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

// encode is the bytes of an index file with these entries and no extension.
func (x *index) encode() []byte {
	version := uint32(2)
	if slices.ContainsFunc(x.entries, func(e indexEntry) bool { return e.more != 0 }) {
		version = 3
	}
	out := make([]byte, 0, 12+len(x.entries)*112+sha1.Size)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.entries)))
	for i := range x.entries {
		out = x.entries[i].appendTo(out)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func (e *indexEntry) appendTo(out []byte) []byte {
	start := len(out)
	out = append(out, e.stat[:]...)
	binary.BigEndian.PutUint32(out[start+statMode:], uint32(e.mode))
	out = e.id.AppendTo(out)
	flags := e.flags&flagStage | uint16(min(len(e.path), flagLength))
	if e.more != 0 {
		flags |= flagExtended
	}
	out = binary.BigEndian.AppendUint16(out, flags)
	if e.more != 0 {
		out = binary.BigEndian.AppendUint16(out, e.more)
	}
	out = append(out, e.path...)
	for pad := 8 - (len(out)-start)%8; pad > 0; pad-- {
		out = append(out, 0)
	}
	return out
}

// write puts the index at path. With x.made, git goes on to look twice at files that are
// not older than that; zero is the time of writing.
func (x *index) write(path string) error {
	data := x.encode()
	if err := os.WriteFile(path+unfinished, data, 0o666); err != nil {
		return err
	}
	if !x.made.IsZero() {
		if err := os.Chtimes(path+unfinished, x.made, x.made); err != nil {
			return err
		}
	}
	return os.Rename(path+unfinished, path)
}

// find is where path is, or would be, at stage 0.
func (x *index) find(path string) (int, bool) {
	return slices.BinarySearchFunc(x.entries, path, func(e indexEntry, path string) int { return strings.Compare(e.path, path) })
}
