package gitindex

import (
	"encoding/binary"
	"io/fs"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// tick is longer than file systems take to give a changed file a new time.
const tick = 20 * time.Millisecond

// Fresh reports whether an entry of x still is what its file has, by the file's times, size and inode.
// A file that changed just before the index was written may have changed once more without a trace,
// so it is not fresh.
func (x *Index) Fresh(e *Entry, info fs.FileInfo) bool {
	link := info.Mode()&fs.ModeSymlink != 0
	return e.word(statNano) != 0 && e.Mtime().Equal(info.ModTime()) && e.Mtime().Before(x.Made.Add(-tick)) &&
		e.Size() == uint32(info.Size()) && link == (e.Mode == objstore.ModeSymlink) && e.sameInode(info)
}

// sameInode compares what only some systems tell of a file.
func (e *Entry) sameInode(info fs.FileInfo) bool {
	changed, inode, ok := inodeOf(info)
	return !ok || e.word(statInode) == uint32(inode) &&
		e.word(statCTime) == uint32(changed.Unix()) && e.word(statCNano) == uint32(changed.Nanosecond())
}

func (e *Entry) word(at int) uint32 { return binary.BigEndian.Uint32(e.stat[at:]) }
