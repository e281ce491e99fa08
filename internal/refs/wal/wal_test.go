package wal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/objstore"
)

// entry returns a record of a run whose commit follows old, and has the text in its message.
func entry(run string, old objstore.ID, text string) wal.Record {
	commit := fmt.Appendf(nil, "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent %v\n\n%s", old, text)
	blob := []byte(strings.Repeat(text, 3))
	return wal.Record{
		Run: run, Old: old, New: objstore.Hash(objstore.Commit, commit),
		Objects: []wal.Object{{objstore.Blob, blob}, {objstore.Commit, commit}},
	}
}

// first is a tip from which runs of the tests go on.
var first = objstore.Hash(objstore.Blob, []byte("first"))

// aLog returns a log with three records of two runs, and the cursors after its head and after each record.
func aLog(t require.TestingT) (log []byte, cursors []wal.Cursor, records []wal.Record) {
	head := wal.Head{IDSize: 20, Random: [16]byte{1, 2, 3}, MadeMs: 1_700_000_000_000}
	log = head.Append(nil)
	c := head.Start()
	cursors = append(cursors, c)
	a := entry("a", first, "one")
	for i, r := range []wal.Record{a, entry("another", first, "two"), entry("a", a.New, "three")} {
		var err error
		log, c, err = c.Append(log, r)
		require.NoError(t, err)
		r.Sequence, r.End = uint64(i+1), c
		cursors, records = append(cursors, c), append(records, r)
	}
	return log, cursors, records
}

// TestVector pins the bytes of a log: a reader of this version must read each log that a writer of this version has written.
func TestVector(t *testing.T) {
	t.Parallel()
	head := wal.Head{IDSize: 20, Random: [16]byte{0: 0xaa, 15: 0xbb}, MadeMs: 1}
	log := head.Append(nil)
	log, _, err := head.Start().Append(log, entry("r", first, "x"))
	require.NoError(t, err)
	assert.Equal(t, strings.Join([]string{
		"67736a726e6c310a", "40000000", "01000000", // magic, size, sha1
		"aa0000000000000000000000000000bb", "0100000000000000", // random, made
		crcHex(log[:40]), "00000000",
		"4000000000000000", crcHex(log[:40]), crcHex(log[48:60]), // the mark: nothing is published
		"b0000000", hex.EncodeToString(log[68:72]), "0100000000000000", // size, checksum, sequence
		"0100", "0100", "02000000", // an entry, a run id of one byte, two objects
		first.String(), entry("r", first, "x").New.String(), hex.EncodeToString([]byte("r")),
		"03", "03000000", hex.EncodeToString([]byte("xxx")),
		"01", "60000000", hex.EncodeToString(entry("r", first, "x").Objects[1].Data), "0000", // zeros up to a multiple of 8
	}, ""), hex.EncodeToString(log))
	assert.Equal(t, crc32.Checksum(append(append(bytes.Clone(log[40:44]), log[64:68]...), log[72:]...), crc32.MakeTable(crc32.Castagnoli)),
		binary.LittleEndian.Uint32(log[68:]), "the checksum begins with that of the head")
}

// crcHex returns the checksum of b as it stands in a log.
func crcHex(b []byte) string {
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))))
}

func TestRecordsComeBack(t *testing.T) {
	t.Parallel()
	log, cursors, want := aLog(t)
	head, err := wal.ParseHead(log)
	require.NoError(t, err)
	assert.Equal(t, uint64(1_700_000_000_000), head.MadeMs)
	assert.Equal(t, [16]byte{1, 2, 3}, head.Random)
	got, end, err := head.Start().Records(log[wal.HeadSize:])
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, cursors[3], end)
	assert.Equal(t, int64(len(log)), end.Offset())
	for _, r := range got {
		assert.NoError(t, r.CheckObjects())
	}
	assert.Equal(t, []wal.Record{want[0], want[2]}, following(got, "a", first))
	assert.Equal(t, want[2:], following(got, "a", want[0].New))
	assert.Empty(t, following(got, "a", want[2].New), "all of the run is published")
}

