package delta

import (
	"encoding/binary"
	"math/bits"
)

const (
	// minCopy is the length in bytes from which a copy is shorter than a deflated insert.
	minCopy = 8
	// minAligned is the length from which a copy is worth while at the same distance as the copy
	// before: longer runs may follow.
	minAligned = 6
	// maxTries bounds the places of the base that are compared with a place of the target.
	maxTries = 16
	// maxPlaces is about how many places of the base are indexed. Of a larger base only every n-th place is.
	maxPlaces = 1 << 16
)

// Make returns a delta that builds target from base. It copies their common prefix and suffix, and
// between them the longest runs that it finds anywhere in the base. It inserts the rest. The delta is
// valid, but not always the shortest possible.
func Make(base, target []byte) []byte {
	out := appendNumber(nil, int64(len(base)))
	out = appendNumber(out, int64(len(target)))
	prefix := commonPrefix(base, target)
	suffix := commonSuffix(base[prefix:], target[prefix:])
	out = appendCopy(out, 0, target[:prefix])
	m := maker{base: base, target: target[:len(target)-suffix], done: prefix, distance: 0}
	if len(m.target)-prefix >= minAligned {
		m.index()
	}
	out = m.appendMiddle(out)
	return appendCopy(out, len(base)-suffix, target[len(target)-suffix:])
}

// maker finds runs of a target in a base.
type maker struct {
	base, target []byte
	done         int // bytes of the target that are covered
	distance     int // offset in the base minus offset in the target, of the copy before

	step  int     // every step-th place of the base is indexed
	shift int     // makes an index in last from a hash
	last  []int32 // by hash: 1 + number of the last place with the hash; 0 for none
	prev  []int32 // by number of a place: the same, of the place before with the same hash
}

// index indexes the places of the base.
func (m *maker) index() {
	m.step = 1 + len(m.base)/maxPlaces
	places := 0
	if len(m.base) >= minCopy {
		places = (len(m.base)-minCopy)/m.step + 1
	}
	width := max(1, bits.Len(uint(places)))
	m.shift = 64 - width
	m.last, m.prev = make([]int32, 1<<width), make([]int32, places)
	for n := range places {
		h := m.hash(m.base[n*m.step:])
		m.prev[n] = m.last[h]
		m.last[h] = int32(n) + 1
	}
}

// hash returns the index in last of the first minCopy bytes of b.
func (m *maker) hash(b []byte) uint64 {
	const fibonacci = 0x9e3779b97f4a7c15
	return binary.LittleEndian.Uint64(b) * fibonacci >> m.shift
}

// appendMiddle covers the rest of the target.
func (m *maker) appendMiddle(out []byte) []byte {
	for i := m.done; i < len(m.target); {
		at, run := m.find(i)
		if run == 0 {
			i++
			continue
		}
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

// find returns the longest run in the base that the target continues with at i. The run is 0 if none is worth a copy.
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
		start := int(place-1) * m.step
		if n := commonPrefix(m.base[start:], rest); n >= minCopy && n > run {
			at, run = start, n
		}
		place = m.prev[place-1]
	}
	return at, run
}

func appendInsert(out, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), maxInsert)
		out = append(out, byte(n))
		out = append(out, data[:n]...)
		data = data[n:]
	}
	return out
}

// appendCopy covers data by a copy from offset in the base. Data that is too short for a copy, or
// too far for the four bytes of an offset, is inserted.
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

func appendCopyInstruction(out []byte, offset, size int) []byte {
	at := len(out)
	out = append(out, 0x80)
	for i := range 4 {
		if b := byte(offset >> (8 * i)); b != 0 {
			out[at] |= 1 << i
			out = append(out, b)
		}
	}
	if size == maxCopy { // written as no size at all
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

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return n
}
