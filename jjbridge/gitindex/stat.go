package gitindex

import (
	"encoding/binary"
	"io/fs"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// Longer than file systems take to give a changed file a new time: those that keep fractions of a
// second, and those that do not.
const (
	tick       = 20 * time.Millisecond
	coarseTick = 2 * time.Second
)

// Fresh reports whether an entry of x still is what its file has, by the file's times, size and inode.
// A file that changed just before the index was written may have changed once more without a trace,
// so it is not fresh.
func (x *Index) Fresh(e *Entry, info fs.FileInfo) bool {
	link, late := info.Mode()&fs.ModeSymlink != 0, tick
	if e.word(statNano) == 0 {
		late = coarseTick
	}
	return e.Mtime().Equal(info.ModTime()) && e.Mtime().Before(x.Made.Add(-late)) &&
		e.Size() == uint32(info.Size()) && link == (e.Mode == objstore.ModeSymlink) && e.sameInode(info)
}

// NewEntry returns the entry of a file that has just been read.
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

func (e *Entry) setTime(at int, t time.Time) {
	e.setWord(at, uint32(t.Unix()))
	e.setWord(at+4, uint32(t.Nanosecond()))
}

func (e *Entry) setWord(at int, value uint32) { binary.BigEndian.PutUint32(e.stat[at:], value) }

// sameInode compares what only some systems tell of a file.
func (e *Entry) sameInode(info fs.FileInfo) bool {
	changed, inode, ok := inodeOf(info)
	return !ok || e.word(statInode) == uint32(inode) &&
		e.word(statCTime) == uint32(changed.Unix()) && e.word(statCNano) == uint32(changed.Nanosecond())
}

func (e *Entry) word(at int) uint32 { return binary.BigEndian.Uint32(e.stat[at:]) }
