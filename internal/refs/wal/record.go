package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/git-smithers/git-smithers/objstore"
)

// MaxRecord is the largest number of bytes of a record. A larger capture is no record: it becomes a pack at once.
const MaxRecord = 1 << 20

// ErrTooLarge is wrapped by the error about a record with more than [MaxRecord] bytes.
var ErrTooLarge = errors.New("too large for the write-ahead log")

const (
	recordHead = 24 // the bytes of a record before its ids
	objectHead = 5  // the bytes of an object before its content: its kind and its length
	kindEntry  = 1  // the only kind of record: a run goes from one entry to the next
)

// Object is a git object in full.
type Object struct {
	Kind objstore.Kind
	Data []byte
}

// Record is one acknowledged entry of a run: a move of the run's tip, and all objects that the entry adds. The last object is the
// entry's commit, with the id New.
type Record struct {
	Sequence uint64 // 1 for the first record of a log
	Run      string
	Old, New objstore.ID // the tip before and after; neither is zero, because a run's first entry is never in a log
	Objects  []Object
	End      Cursor // after the record
}

// Cursor is a position in a log: after its head, or after a record. A cursor is a value; copies are independent.
type Cursor struct {
	offset   int64
	sum      uint32 // the checksum that the next record's begins with
	sequence uint64 // of the record before; 0 before the first record, or if the cursor begins at a mark
	idSize   int
	anywhere bool // the cursor begins at a mark, so it does not know the sequence of the next record
}

// Start returns the cursor before the first record of the log with the head h.
func (h Head) Start() Cursor {
	whole := h.Append(nil)
	return Cursor{offset: HeadSize, sum: binary.LittleEndian.Uint32(whole[40:]), idSize: h.IDSize}
}

// Unpublished returns the cursor after the last record that the mark of h covers. Its offset can be beyond the end of the log, if a
// power cut took records that were published: then nothing in the log is unpublished.
func (h Head) Unpublished() Cursor {
	c := h.Start()
	if h.Mark.Offset > HeadSize {
		c = Cursor{offset: h.Mark.Offset, sum: h.Mark.sum, idSize: h.IDSize, anywhere: true}
	}
	return c
}

// Offset returns the offset in the log at which the next record begins.
func (c Cursor) Offset() int64 { return c.offset }

// Mark returns the mark of a log that is published up to the cursor.
func (c Cursor) Mark() Mark { return Mark{c.offset, c.sum} }

// Append appends the bytes of a record to b, and returns the result and the cursor after the record. It ignores r.Sequence and r.End:
// the record gets the number that follows. The cursor must not begin at a mark. The error wraps ErrTooLarge, or says what the
// format cannot hold.
func (c Cursor) Append(b []byte, r Record) ([]byte, Cursor, error) {
	if c.anywhere {
		return b, c, errors.New("the number of the record is not known")
	}
	if err := c.check(r); err != nil {
		return b, c, err
	}
	size := recordHead + 2*c.idSize + len(r.Run)
	for _, o := range r.Objects {
		size += objectHead + len(o.Data)
		if size > MaxRecord {
			break
		}
	}
	if size = (size + 7) &^ 7; size > MaxRecord {
		return b, c, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxRecord)
	}
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, 0, 0, 0, 0) // the checksum, at the end
	b = binary.LittleEndian.AppendUint64(b, c.sequence+1)
	b = binary.LittleEndian.AppendUint16(b, kindEntry)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.Run)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Objects)))
	b = append(r.New.AppendTo(r.Old.AppendTo(b)), r.Run...)
	for _, o := range r.Objects {
		b = append(b, byte(o.Kind))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(o.Data)))
		b = append(b, o.Data...)
	}
	b = append(b, make([]byte, start+size-len(b))...)
	next := Cursor{c.offset + int64(size), c.checksum(b[start:]), c.sequence + 1, c.idSize, false}
	binary.LittleEndian.PutUint32(b[start+4:], next.sum)
	return b, next, nil
}

// check returns an error if the format cannot hold r.
func (c Cursor) check(r Record) error {
	switch {
	case len(r.Old.Bytes()) != c.idSize || len(r.New.Bytes()) != c.idSize:
		return fmt.Errorf("an id of the record does not have %d bytes", c.idSize)
	case r.Run == "" || len(r.Run) > math.MaxUint16:
		return fmt.Errorf("a run id of %d bytes", len(r.Run))
	case len(r.Objects) == 0 || r.Objects[len(r.Objects)-1].Kind != objstore.Commit:
		return errors.New("the last object of the record is not a commit")
	}
	for _, o := range r.Objects {
		if o.Kind < objstore.Commit || o.Kind > objstore.Blob {
			return fmt.Errorf("an object of kind %d", o.Kind)
		}
	}
	return nil
}

