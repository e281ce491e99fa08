package objstore

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/delta"
)

func someID(i int) ID { return SHA1.ID(Blob, []byte(strconv.Itoa(i))) }

func someIndex(count int) []byte {
	var entries []indexEntry
	for i := range count {
		entries = append(entries, indexEntry{someID(i), uint32(i), int64(packHeadSize + 30*i)})
	}
	return encodeIndex(entries, SHA1.Sum(nil))
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte{})
	f.Add(someIndex(0))
	f.Add(someIndex(3))
	f.Add(encodeIndex([]indexEntry{{someID(1), 1, 12}, {someID(2), 2, 1 << 31}, {someID(3), 3, 1<<40 + 7}}, SHA1.Sum(nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		// A wrong checksum would hide everything behind it.
		if len(data) >= sha1.Size {
			data = bytes.Clone(data)
			sum := sha1.Sum(data[:len(data)-sha1.Size])
			copy(data[len(data)-sha1.Size:], sum[:])
		}
		x, err := parseIndex(SHA1, data)
		if err != nil {
			require.ErrorIs(t, err, errIndex)
			require.Nil(t, x)
			return
		}
		entries, err := x.all()
		if err != nil {
			require.ErrorIs(t, err, errIndex)
			return
		}
		for _, e := range entries {
			offset, found, err := x.find(e.id)
			require.NoError(t, err)
			if found { // not where the fan-out table tells lies
				require.Equal(t, e.offset, offset)
			}
		}
	})
}

func TestAnIndexFindsWhatItHas(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"small, in memory": 1000, "large, on disk": 60_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pack-x.idx")
			require.NoError(t, os.WriteFile(path, someIndex(count), 0o666))
			x, err := openIndex(SHA1, path)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, x.close()) })
			for i := range count {
				offset, found, err := x.find(someID(i))
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, int64(packHeadSize+30*i), offset)
			}
			for i := range 1000 {
				_, found, err := x.find(someID(-1 - i))
				require.NoError(t, err)
				require.False(t, found)
			}
			entries, err := x.all()
			require.NoError(t, err)
			assert.Len(t, entries, count)
		})
	}
}

func TestOffsetsBeyondTwoGigabytesHaveATableOfTheirOwn(t *testing.T) {
	t.Parallel()
	entries := []indexEntry{{someID(1), 1, 12}, {someID(2), 2, 1<<31 - 1}, {someID(3), 3, 1 << 31}, {someID(4), 4, 1 << 40}}
	want := map[ID]int64{}
	for _, e := range entries {
		want[e.id] = e.offset
	}
	x, err := parseIndex(SHA1, encodeIndex(entries, SHA1.Sum(nil)))
	require.NoError(t, err)
	assert.Equal(t, int64(2), x.large)
	for id, offset := range want {
		got, found, err := x.find(id)
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, offset, got)
	}
}

func FuzzEntryHead(f *testing.F) {
	f.Add([]byte{0x33}, int64(12))
	f.Add(appendEntryHead(nil, entryHead{kind: uint8(Blob), size: 1 << 40}, 12), int64(12))
	f.Add(appendEntryHead(nil, entryHead{kind: offsetDelta, size: 9, base: 12}, 1<<20), int64(1<<20))
	f.Add(appendEntryHead(nil, entryHead{kind: idDelta, size: 9, baseID: someID(1)}, 99), int64(99))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		r := bytes.NewReader(data)
		head, err := readEntryHead(r, at, SHA1)
		if err != nil {
			require.Zero(t, head)
			return
		}
		require.Equal(t, int64(len(data)-r.Len()), head.length)
		require.Equal(t, data[:head.length], appendEntryHead(nil, head, at))
		if head.kind == offsetDelta {
			require.GreaterOrEqual(t, head.base, int64(packHeadSize))
			require.Less(t, head.base, at)
		}
	})
}

