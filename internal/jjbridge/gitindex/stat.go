package gitindex

import (
	"encoding/binary"
	"io/fs"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// A file that changes twice within this time may have the same modification time after both changes.
const (
	tick       = 20 * time.Millisecond // on file systems that store fractions of a second
	coarseTick = 2 * time.Second       // on other file systems
)

// Fresh reports whether the file that info describes surely has the content in e, an entry of x. The file's times,
// size, kind and inode must be those in e. If the file changed shortly before x was written, Fresh returns false,
// because the file may have changed once more without a new modification time.
func (x *Index) Fresh(e *Entry, info fs.FileInfo) bool {
	link, late := info.Mode()&fs.ModeSymlink != 0, tick
	if e.word(statNano) == 0 {
		late = coarseTick
	}
	return e.Mtime().Equal(info.ModTime()) && e.Mtime().Before(x.Made.Add(-late)) &&
		e.Size() == uint32(info.Size()) && link == (e.Mode == objstore.ModeSymlink) && e.sameInode(info)
}

// NewEntry returns the index entry of the file at path. id is the id of the file's content as a blob. info
// describes the file at the time when it was read. On a system that does not report inodes, the entry has no
// inode.
func NewEntry(path string, mode objstore.Mode, id objstore.ID, info fs.FileInfo) Entry {
	e := Entry{Path: path, Mode: mode, ID: id}
	e.setTime(statMTime, info.ModTime())
	if changed, inode, ok := inodeOf(info); ok {
		e.setTime(statCTime, changed)
		e.setWord(statInode, uint32(inode))
	}
	e.setWord(statSize, uint32(info.Size()))
	return e
}

// setTime stores t in two words of e.stat: the seconds, and then the nanoseconds. offset is the offset of the
// first word.
func (e *Entry) setTime(offset int, t time.Time) {
	e.setWord(offset, uint32(t.Unix()))
	e.setWord(offset+4, uint32(t.Nanosecond()))
}

// setWord stores value as a word of e.stat. offset is the offset of the word.
func (e *Entry) setWord(offset int, value uint32) { binary.BigEndian.PutUint32(e.stat[offset:], value) }

// sameInode reports whether the inode in info has the number and the time of the last change that e records. On
// a system that does not report inodes, sameInode returns true.
func (e *Entry) sameInode(info fs.FileInfo) bool {
	changed, inode, ok := inodeOf(info)
	return !ok || e.word(statInode) == uint32(inode) &&
		e.word(statCTime) == uint32(changed.Unix()) && e.word(statCNano) == uint32(changed.Nanosecond())
}

// word returns one word of e.stat. offset is the offset of the word.
func (e *Entry) word(offset int) uint32 { return binary.BigEndian.Uint32(e.stat[offset:]) }
