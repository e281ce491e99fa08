package reftable

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/git-smithers/git-smithers/objstore"
)

// blockHead is the number of bytes before the first record of a block: its kind and its length.
const blockHead = 4

// The types of a ref's value in a table.
const (
	valueDeleted = iota
	valueID
	valuePeeled
	valueSymbolic
)

// entry is a ref's record in one table.
type entry struct {
	Record
	value byte   // the type of the value; the record of a deleted ref hides those of older tables
	index uint64 // the number of the transaction
}

// walk goes through the records of one section in the order of their keys. Its methods return false at the end, and after
// an error, which is then in err.
type walk struct {
	*table
	section
	err error

	// The block. Its offsets count from its first byte, and those of the first block from the first byte of the table.
	off, behind int64 // offsets of the block and of the next one in the table
	kind        byte
	data        []byte // up to the end of the last record
	restarts    []byte // the offsets of the records that have whole keys, three bytes each
	begin, at   int    // offsets of the first record, and behind the current one

	// The current record.
	key   []byte
	value byte  // the three bits beside the length of the key: in blocks of refs the type of the value, and 0 for a deleted reflog entry
	child int64 // offset of a block that ends with the key; only in an index
	entry entry // without the name; only in a block of refs
}

// walk returns a walk through a section. seek must be called first.
func (t *table) walk(s section) *walk { return &walk{table: t, section: s} }

// seek moves the walk to the first record whose key is not less than key.
func (w *walk) seek(key string) bool {
	off := w.start
	if off >= 0 && w.index > 0 {
		off = w.index
	}
	for off >= 0 && w.load(off) && w.find(key) {
		if w.kind == w.sort {
			return true
		}
		if off = w.child; w.kind != indexBlock || off < 0 || off >= w.off { // an index is behind its blocks, so the search ends
			return w.fail("it points at no block", nil)
		}
	}
	return false
}

// find moves the walk to the first record whose key is not less than key, in the block or in those of its kind behind it.
func (w *walk) find(key string) bool {
	for {
		for w.jump(key); w.err == nil && w.at < len(w.data); {
			if w.record() && string(w.key) >= key {
				return true
			}
		}
		if w.err != nil || !w.nextBlock() {
			return false
		}
	}
}

// next moves the walk to the next record.
func (w *walk) next() bool {
	for w.at >= len(w.data) {
		if !w.nextBlock() {
			return false
		}
	}
	return w.record()
}

// nextBlock moves the walk before the first record of the next block of the same kind.
func (w *walk) nextBlock() bool {
	kind := w.kind
	return w.behind < w.end && w.load(w.behind) && w.kind == kind
}

// load moves the walk before the first record of the block at off.
func (w *walk) load(off int64) bool {
	w.off, w.begin = off, blockHead
	if off == 0 {
		w.begin += w.head
	}
	data, err := w.read(off, max(w.blockSize, guessedBlock))
	if err != nil || len(data) < w.begin {
		return w.fail("it is cut", err)
	}
	length := uint24(data[w.begin-3:])
	w.kind, w.behind = data[w.begin-blockHead], off+int64(length)
	switch {
	case w.kind == logBlock:
		data, w.behind, err = w.inflate(data[:w.begin], off, length)
	case length > len(data):
		data, err = w.read(off, length)
	case length < w.blockSize && (length == len(data) || data[length] == 0): // padding, and not a block that is not aligned
		w.behind = off + int64(w.blockSize)
	}
	if err != nil || length < w.begin+2 || length > len(data) {
		return w.fail("it is cut", err)
	}
	records := length - 2 - 3*int(binary.BigEndian.Uint16(data[length-2:]))
	if records < w.begin {
		return w.fail("it is shorter than its table of records", nil)
	}
	w.data, w.restarts = data[:records], data[records:length-2]
	w.at, w.key = w.begin, w.key[:0]
	return true
}

// jump moves the walk before the last record of the block that has a whole key less than key, or before the first record.
func (w *walk) jump(key string) {
	moveTo := func(i int) {
		w.at, w.key = w.begin, w.key[:0]
		if i >= 0 {
			w.at = min(max(w.begin, uint24(w.restarts[3*i:])), len(w.data))
		}
	}
	moveTo(sort.Search(len(w.restarts)/3, func(i int) bool {
		moveTo(i)
		return !w.nextKey() || string(w.key) >= key
	}) - 1)
}

// nextKey reads the key of the next record.
func (w *walk) nextKey() bool {
	shared, own := w.number(), w.number()
	rest := w.take(own >> 3)
	if w.err != nil || shared > uint64(len(w.key)) {
		return w.fail("a key is cut", nil)
	}
	w.key, w.value = append(w.key[:shared], rest...), byte(own&7)
	return true
}

// record reads the next record.
func (w *walk) record() bool {
	if !w.nextKey() {
		return false
	}
	size := uint64(w.hash.Size())
	switch {
	case w.kind == indexBlock:
		w.child = int64(w.number())
	case w.kind == logBlock && w.value != 0: // two ids, name and address, time and zone, and the message
		_, _, _, _, _, _ = w.take(2*size), w.text(), w.text(), w.number(), w.take(2), w.text()
	case w.kind == refBlock:
		w.entry = entry{value: w.value, index: w.first + w.number()}
		switch w.value {
		case valuePeeled, valueID:
			w.entry.ID, _ = objstore.IDFromBytes(w.take(size)) // an id that is cut is in w.err
			if w.value == valuePeeled {
				w.entry.Peeled, _ = objstore.IDFromBytes(w.take(size))
			}
		case valueSymbolic:
			w.entry.Target = string(w.text())
		case valueDeleted:
		default:
			return w.fail("a value has an unknown type", nil)
		}
	}
	return w.err == nil
}

// number returns the next number of the block.
func (w *walk) number() (v uint64) {
	for i, c := range w.data[w.at:] {
		if i > 0 {
			v++
		}
		if v >= 1<<57 {
			break
		}
		if v = v<<7 | uint64(c&0x7f); c < 0x80 {
			w.at += i + 1
			return v
		}
	}
	w.fail("a number is cut", nil)
	return 0
}

// take returns the next n bytes of the block.
func (w *walk) take(n uint64) []byte {
	if n > uint64(len(w.data)-w.at) {
		w.fail("a record is cut", nil)
		return nil
	}
	w.at += int(n)
	return w.data[w.at-int(n) : w.at]
}

// text returns the next text of the block, before which its length is written.
func (w *walk) text() []byte { return w.take(w.number()) }

// fail sets the error of the walk, unless there is one, and returns false. cause may be nil.
func (w *walk) fail(reason string, cause error) bool {
	if w.err == nil {
		w.err = w.damaged(fmt.Sprintf("the block at %d: %s", w.off, reason), cause)
	}
	return false
}