// TestMark covers what a mark saves: a reader begins behind what is published. A damaged mark costs time and nothing else.
func TestMark(t *testing.T) {
	t.Parallel()
	log, cursors, want := aLog(t)
	copy(log[wal.MarkOffset:], cursors[2].Mark().Append(nil))
	head, err := wal.ParseHead(log)
	require.NoError(t, err)
	from := head.Unpublished()
	assert.Equal(t, cursors[2].Offset(), from.Offset())
	got, end, err := from.Records(log[from.Offset():])
	require.NoError(t, err)
	assert.Equal(t, want[2:], got)
	assert.Equal(t, cursors[3], end)
	_, _, err = from.Append(nil, want[0])
	require.Error(t, err, "a cursor at a mark does not know the sequence")

	for at := range wal.HeadSize - wal.MarkOffset {
		damaged := bytes.Clone(log)
		damaged[wal.MarkOffset+at] ^= 0x10
		head, err := wal.ParseHead(damaged)
		require.NoError(t, err)
		got, _, err := head.Unpublished().Records(damaged[head.Unpublished().Offset():])
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestAnyDamageEndsTheLog flips each byte: the records before the damage count, the others do not.
func TestAnyDamageEndsTheLog(t *testing.T) {
	t.Parallel()
	log, cursors, want := aLog(t)
	for at := wal.HeadSize; at < len(log); at++ {
		damaged := bytes.Clone(log)
		damaged[at] ^= 1
		whole := 0
		for cursors[whole+1].Offset() <= int64(at) {
			whole++
		}
		got, end, err := cursors[0].Records(damaged[wal.HeadSize:])
		require.NoError(t, err)
		require.Equal(t, want[:whole], append([]wal.Record{}, got...))
		require.Equal(t, cursors[whole], end)
	}
	for at := range 44 {
		damaged := bytes.Clone(log)
		damaged[at] ^= 1
		_, err := wal.ParseHead(damaged)
		require.Error(t, err, at)
		require.NotErrorIs(t, err, wal.ErrUnfinished, "records follow, so the log must be kept")
	}
}

// TestPrefixAndGarbage is the property that appends and recoveries rely on: whatever follows a prefix of a log, the records are a
// prefix of those that were written. Bytes of an older log in the same place count as garbage, since the random of its head differs.
func TestPrefixAndGarbage(t *testing.T) {
	t.Parallel()
	log, cursors, want := aLog(t)
	other := wal.Head{IDSize: 20, Random: [16]byte{9}}
	stale, _, err := other.Start().Append(nil, entry("a", first, "stale"))
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(wal.HeadSize, len(log)).Draw(rt, "bytes kept")
		garbage := rapid.OneOf(rapid.Just(stale), rapid.Just(log[wal.HeadSize:]), rapid.SliceOf(rapid.Byte())).Draw(rt, "garbage")
		got, end, err := cursors[0].Records(append(bytes.Clone(log[wal.HeadSize:keep]), garbage...))
		require.NoError(rt, err)
		whole := 0
		for whole < len(want) && cursors[whole+1].Offset() <= int64(keep) {
			whole++
		}
		if len(got) > whole { // the garbage was the log's own bytes: they complete what was cut
			assert.LessOrEqual(rt, cursors[len(got)].Offset(), int64(keep+len(garbage)))
		}
		assert.Equal(rt, want[:len(got)], append([]wal.Record{}, got...))
		assert.GreaterOrEqual(rt, len(got), whole)
		assert.Equal(rt, cursors[len(got)], end)
	})
}

