package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// streamName names one of a command's two streams.
type streamName uint8

const (
	stdoutStream streamName = iota
	stderrStream
	streamCount
)

func (s streamName) String() string { return [streamCount]string{"stdout", "stderr"}[s] }

// logSlack is how many times its limit a stream grows before its beginning is dropped:
// shifting then costs a constant per byte, and a copy of the log is rarely rewritten.
const logSlack = 3

// logTail keeps the last limit bytes of each stream, so that a talkative stream does not
// displace the other one, and the order in which the bytes came.
type logTail struct {
	limit   int
	pieces  []logPiece // oldest first
	kept    [streamCount][]byte
	missing [streamCount]int64 // bytes before kept
}

// logPiece is a number of bytes that came from one stream without a break.
type logPiece struct {
	from streamName
	size int
}

// write adds p and reports whether the beginning of a stream was dropped.
func (t *logTail) write(from streamName, p []byte) (shortened bool) {
	if len(p) == 0 {
		return false
	}
	if n := len(t.pieces); n > 0 && t.pieces[n-1].from == from {
		t.pieces[n-1].size += len(p)
	} else {
		t.pieces = append(t.pieces, logPiece{from, len(p)})
	}
	t.kept[from] = append(t.kept[from], p...)
	if len(t.kept[from]) <= logSlack*t.limit {
		return false
	}
	t.shorten()
	return true
}

// shorten drops all but the last limit bytes of each stream.
func (t *logTail) shorten() {
	var excess [streamCount]int
	for from, kept := range t.kept {
		excess[from] = max(0, len(kept)-t.limit)
		t.missing[from] += int64(excess[from])
		t.kept[from] = append(kept[:0], kept[excess[from]:]...)
	}
	for i := range t.pieces {
		piece := &t.pieces[i]
		gone := min(piece.size, excess[piece.from])
		piece.size -= gone
		excess[piece.from] -= gone
	}
	t.pieces = slices.DeleteFunc(t.pieces, func(p logPiece) bool { return p.size == 0 })
}

// bytes returns what is kept of both streams, in order.
func (t *logTail) bytes() []byte {
	var all []byte
	var at [streamCount]int
	for _, p := range t.pieces {
		all = append(all, t.kept[p.from][at[p.from]:at[p.from]+p.size]...)
		at[p.from] += p.size
	}
	return all
}

// text returns the last limit bytes of each of the given streams, in order, made valid UTF-8.
// If the beginning of a stream is missing, a line in its place states the number of missing bytes.
func (t *logTail) text(of ...streamName) string {
	t.shorten()
	var out bytes.Buffer
	var at [streamCount]int
	for _, p := range t.pieces {
		begin := at[p.from]
		at[p.from] += p.size
		if !slices.Contains(of, p.from) {
			continue
		}
		if begin == 0 && t.missing[p.from] > 0 {
			if out.Len() > 0 && out.Bytes()[out.Len()-1] != '\n' {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "[%d bytes%s before this are not kept]\n", t.missing[p.from], t.ofWhich(p.from, of))
		}
		out.Write(t.kept[p.from][begin:at[p.from]])
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}

// ofWhich names a stream, unless the log has no other.
func (t *logTail) ofWhich(from streamName, of []streamName) string {
	for _, other := range of {
		if other != from && len(t.kept[other]) > 0 {
			return " of " + from.String()
		}
	}
	return ""
}
