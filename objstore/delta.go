package objstore

import "errors"

var errDelta = errors.New("malformed delta")

const (
	// maxDeltaNumber bounds the sizes in a delta to what an int64 shift can build.
	maxDeltaNumber = 1 << 56
	// minDelta is the size below which git takes a delta for damage: it could only make nothing.
	minDelta = 4
	// maxInsert is the most bytes one insert instruction carries.
	maxInsert = 127
	// maxCopy is the most bytes one copy instruction of ours names: git's own limit.
	maxCopy = 1 << 16
)

// applyDelta returns what delta makes of base, at most limit bytes of it. All
// sizes and ranges are checked before memory is taken for them.
func applyDelta(base, delta []byte, limit int64) ([]byte, error) {
	if len(delta) < minDelta {
		return nil, errDelta
	}
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

// deltaMakes is how many bytes a delta says that it makes.
func deltaMakes(delta []byte) (int64, bool) {
	_, rest, ok := cutDeltaNumber(delta)
	if !ok {
		return 0, false
	}
	made, _, ok := cutDeltaNumber(rest)
	return made, ok
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
