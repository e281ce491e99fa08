// Package bisect searches a line of steps for the first bad one, and keeps the verdicts in a log that can be replayed.
package bisect

import (
	"math/bits"
	"slices"
)

// A Verdict is what a probe says of a step.
type Verdict string

// The verdicts. A step is flaky if its probes disagree. Like a skipped step, it is as if it could not be probed.
const (
	Good  Verdict = "good"
	Bad   Verdict = "bad"
	Skip  Verdict = "skipped"
	Flaky Verdict = "flaky"
)

// Of returns the verdict of a step of which the probes have said said. It must not be empty.
func Of(said []Verdict) Verdict {
	if slices.ContainsFunc(said, func(v Verdict) bool { return v != said[0] }) {
		return Flaky
	}
	return said[0]
}

// A Search finds the first bad step, if all steps before it are good. Not safe for concurrent use.
type Search struct {
	good, bad int // the newest step that is known to be good, and the oldest after it that is bad
	skipped   map[int]bool
}

// New returns a search among the steps between good, which is good, and bad, which is bad. A good of -1 means that no step is known to be good.
func New(good, bad int) *Search { return &Search{good, bad, make(map[int]bool)} }

// Wants reports whether a verdict of the step would tell something.
func (s *Search) Wants(step int) bool { return s.good < step && step < s.bad && !s.skipped[step] }

// Add adds a verdict. It is ignored if the search does not want the step.
func (s *Search) Add(step int, v Verdict) {
	switch {
	case !s.Wants(step):
	case v == Good:
		s.good = step
	case v == Bad:
		s.bad = step
	default:
		s.skipped[step] = true
	}
}

// open returns the steps that can still be probed.
func (s *Search) open() (open []int) {
	for step := s.good + 1; step < s.bad; step++ {
		if !s.skipped[step] {
			open = append(open, step)
		}
	}
	return open
}

// Next returns up to n different steps to probe at once: they divide what is left into parts of the same length. After steps that were skipped, it
// chooses others further away each time, as neighbours of a step that cannot be probed often cannot be probed either. Without a result, the search is over.
func (s *Search) Next(n int) (steps []int) {
	open := s.open()
	skipped := s.bad - s.good - 1 - len(open)
	for i := range min(n, len(open)) {
		at := float64(i+1) / float64(n+1)
		if skipped > 0 {
			at = (float64(i) + halves(skipped+1)) / float64(n)
		}
		steps = append(steps, open[min(int(at*float64(len(open))), len(open)-1)])
	}
	return slices.Compact(steps)
}

// halves returns 1/2 for 1, 1/4 for 2, 3/4 for 3, then odd eighths, and so on.
func halves(n int) float64 { return float64(bits.Reverse32(uint32(n))) / (1 << 32) }

// Left returns about how many probes are still to be made if n run at once.
func (s *Search) Left(n int) (probes int) {
	for left := len(s.open()); left > 0; left /= n + 1 {
		probes += min(n, left)
	}
	return probes
}

// Result returns what the search has found: first is the first bad step, or one of suspects if there are any: steps that were skipped, sorted, and first as
// the last of them. good is the newest good step, or -1.
func (s *Search) Result() (good, first int, suspects []int) {
	for step := s.good + 1; step < s.bad; step++ {
		suspects = append(suspects, step)
	}
	if len(suspects) > 0 {
		suspects = append(suspects, s.bad)
	}
	return s.good, s.bad, suspects
}
