package delta

import (
	"encoding/binary"
	"math/bits"
)

const (
	// minCopy is the length in bytes from which a copy instruction is shorter than a deflated
	// insert.
	minCopy = 8
	// minAligned is the length in bytes from which a copy is worthwhile at the same distance as the
	// previous copy. Such a copy is often followed by longer ones.
	minAligned = 6
	// maxTries is the largest number of places of the base that are compared with one place of the
	// target.
	maxTries = 16
	// maxPlaces is about the largest number of places of the base that are indexed. In a larger
	// base, only every n-th place is indexed.
	maxPlaces = 1 << 16
	// around is the number of bytes of the common prefix and of the common suffix that are indexed. They have the names of the fields
	// that the bytes between them have, too.
	around = 128
)

// Make returns a delta that builds target from base. The delta copies the common prefix and the common suffix of base
// and target. For the bytes between them, it copies the longest runs that Make finds in base, and inserts all other
// bytes. The delta is valid, but not always the shortest possible delta.
func Make(base, target []byte) []byte {
	out := appendNumber(nil, int64(len(base)))
	out = appendNumber(out, int64(len(target)))
	prefix := commonPrefix(base, target)
	suffix := commonSuffix(base[prefix:], target[prefix:])
	out = appendCopy(out, 0, target[:prefix])
	m := maker{base: base, target: target[:len(target)-suffix], done: prefix, distance: 0}
	if len(m.target)-prefix >= minAligned {
		m.index(max(0, prefix-around), min(len(base), len(base)-suffix+around))
	}
	out = m.appendMiddle(out)
	return appendCopy(out, len(base)-suffix, target[len(target)-suffix:])
}

// maker searches a base for runs of bytes that a target has, too.
type maker struct {
	base, target []byte
	done         int // number of bytes of the target that the delta covers so far
	distance     int // offset in the base minus offset in the target, for the previous copy

	from  int     // offset in the base of the first place that is indexed
	step  int     // every step-th place of the base is indexed
	shift int     // shifts a 64-bit hash to an index in last
	last  []int32 // by hash: 1 + the number of the last place with the hash; 0 if no place has the hash
	prev  []int32 // by number of a place: 1 + the number of the previous place with the same hash, or 0
}

// index sets last and prev. With them, find looks up places of the base from one offset to another by a hash of the minCopy bytes at
// the place. If these are many, only every step-th offset is a place, so that there are at most about maxPlaces places.
func (m *maker) index(from, to int) {
	m.from, m.step = from, 1+(to-from)/maxPlaces
	places := 0
	if to-from >= minCopy {
		places = (to-from-minCopy)/m.step + 1
	}
	width := max(1, bits.Len(uint(places)))
	m.shift = 64 - width
	m.last, m.prev = make([]int32, 1<<width), make([]int32, places)
	for n := range places {
		h := m.hash(m.base[from+n*m.step:])
		m.prev[n] = m.last[h]
		m.last[h] = int32(n) + 1
	}
}

// hash returns the index in last for the first minCopy bytes of b. b must have at least minCopy bytes.
func (m *maker) hash(b []byte) uint64 {
	// Multiplicative hashing: the highest bits of the product depend on all bytes. 2^64 divided by the golden ratio is
	// the usual factor.
	const fibonacci = 0x9e3779b97f4a7c15
	return binary.LittleEndian.Uint64(b) * fibonacci >> m.shift
}

// appendMiddle appends to out the instructions that build m.target from m.done to its end, and returns the
// extended slice.
func (m *maker) appendMiddle(out []byte) []byte {
	for i := m.done; i < len(m.target); {
		at, run := m.find(i)
		if run == 0 {
			i++
			continue
		}
		// The run may begin earlier, because find looks only at some places of the base.
		for i > m.done && at > 0 && m.base[at-1] == m.target[i-1] {
			i, at, run = i-1, at-1, run+1
		}
		out = appendInsert(out, m.target[m.done:i])
		out = appendCopy(out, at, m.target[i:i+run])
		i += run
		m.done, m.distance = i, at+run-i
	}
	return appendInsert(out, m.target[m.done:])
}

// find looks in the base for a long run of bytes that the target has at the offset i. It looks at the offset that
// continues the last copy, and at up to maxTries places with the same hash as the bytes at i. It returns the offset of
// the longest run in the base, and the length of this run. If no run is long enough for a copy, run is 0.
func (m *maker) find(i int) (at, run int) {
	rest := m.target[i:]
	if aligned := i + m.distance; aligned >= 0 && aligned < len(m.base) {
		if n := commonPrefix(m.base[aligned:], rest); n >= minAligned {
			at, run = aligned, n
		}
	}
	if len(rest) < minCopy || len(m.prev) == 0 {
		return at, run
	}
	place := m.last[m.hash(rest)]
	for tries := 0; place > 0 && tries < maxTries; tries++ {
		start := m.from + int(place-1)*m.step
		if n := commonPrefix(m.base[start:], rest); n >= minCopy && n > run {
			at, run = start, n
		}
		place = m.prev[place-1]
	}
	return at, run
}

// appendInsert appends to out the instructions that insert data, and returns the extended slice.
func appendInsert(out, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), maxInsert)
		out = append(out, byte(n))
		out = append(out, data[:n]...)
		data = data[n:]
	}
	return out
}

// appendCopy appends to out the instructions that copy data from the base, where data begins at offset. It
// inserts data instead if data is too short for a copy, or too far for the four bytes of an offset.
func appendCopy(out []byte, offset int, data []byte) []byte {
	if len(data) < minAligned || int64(offset)+int64(len(data)) >= 1<<32 {
		return appendInsert(out, data)
	}
	for len(data) > 0 {
		n := min(len(data), maxCopy)
		out = appendCopyInstruction(out, offset, n)
		offset += n
		data = data[n:]
	}
	return out
}

// appendCopyInstruction appends to out one instruction that copies size bytes, at most maxCopy, from offset in
// the base. A zero byte of the offset or of the size is left out.
func appendCopyInstruction(out []byte, offset, size int) []byte {
	at := len(out)
	out = append(out, 0x80)
	for i := range 4 {
		if b := byte(offset >> (8 * i)); b != 0 {
			out[at] |= 1 << i
			out = append(out, b)
		}
	}
	if size == maxCopy { // the format writes maxCopy as a missing size
		return out
	}
	for i := range 2 {
		if b := byte(size >> (8 * i)); b != 0 {
			out[at] |= 1 << (4 + i)
			out = append(out, b)
		}
	}
	return out
}

// commonPrefix returns the length of the longest common prefix of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonSuffix returns the length of the longest common suffix of a and b.
func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return n
}
