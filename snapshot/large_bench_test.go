package snapshot_test

import (
	"strings"
	"testing"

	"github.com/git-smithers/git-smithers/snapshot"
)

// growing is a JSON array of records of about 400 bytes: at least size bytes.
func growing(size int) string {
	var b strings.Builder
	b.WriteByte('[')
	seed := uint64(1)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"id":`)
		b.WriteString(strings.Repeat("7", 1+i%5))
		b.WriteString(`,"role":"user","text":"`)
		for range 60 {
			seed = seed*6364136223846793005 + 1442695040888963407
			w := int(seed >> 33)
			b.Write([]byte{'a' + byte(w%26), 'a' + byte(w/26%26), 'e', byte('a' + w/700%26), ' '})
		}
		b.WriteString(`\n"}`)
	}
	return b.String()
}

// BenchmarkGrowingValue appends a frame whose only change is an output of 1 MB that has grown by 1 KB.
func BenchmarkGrowingValue(b *testing.B) {
	const size, growth, frames = 1 << 20, 1 << 10, 64
	whole := growing(size + growth*frames)
	ends := make([]int, frames)
	for i := range ends {
		ends[i] = strings.LastIndex(whole[:size+growth*i], "},") + 1
	}
	value := func(round int) string { return whole[:ends[round%frames]] + "]" }
	c := start(b, snapshot.Draft{Frame: &snapshot.FrameDraft{State: append(many(10), output("results", "large", value(0))), Silent: true}})
	round := 0
	b.ReportAllocs()
	for b.Loop() {
		round++
		next, err := snapshot.Append(c.store, c.frames, c.tip, snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("results", "large", value(round))}, Silent: true},
			AtMs:  someTime + int64(round), Subject: "task finished",
		})
		if err != nil {
			b.Fatal(err)
		}
		c.tip = next
	}
}
