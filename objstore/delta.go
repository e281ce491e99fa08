package objstore

import (
	"bytes"
	"errors"
)

var errDelta = errors.New("malformed delta")

const (
	// maxDeltaNumber bounds the sizes in a delta to what an int64 shift can build.
	maxDeltaNumber = 1 << 56
	// maxInsert is the most bytes one insert instruction carries.
	maxInsert = 127
	// maxCopy is the most bytes one copy instruction of ours names: git's own limit.
	maxCopy = 1 << 16
	// minCopy is the length from which a copy is shorter than an insert.
	minCopy = 8
)

// applyDelta returns what delta makes of base, at most limit bytes of it. All
// sizes and ranges are checked before memory is taken for them.
func applyDelta(base, delta []byte, limit int64) ([]byte, error) {
	from, rest, ok := cutDeltaNumber(delta)
	if !ok || from != int64(len(base)) {
		return nil, errDelta
	}
	to, instructions, ok := cutDeltaNumber(rest)
	if !ok || to > limit {
		return nil, errDelta
	}
	var size int64
	for rest := instructions; len(rest) > 0; {
		in, after, ok := cutInstruction(rest)
		if !ok || in.insert == nil && (in.offset > from || in.size > from-in.offset) {
			return nil, errDelta
		}
		if size += in.size; size > to {
			return nil, errDelta
		}
		rest = after
	}
	if size != to {
		return nil, errDelta
	}
	out := make([]byte, 0, to)
	for rest := instructions; len(rest) > 0; {
		in, after, _ := cutInstruction(rest)
		if in.insert != nil {
			out = append(out, in.insert...)
		} else {
			out = append(out, base[in.offset:in.offset+in.size]...)
		}
		rest = after
	}
	return out, nil
}

// instruction copies a range of the base, or, where insert is not nil, inserts bytes.
type instruction struct {
	insert       []byte
	offset, size int64
}

// cutInstruction splits the first instruction from the front of b.
func cutInstruction(b []byte) (instruction, []byte, bool) {
	op := b[0]
	b = b[1:]
	if op == 0 { // reserved
		return instruction{}, nil, false
	}
	if op&0x80 == 0 {
		n := int(op)
		if len(b) < n {
			return instruction{}, nil, false
		}
		return instruction{insert: b[:n], size: int64(n)}, b[n:], true
	}
	var in instruction
	for i := range 7 {
		if op&(1<<i) == 0 {
			continue
		}
		if len(b) == 0 {
			return instruction{}, nil, false
		}
		if i < 4 {
			in.offset |= int64(b[0]) << (8 * i)
		} else {
			in.size |= int64(b[0]) << (8 * (i - 4))
		}
		b = b[1:]
	}
	if in.size == 0 {
		in.size = maxCopy
	}
	return in, b, true
}

// cutDeltaNumber splits a size from the front of a delta: seven bits a byte, the lowest first.
func cutDeltaNumber(b []byte) (int64, []byte, bool) {
	var n int64
	for i, c := range b {
		if i > 7 {
			return 0, nil, false
		}
		n |= int64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, b[i+1:], n < maxDeltaNumber
		}
	}
	return 0, nil, false
}

func appendDeltaNumber(out []byte, n int64) []byte {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// makeDelta is a delta that makes target of base: their common prefix and suffix
// are copied. Of what is between, equal runs at the same distance are copied where it
// has the same length on both sides, as in a tree or a list of sums whose entries
// changed; elsewhere equal lines are, wherever they stand, as in a page some of whose
// rows went to another. The rest is inserted. Always a valid delta, not always a short one.
func makeDelta(base, target []byte) []byte {
	out := appendDeltaNumber(nil, int64(len(base)))
	out = appendDeltaNumber(out, int64(len(target)))
	prefix := commonPrefix(base, target)
	suffix := commonSuffix(base[prefix:], target[prefix:])
	out = appendCopy(out, 0, target[:prefix])
	middle := target[prefix : len(target)-suffix]
	if len(base) == len(target) {
		out = appendAligned(out, base[prefix:len(base)-suffix], middle, prefix)
	} else {
		out = appendLines(out, base, middle)
	}
	return appendCopy(out, len(base)-suffix, target[len(target)-suffix:])
}

// appendAligned covers target, given a base of the same length which starts at
// offset in the whole base.
func appendAligned(out, base, target []byte, offset int) []byte {
	pending := 0 // start of what is not covered yet
	for i := 0; i < len(target); {
		run := commonPrefix(base[i:], target[i:])
		if run >= minCopy {
			out = appendInsert(out, target[pending:i])
			out = appendCopy(out, offset+i, target[i:i+run])
			pending = i + run
		}
		i += run + 1
	}
	return appendInsert(out, target[pending:])
}

// appendLines covers target, which begins anywhere in a line, given the whole base.
func appendLines(out, base, target []byte) []byte {
	places := make(map[string]int)
	for start := 0; start < len(base); {
		end := lineEnd(base, start)
		places[string(base[start:end])] = start
		start = end
	}
	pending := 0 // start of what is not covered yet
	for i := 0; i < len(target); {
		end := lineEnd(target, i)
		place, found := places[string(target[i:end])]
		if !found || end-i < minCopy {
			i = end
			continue
		}
		run := commonPrefix(base[place:], target[i:])
		out = appendInsert(out, target[pending:i])
		out = appendCopy(out, place, target[i:i+run])
		i += run
		pending = i
	}
	return appendInsert(out, target[pending:])
}

// lineEnd is where the line that contains start ends, after its LF.
func lineEnd(b []byte, start int) int {
	if i := bytes.IndexByte(b[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(b)
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

// appendCopy covers data, which stands in the base at offset; what is too short
// for a copy, or too far for its four bytes of offset, is inserted.
func appendCopy(out []byte, offset int, data []byte) []byte {
	if len(data) < minCopy || int64(offset)+int64(len(data)) >= 1<<32 {
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