func FuzzPackEntry(f *testing.F) {
	pack := appendEntryHead(make([]byte, packHeadSize), entryHead{kind: uint8(Blob), size: 5}, packHeadSize)
	pack = appendStored(pack, []byte("hello"))
	made := delta.Make([]byte("hello"), []byte("hello, world"))
	at := int64(len(pack))
	pack = appendEntryHead(pack, entryHead{kind: offsetDelta, size: int64(len(made)), base: packHeadSize}, at)
	pack = appendStored(pack, made)
	f.Add(pack, at)
	f.Add(pack, int64(packHeadSize))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		p := newPack(newReading(SHA1, newCache(1<<20), 1<<16), "", "pack-x", time.Time{})
		p.idx = &index{}
		c := p.cursors.get(bytes.NewReader(data), int64(len(data)))
		o, err := p.readAt(c, at, p.maxObject)
		if err != nil {
			require.Zero(t, o)
			return
		}
		require.LessOrEqual(t, len(o.data), 1<<16)
		require.NotEqual(t, "unknown", o.kind.String())
	})
}

func TestADeltaOfATreeCopiesWhatStayed(t *testing.T) {
	t.Parallel()
	var older, newer []TreeEntry
	for i := range 16 {
		e := TreeEntry{strconv.FormatInt(int64(i), 16), ModeFile, someID(i)}
		older = append(older, e)
		if i == 3 || i == 12 {
			e.ID = someID(100 + i)
		}
		newer = append(newer, e)
	}
	made := delta.Make(EncodeTree(newer), EncodeTree(older))
	assert.Less(t, len(made), 2*SHA1.Size()+20)
}

// Others may have stored nothing in more bytes than its delta takes.
func TestAnEmptyObjectIsNoDelta(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newer := bytes.Repeat([]byte("something "), 20)
	var stream bytes.Buffer
	z := zlib.NewWriter(&stream)
	for range 5 {
		require.NoError(t, z.Flush())
	}
	require.NoError(t, z.Close())
	var file bytes.Buffer
	w := packWriter{hash: SHA1, deflate: deflater{idSize: SHA1.Size()}}
	require.NoError(t, w.start(&file, 2))
	require.NoError(t, w.addObject(SHA1.ID(Blob, newer), object{Blob, newer}))
	entry := appendEntryHead(nil, entryHead{kind: uint8(Blob)}, w.offset)
	require.NoError(t, w.addEntry(SHA1.ID(Blob, nil), append(entry, stream.Bytes()...), nil, 0))
	sum, err := w.finish()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pack-x.pack"), file.Bytes(), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pack-x.idx"), encodeIndex(w.entries, sum), 0o666))

	set := &mergeSet{recent: newCache(0), byID: make(map[ID]int32)}
	set.inputs = []*pack{newPack(newReading(SHA1, newCache(1<<20), 1<<20), dir, "pack-x", time.Time{})}
	require.NoError(t, set.load(0, make(map[int32]ID)))
	t.Cleanup(func() { assert.NoError(t, set.close()) })
	d := deltifier{mergeSet: set, deflate: &deflater{idSize: SHA1.Size()}}
	older := set.byID[SHA1.ID(Blob, nil)]
	require.NoError(t, d.pair(older, set.byID[SHA1.ID(Blob, newer)]))
	assert.EqualValues(t, noBase, set.objects[older].base)
}

func TestAStreamInflatesToWhatWasDeflated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data"), rapid.IntRange(0, 400).Draw(t, "times"))
		kind := rapid.SampledFrom([]Kind{Commit, Tree, Blob}).Draw(t, "kind")
		var d deflater
		for _, appendTo := range []func([]byte) ([]byte, error){
			func(out []byte) ([]byte, error) { return d.appendObject(out, kind, data) },
			func(out []byte) ([]byte, error) { return d.appendSmallest(out, data) },
		} {
			stream, err := appendTo([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			var in inflater
			got, err := in.inflate(bytes.NewReader(stream[len("before"):]), int64(len(data)))
			if err != nil || !bytes.Equal(data, got) {
				t.Fatalf("%v", err)
			}
			for _, size := range []int64{int64(len(data)) + 1, int64(len(data)) - 1} {
				if size < 0 {
					continue
				}
				if _, err := in.inflate(bytes.NewReader(stream[len("before"):]), size); err == nil {
					t.Fatal("inflated to another length")
				}
			}
		}
	})
}

func FuzzMidx(f *testing.F) {
	valid := append([]byte("MIDX\x01\x01\x01\x00\x00\x00\x00\x02PNAM"), make([]byte, 20)...)
	binary.BigEndian.PutUint64(valid[16:], 36)
	binary.BigEndian.PutUint64(valid[28:], 56)
	f.Add(append(valid, "pack-a.idx\x00pack-b.idx\x00"...))
	f.Add([]byte("MIDX"))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := parseMidxNames(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			require.ErrorIs(t, err, errMidx)
			require.Nil(t, names)
		}
	})
}

