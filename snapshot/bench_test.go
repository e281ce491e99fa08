package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
)

// BenchmarkAppend changes one node, its 500-byte output, its attempt and log, with one event.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint("nodes=", n), func(b *testing.B) {
			c := start(b, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many(n), Silent: true}})
			round := 0
			b.ReportAllocs()
			for b.Loop() {
				round++
				next, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{
					Frame: &snapshot.FrameDraft{State: many1(round*7919%n, round), Silent: true},
					AtMs:  someTime + int64(round), Subject: "task finished",
					Events: []snapshot.Event{{Type: "NodeFinished", AtMs: someTime, Payload: []byte(`{"nodeId":"a","iteration":0}`)}},
				})
				if err != nil {
					b.Fatal(err)
				}
				c.tip = next
			}
		})
	}
}

// BenchmarkSignal appends an entry with one signal to a run that has received many.
func BenchmarkSignal(b *testing.B) {
	for _, n := range []int{0, 1000, 10000} {
		b.Run(fmt.Sprint("signals=", n), func(b *testing.B) {
			changes := many(100)
			for i := range n {
				changes = append(changes, signal(someSignal(int64(i), fmt.Sprint("s", i))))
			}
			c := start(b, snapshot.Draft{Frame: &snapshot.FrameDraft{State: changes, Silent: true}})
			seq := int64(n)
			before := c.store.Len()
			b.ReportAllocs()
			for b.Loop() {
				next, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{
					AtMs: someTime, Mailbox: []snapshot.Change{signal(someSignal(seq, fmt.Sprint("s", seq)))},
				})
				if err != nil {
					b.Fatal(err)
				}
				c.tip = next
				seq++
			}
			b.ReportMetric(float64(c.store.Len()-before)/float64(seq-int64(n)), "objects/op")
		})
	}
}

// BenchmarkRenderedDelta stores a frame of a tree of 1,000 elements of which one changes.
func BenchmarkRenderedDelta(b *testing.B) {
	c := start(b, snapshot.Draft{})
	tree := func(round int) []byte {
		var s strings.Builder
		s.WriteString(`{"kind":"element","tag":"smithers:workflow","props":{"name":"w"},"children":[`)
		for i := range 1000 {
			if i > 0 {
				s.WriteByte(',')
			}
			fmt.Fprintf(&s, `{"kind":"element","tag":"smithers:task","props":{"id":"t%d","state":"%d"},"children":[]}`, i, max(0, round-i))
		}
		s.WriteString("]}")
		return []byte(s.String())
	}
	round := 0
	for b.Loop() {
		round++
		next, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: tree(round % 2), Silent: true}})
		if err != nil {
			b.Fatal(err)
		}
		c.tip = next
	}
}

// BenchmarkLoad opens an entry anew and decodes its nodes.
func BenchmarkLoad(b *testing.B) {
	c := start(b, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many(1000), Silent: true}})
	for b.Loop() {
		e, err := snapshot.ReadEntry(c.store, c.tip.ID)
		require.NoError(b, err)
		state, err := e.State()
		require.NoError(b, err)
		for row, err := range state.Nodes().Rows() {
			require.NoError(b, err)
			if _, err := snapshot.DecodeNode(row); err != nil {
				b.Fatal(err)
			}
		}
	}
}
