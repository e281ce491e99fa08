package summary

import (
	"cmp"
	"slices"
)

// Whole is the length of an axis in its own unit.
const Whole = 1000

const (
	gapAbove = 3  // a gap longer than the axis divided by gapAbove is cut
	gapWidth = 40 // the length of a cut gap on the axis
	minBar   = 4  // the length of the shortest bar
)

// Axis maps times of a run to positions from 0 to Whole. Long times in which nothing happened are cut to gapWidth.
type Axis struct {
	FromMs, ToMs int64
	Gaps         []Gap
}

// Gap is a time that is cut out of an axis.
type Gap struct {
	FromMs, ToMs int64
	At           int // the position of its middle
}

// AxisOf returns the axis of the times of a run's own attempts.
func AxisOf(sum *Summary) Axis {
	var work, waits spans
	for _, a := range sum.Attempts {
		switch {
		case a.Inherited:
		case a.Wait:
			waits = append(waits, span{a.StartedAtMs, a.EndMs})
		default:
			work = append(work, span{a.StartedAtMs, a.EndMs})
		}
	}
	return newAxis(work, waits)
}

// newAxis returns the axis of the times in which a run worked and waited. Waiting counts as a time in which nothing happened.
func newAxis(work, waits spans) Axis {
	all := slices.Concat(work, waits)
	if len(all) == 0 {
		return Axis{}
	}
	a := Axis{FromMs: all[0].from, ToMs: all[0].to}
	for _, s := range all {
		a.FromMs, a.ToMs = min(a.FromMs, s.from), max(a.ToMs, s.to)
	}
	work = append(slices.Clone(work), span{a.ToMs, a.ToMs})
	slices.SortFunc(work, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	last := a.FromMs
	for _, s := range work {
		if (s.from-last)*gapAbove > a.ToMs-a.FromMs {
			a.Gaps = append(a.Gaps, Gap{FromMs: last, ToMs: s.from})
		}
		last = max(last, s.to)
	}
	for i, g := range a.Gaps {
		a.Gaps[i].At = (a.At(g.FromMs) + a.At(g.ToMs)) / 2
	}
	return a
}

// At returns the position of a time.
func (a Axis) At(ms int64) int {
	ms = min(max(ms, a.FromMs), a.ToMs)
	left, passed, width := int64(0), ms-a.FromMs, int64(Whole-gapWidth*len(a.Gaps))
	for _, g := range a.Gaps {
		left += g.ToMs - g.FromMs
	}
	length := a.ToMs - a.FromMs - left
	at := int64(0)
	for _, g := range a.Gaps {
		if ms <= g.FromMs {
			break
		}
		in := min(ms, g.ToMs) - g.FromMs
		passed -= in
		at += gapWidth * in / max(g.ToMs-g.FromMs, 1)
	}
	if length > 0 {
		at += width * passed / length
	}
	return int(at)
}

// Bar returns the position and the length of a stretch of time.
func (a Axis) Bar(fromMs, toMs int64) (at, length int) {
	at = min(a.At(fromMs), Whole-minBar)
	return at, max(a.At(toMs)-at, minBar)
}