// Short delta scripts have few repetitions, and looking for them takes five times as long.
func TestAShortScriptIsHardlyLongerWithoutRepetitions(t *testing.T) {
	t.Parallel()
	var d deflater
	short, best := 0, 0
	for i := range 200 {
		id := someID(i)
		tree := append([]byte{0x90, 0x20, 20}, id.sum[:20]...)
		commit := fmt.Appendf(nil, "\xb0\x27\x01tree %v\nparent %v\x90\x44%d +0000\x91\x10\x55", id, someID(i-1), 1700000000+i)
		row := fmt.Appendf(nil, "\x90\x27\x50{\"nodeId\":\"task-%05d\",\"state\":\"finished\",\"lastAttempt\":%d}\x91\x22\x33", i, i)
		for _, script := range [][]byte{tree, commit, row} {
			require.LessOrEqual(t, len(script), huffmanMax)
			stream, err := d.appendSmallest(nil, script)
			require.NoError(t, err)
			short += len(stream)
			var out bytes.Buffer
			w, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
			require.NoError(t, err)
			_, err = w.Write(script)
			require.NoError(t, errors.Join(err, w.Close()))
			best += min(out.Len(), len(script)+storedOverhead)
		}
	}
	assert.Nil(t, d.smallest, "the writer with the large tables is not made")
	assert.LessOrEqual(t, short, best*110/100)
}

func TestPlanMergeKeepsTheNumberOfPacksSmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var packs []mergePack
		each := rapid.Int64Range(1, 60).Draw(t, "objects")
		var captured, rewritten int64
		for i := range 3000 {
			captured += each
			packs = append(packs, mergePack{name: strconv.Itoa(i), objects: each, bytes: each * 100})
			chosen := planMerge(packs)
			if len(chosen) < 2 {
				continue
			}
			merged := mergePack{name: "m" + strconv.Itoa(i)}
			gone := make(map[string]bool)
			for _, p := range chosen {
				gone[p.name] = true
				merged.objects += p.objects
				merged.bytes += p.bytes
			}
			rewritten += merged.objects
			kept := packs[:0]
			for _, p := range packs {
				if !gone[p.name] {
					kept = append(kept, p)
				}
			}
			packs = append(kept, merged)
			if len(packs) > 28 {
				t.Fatalf("%d packs", len(packs))
			}
		}
		if rewritten > 9*captured {
			t.Fatalf("%d objects were rewritten %d times", captured, rewritten)
		}
	})
}

func TestDeltasThatFormACircleAreCorrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := someID(1), someID(2)
	made := delta.Make([]byte("x"), []byte("y"))
	var file bytes.Buffer
	w := packWriter{hash: SHA1, deflate: deflater{idSize: SHA1.Size()}}
	require.NoError(t, w.start(&file, 2))
	for id, base := range map[ID]ID{a: b, b: a} {
		entry := appendEntryHead(nil, entryHead{kind: idDelta, size: int64(len(made)), baseID: base}, w.offset)
		require.NoError(t, w.addEntry(id, appendStored(entry, made), nil, 0))
	}
	sum, err := w.finish()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "pack"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pack", "pack-x.pack"), file.Bytes(), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pack", "pack-x.idx"), encodeIndex(w.entries, sum), 0o666))

	s, err := Open(Options{ObjectsDir: dir, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	_, _, err = s.Get(a)
	require.ErrorIs(t, err, ErrCorrupt)
	_, err = openMergeSet(s.main, []mergePack{{name: "pack-x"}})
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestTheCacheForgetsWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	c := newCache(10 * 1024)
	for i := range 100 {
		c.put(keyOf(someID(i)), object{Blob, make([]byte, 1000)})
		_, ok := c.get(keyOf(someID(0)))
		assert.True(t, ok, "what is used stays")
	}
	_, ok := c.get(keyOf(someID(50)))
	assert.False(t, ok)
	c.put(keyOf(someID(101)), object{Blob, make([]byte, 9000)})
	_, ok = c.get(keyOf(someID(101)))
	assert.False(t, ok, "what would push out most of the others is not kept")
}
