package summary

import (
	"cmp"
	"slices"
)

// readTimes sets the times of the run from its own attempts. A run without attempts took the time between its first and
// its last frame.
func (sum *Summary) readTimes() {
	var work, wait spans
	for _, a := range sum.Attempts {
		if a.Inherited {
			continue
		}
		if a.Wait {
			wait = append(wait, span{a.beganMs, a.EndMs})
		} else {
			work = append(work, span{a.beganMs, a.EndMs})
		}
	}
	all := slices.Concat(work, wait).merged()
	work = work.merged()
	if len(all) == 0 {
		sum.StartMs, sum.EndMs = sum.Row.CreatedAtMs, sum.Entry.AtMs
		if frames := sum.Frames.Frames; len(frames) > 0 {
			sum.StartMs, sum.EndMs = frames[0].CreatedAtMs, frames[len(frames)-1].CreatedAtMs
		}
		sum.TookMs = max(sum.EndMs-sum.StartMs, 0)
		return
	}
	sum.StartMs, sum.EndMs = all[0].from, all[len(all)-1].to
	sum.TookMs = work.length()
	sum.WaitedMs = all.length() - sum.TookMs
}

// A span is a stretch of time in milliseconds since 1970.
type span struct{ from, to int64 }

// spans is a set of spans, which may overlap.
type spans []span

// merged returns the same time as spans that do not overlap, sorted.
func (s spans) merged() spans {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out spans
	for _, next := range s {
		next.to = max(next.to, next.from)
		if last := len(out) - 1; last >= 0 && next.from <= out[last].to {
			out[last].to = max(out[last].to, next.to)
			continue
		}
		out = append(out, next)
	}
	return out
}

// length returns the sum of the lengths of spans that do not overlap.
func (s spans) length() (sum int64) {
	for _, one := range s {
		sum += one.to - one.from
	}
	return sum
}