// checksum returns the checksum of a record, which begins with that of the record before. It leaves out the bytes of the
// checksum itself.
func (c Cursor) checksum(record []byte) uint32 {
	var before [4]byte
	binary.LittleEndian.PutUint32(before[:], c.sum)
	sum := crc32.Checksum(before[:], castagnoli())
	sum = crc32.Update(sum, castagnoli(), record[:4])
	return crc32.Update(sum, castagnoli(), record[8:])
}

// Next returns the record at the cursor and the cursor after it. log has the bytes of the log from the cursor's offset on. ok is
// false without an error if the log ends here: at a record that is not whole, that does not follow the one before, or at no record at
// all. The next record is written over such bytes. The error wraps ErrVersion if the record is whole, but not of this version. The
// record's texts and contents are part of log. Next does not compare objects with ids.
func (c Cursor) Next(log []byte) (r Record, next Cursor, ok bool, err error) {
	if len(log) < recordHead {
		return Record{}, c, false, nil
	}
	size := binary.LittleEndian.Uint32(log)
	if size < recordHead || size%8 != 0 || size > MaxRecord || int64(size) > int64(len(log)) {
		return Record{}, c, false, nil
	}
	log = log[:size:size]
	sequence := binary.LittleEndian.Uint64(log[8:])
	if c.checksum(log) != binary.LittleEndian.Uint32(log[4:]) || sequence == 0 || !c.anywhere && sequence != c.sequence+1 {
		return Record{}, c, false, nil
	}
	r, why := parseRecord(log, c.idSize)
	if why != "" {
		return Record{}, c, false, fmt.Errorf("%w: record %d %s", ErrVersion, sequence, why)
	}
	r.Sequence = sequence
	if err := c.check(r); err != nil {
		return Record{}, c, false, fmt.Errorf("%w: record %d: %w", ErrVersion, sequence, err)
	}
	r.End = Cursor{c.offset + int64(size), binary.LittleEndian.Uint32(log[4:]), sequence, c.idSize, false}
	return r, r.End, true, nil
}

// parseRecord parses a whole record. If the record is not of this version, why is the reason; otherwise why is "".
func parseRecord(b []byte, idSize int) (r Record, why string) {
	if kind := binary.LittleEndian.Uint16(b[16:]); kind != kindEntry {
		return r, fmt.Sprintf("has kind %d", kind)
	}
	nameSize, count := int(binary.LittleEndian.Uint16(b[18:])), binary.LittleEndian.Uint32(b[20:])
	rest := b[recordHead:]
	if len(rest) < 2*idSize+nameSize {
		return r, "is too short for its ids"
	}
	var err1, err2 error
	r.Old, err1 = objstore.IDFromBytes(rest[:idSize])
	r.New, err2 = objstore.IDFromBytes(rest[idSize : 2*idSize])
	if err := errors.Join(err1, err2); err != nil {
		return r, err.Error()
	}
	rest = rest[2*idSize:]
	r.Run, rest = string(rest[:nameSize]), rest[nameSize:]
	for range count {
		if len(rest) < objectHead {
			return r, "is too short for its objects"
		}
		kind, size := objstore.Kind(rest[0]), int64(binary.LittleEndian.Uint32(rest[1:]))
		rest = rest[objectHead:]
		if size > int64(len(rest)) {
			return r, "is too short for its objects"
		}
		r.Objects = append(r.Objects, Object{kind, rest[:size:size]})
		rest = rest[size:]
	}
	if len(rest) > 7 || len(bytes.Trim(rest, "\x00")) > 0 {
		return r, "has more than its objects"
	}
	return r, ""
}

// Records returns the records of a log from the cursor on, oldest first, and the cursor after the last one. log has the bytes of the
// log from the cursor's offset on. The error wraps ErrVersion; the records before the one at fault are returned, too.
func (c Cursor) Records(log []byte) (records []Record, end Cursor, err error) {
	start := c.offset
	for {
		r, next, ok, err := c.Next(log[c.offset-start:])
		if err != nil || !ok {
			return records, c, err
		}
		records, c = append(records, r), next
	}
}

// CheckObjects returns an error unless the last object of the record has the id New and the parent Old, as its first parent. A reader
// must call it before it takes over what another process wrote. Whether the commit is an entry of the run Run is the caller's to check.
func (r Record) CheckObjects() error {
	last := r.Objects[len(r.Objects)-1]
	if id := objstore.Hash(last.Kind, last.Data); id != r.New {
		return fmt.Errorf("the commit of the record is %v and not %v", id, r.New)
	}
	_, after, _ := bytes.Cut(last.Data, []byte("\n")) // the first line names the tree
	if !bytes.HasPrefix(after, []byte("parent "+r.Old.String()+"\n")) {
		return fmt.Errorf("the commit %v does not follow %v", r.New, r.Old)
	}
	return nil
}