func TestOtherVersions(t *testing.T) {
	t.Parallel()
	log, cursors, want := aLog(t)
	newer := append([]byte("gsjrnl2\n"), log[8:]...)
	_, err := wal.ParseHead(newer)
	require.ErrorIs(t, err, wal.ErrVersion)
	_, err = wal.ParseHead(newer[:20])
	require.ErrorIs(t, err, wal.ErrVersion)
	_, err = wal.ParseHead(log[:wal.HeadSize-1])
	require.ErrorIs(t, err, wal.ErrUnfinished)
	_, err = wal.ParseHead(nil)
	require.ErrorIs(t, err, wal.ErrUnfinished)

	_, err = wal.ParseHead(make([]byte, wal.HeadSize))
	require.ErrorIs(t, err, wal.ErrUnfinished)
	_, err = wal.ParseHead(make([]byte, wal.HeadSize+1))
	require.ErrorIs(t, err, wal.ErrDamaged)

	hash := bytes.Clone(log[:wal.HeadSize])
	hash[12] = 3
	binary.LittleEndian.PutUint32(hash[40:], crc32.Checksum(hash[:40], crc32.MakeTable(crc32.Castagnoli)))
	_, err = wal.ParseHead(hash)
	require.ErrorIs(t, err, wal.ErrVersion)

	// A whole record that says something unknown is refused, and does not end the log silently.
	for name, change := range map[string]func(record []byte){
		"another kind":        func(b []byte) { b[16] = 2 },
		"more than objects":   func(b []byte) { b[20]-- },
		"less than objects":   func(b []byte) { b[20]++ },
		"objects without end": func(b []byte) { b[23] = 0xff },
		"a run without id":    func(b []byte) { b[18] = 0 },
		"a zero tip":          func(b []byte) { clear(b[24:44]) },
		"an unknown object":   func(b []byte) { b[24+40+1] = 7 },
		"a tag":               func(b []byte) { b[24+40+1] = 4 },
	} {
		record := bytes.Clone(log[cursors[0].Offset():cursors[1].Offset()])
		change(record)
		sum := crc32.Checksum(append(append(bytes.Clone(log[40:44]), record[:4]...), record[8:]...), crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(record[4:], sum)
		got, end, err := cursors[0].Records(record)
		require.ErrorIs(t, err, wal.ErrVersion, name)
		assert.Empty(t, got, name)
		assert.Equal(t, cursors[0], end, name)
	}

	forged := want[0]
	forged.New = want[1].New
	require.Error(t, forged.CheckObjects(), "the commit has another id")
	forged = want[0]
	forged.Old = want[1].New
	require.Error(t, forged.CheckObjects(), "the commit has another parent")
}

func TestWhatARecordCannotHold(t *testing.T) {
	t.Parallel()
	_, cursors, records := aLog(t)
	good := records[0]
	for name, change := range map[string]func(*wal.Record){
		"no run":              func(r *wal.Record) { r.Run = "" },
		"a very long run":     func(r *wal.Record) { r.Run = strings.Repeat("x", 1<<16) },
		"a run's first entry": func(r *wal.Record) { r.Old = objstore.ID{} },
		"a removal":           func(r *wal.Record) { r.New = objstore.ID{} },
		"no objects":          func(r *wal.Record) { r.Objects = nil },
		"no commit":           func(r *wal.Record) { r.Objects = r.Objects[:1] },
		"a tag":               func(r *wal.Record) { r.Objects = append([]wal.Object{{objstore.Tag, nil}}, r.Objects...) },
	} {
		r := good
		change(&r)
		b, next, err := cursors[3].Append(nil, r)
		require.Error(t, err, name)
		assert.Empty(t, b, name)
		assert.Equal(t, cursors[3], next, name)
	}
	// The largest record has exactly MaxRecord bytes.
	r := good
	r.Objects = []wal.Object{{objstore.Blob, nil}, good.Objects[1]}
	empty, _, err := cursors[3].Append(nil, r)
	require.NoError(t, err)
	r.Objects[0].Data = make([]byte, wal.MaxRecord-len(empty))
	b, _, err := cursors[3].Append(nil, r)
	require.NoError(t, err)
	assert.Len(t, b, wal.MaxRecord)
	r.Objects[0].Data = make([]byte, wal.MaxRecord-len(empty)+8)
	_, _, err = cursors[3].Append(nil, r)
	assert.ErrorIs(t, err, wal.ErrTooLarge)
}

// FuzzLog reads any bytes as a log: no panic, and what counts as a record is what Append would have written.
func FuzzLog(f *testing.F) {
	log, _, _ := aLog(f)
	f.Add(log)
	f.Add(log[:len(log)-3])
	f.Add(log[:wal.HeadSize])
	f.Fuzz(func(t *testing.T, log []byte) {
		head, err := wal.ParseHead(log)
		if err != nil {
			return
		}
		if from := head.Unpublished(); from.Offset() <= int64(len(log)) {
			_, _, _ = from.Records(log[from.Offset():]) // only a panic is a failure
		}
		c := head.Start()
		records, end, _ := c.Records(log[wal.HeadSize:]) // the records before an error count
		var again []byte
		for _, r := range records {
			again, c, err = c.Append(again, r)
			require.NoError(t, err)
		}
		assert.Equal(t, log[wal.HeadSize:end.Offset()], append([]byte{}, again...))
		assert.Equal(t, end, c)
	})
}

// BenchmarkAppend encodes a record of the size of a usual capture.
func BenchmarkAppend(b *testing.B) {
	head := wal.Head{IDSize: 20}
	r := entry("run", first, strings.Repeat("x", 2300))
	c, buf := head.Start(), []byte(nil)
	b.SetBytes(9200)
	for b.Loop() {
		var err error
		if buf, c, err = c.Append(buf[:0], r); err != nil {
			b.Fatal(err)
		}
	}
}

// following returns those of the records that go on from the tip of a run, each from the one before, oldest first.
func following(records []wal.Record, run string, tip objstore.ID) []wal.Record {
	var found []wal.Record
	for _, r := range records {
		if r.Run == run && r.Old == tip {
			found, tip = append(found, r), r.New
		}
	}
	return found
}
