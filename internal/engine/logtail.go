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

// String returns the stream's name: "stdout" or "stderr".
func (s streamName) String() string { return [streamCount]string{"stdout", "stderr"}[s] }

// logSlack times its limit is the size to which a stream of a logTail may grow before its beginning is dropped. With
// this slack, shifting the bytes costs a constant per byte, and a live copy of the log is rarely rewritten.
const logSlack = 3

// logTail keeps the last limit bytes of each stream, and the order of the bytes of both streams. A stream with much
// output cannot displace the other stream.
type logTail struct {
	limit   int        // in bytes, of each stream
	pieces  []logPiece // oldest first; the pieces of a stream add up to its kept bytes
	kept    [streamCount][]byte
	missing [streamCount]int64 // number of dropped bytes before kept
}

// logPiece is a number of consecutive bytes of one stream.
type logPiece struct {
	from streamName
	size int
}

// write adds p to a stream. When the stream has grown beyond logSlack times the limit, write shortens the tail and
// returns true; otherwise it returns false.
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

// shorten keeps the last t.limit bytes of each stream and drops the older bytes. It adds the number of dropped bytes
// to t.missing.
func (t *logTail) shorten() {
	var excess [streamCount]int
	for from, kept := range t.kept {
		excess[from] = max(0, len(kept)-t.limit)
		t.missing[from] += int64(excess[from])
		t.kept[from] = append(kept[:0], kept[excess[from]:]...)
	}
	// The oldest pieces of each stream lose the dropped bytes.
	for i := range t.pieces {
		piece := &t.pieces[i]
		gone := min(piece.size, excess[piece.from])
		piece.size -= gone
		excess[piece.from] -= gone
	}
	t.pieces = slices.DeleteFunc(t.pieces, func(p logPiece) bool { return p.size == 0 })
}

// bytes returns the kept bytes of both streams, in the order in which they were written.
func (t *logTail) bytes() []byte {
	var all []byte
	// the offset of the next piece in each stream
	var at [streamCount]int
	for _, p := range t.pieces {
		all = append(all, t.kept[p.from][at[p.from]:at[p.from]+p.size]...)
		at[p.from] += p.size
	}
	return all
}

// text returns the last t.limit bytes of each stream in of, in the order in which the bytes were written. It replaces
// bytes that are not valid UTF-8. If the beginning of a stream is missing, a line in its place states the number of
// missing bytes. text first shortens t, so all older bytes are dropped.
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
		// The note is a line of its own, before the first kept piece of the stream.
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

// ofWhich returns " of stdout" or " of stderr" for the stream from, if the log's text also shows the other stream.
// Otherwise it returns "". of lists the streams that the text shows.
func (t *logTail) ofWhich(from streamName, of []streamName) string {
	for _, other := range of {
		if other != from && len(t.kept[other]) > 0 {
			return " of " + from.String()
		}
	}
	return ""
}
