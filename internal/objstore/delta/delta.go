// Package delta makes and applies git's deltas. A delta has instructions that build a sequence of bytes, the target,
// from another sequence, the base. The instructions copy ranges of the base and insert new bytes.
package delta

import "errors"

// ErrMalformed is returned for bytes that are not a delta of the given base.
var ErrMalformed = errors.New("malformed delta")

const (
	// maxNumber is the first size that is too large for a delta: a size has at most eight bytes of
	// seven bits.
	maxNumber = 1 << 56
	// MinSize is the size in bytes of the shortest delta that git accepts. Only a delta for an
	// empty target is shorter.
	MinSize = 4
	// maxInsert is the largest number of bytes that one insert instruction holds.
	maxInsert = 127
	// maxCopy is the largest number of bytes in a copy instruction that [Make] writes. git has the
	// same limit.
	maxCopy = 1 << 16
)

// Apply returns the target that delta builds from base. It returns [ErrMalformed] if delta does not fit base, or if the
// target has more than limit bytes. It checks all sizes and ranges before it allocates memory for the target.
func Apply(base, delta []byte, limit int64) ([]byte, error) {
	if len(delta) < MinSize {
		return nil, ErrMalformed
	}
	from, rest, ok := cutNumber(delta)
	if !ok || from != int64(len(base)) {
		return nil, ErrMalformed
	}
	to, instructions, ok := cutNumber(rest)
	if !ok || to > limit {
		return nil, ErrMalformed
	}
	// The first loop checks all instructions, and the second loop builds the target.
	var size int64
	for rest := instructions; len(rest) > 0; {
		in, after, ok := cutInstruction(rest)
		if !ok || in.insert == nil && (in.offset > from || in.size > from-in.offset) {
			return nil, ErrMalformed
		}
		if size += in.size; size > to {
			return nil, ErrMalformed
		}
		rest = after
	}
	if size != to {
		return nil, ErrMalformed
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

// TargetSize returns the size of the target in bytes, as the head of delta claims, and true. If the head is malformed,
// it returns false.
func TargetSize(delta []byte) (int64, bool) {
	_, rest, ok := cutNumber(delta)
	if !ok {
		return 0, false
	}
	made, _, ok := cutNumber(rest)
	return made, ok
}

// instruction inserts bytes if insert is not nil. Otherwise it copies size bytes of the base from
// offset.
type instruction struct {
	insert       []byte
	offset, size int64
}

// cutInstruction returns the first instruction in b, the bytes of b after this instruction, and true. b must not be
// empty. If the instruction is malformed, cutInstruction returns false.
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
	// Each of the low seven bits of op says whether one byte follows: four bits for the bytes of the offset, three for
	// those of the size. A byte that does not follow is 0.
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
	// The format writes maxCopy as the size 0.
	if in.size == 0 {
		in.size = maxCopy
	}
	return in, b, true
}

// cutNumber returns the size at the start of b, the bytes of b after the size, and true. Each byte has seven bits of
// the size, the lowest bits first; the eighth bit is set if another byte follows. If the size is incomplete or not
// below maxNumber, cutNumber returns false.
func cutNumber(b []byte) (int64, []byte, bool) {
	var n int64
	for i, c := range b {
		if i > 7 {
			return 0, nil, false
		}
		n |= int64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, b[i+1:], n < maxNumber
		}
	}
	return 0, nil, false
}

// appendNumber appends n, a size, to out in the encoding that cutNumber reads, and returns the extended slice.
func appendNumber(out []byte, n int64) []byte {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
