package timeline

import (
	"math"
	"sync"
	"time"
)

// Durations counts how long appends took. Safe for concurrent use.
type Durations struct {
	mu     sync.Mutex
	counts [durationBuckets]int64
	all    int64
	sum    time.Duration
}

// The buckets of Durations: the first is of up to 1 ms, each following one of up to twice as long.
const (
	durationBuckets = 14
	firstDuration   = time.Millisecond
)

// MeasureAppends makes the store count how long its appends take from now on. It must be called before the store is used by several goroutines.
func (s *Store) MeasureAppends() *Durations {
	s.appends = new(Durations)
	return s.appends
}

// measure returns a function that counts the time until its call. It does nothing for nil.
func (d *Durations) measure(now func() time.Time) func() {
	if d == nil {
		return func() {}
	}
	began := now()
	return func() { d.add(now().Sub(began)) }
}

// add counts a duration.
func (d *Durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all++
	d.sum += took
	for i := range d.counts {
		if took <= firstDuration*time.Duration(math.Pow(2, float64(i))) {
			d.counts[i]++
			return
		}
	}
}

// Bucket is how many durations are not longer than Most.
type Bucket struct {
	Most  time.Duration
	Count int64
}

// Read returns the buckets, of which each includes those before it, and the number and the sum of all durations.
func (d *Durations) Read() (buckets []Bucket, all int64, sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := int64(0)
	for i, n := range d.counts {
		count += n
		buckets = append(buckets, Bucket{firstDuration * time.Duration(math.Pow(2, float64(i))), count})
	}
	return buckets, d.all, d.sum
}
