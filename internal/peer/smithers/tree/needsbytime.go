package tree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// span is the time of a node's first iteration, from the start of its first attempt to the end of its last
// attempt.
type span struct {
	id             string
	iteration      int
	startMs, endMs int64
	open           bool // an attempt has not ended
}

// mostNeeds is the greatest number of needs that NeedsByTime returns for one node.
const mostNeeds = 1000

// NeedsByTime returns the sorted needs of a run's nodes, by node id. It is for runs without rendered trees, and derives
// the needs from the times of attempts. A node needs every node whose attempts had all ended when its own first attempt
// began, except the nodes that another of these nodes already needs. Only the first iteration of a node counts. A node
// gets at most mostNeeds needs: those that ended last.
func NeedsByTime(attempts []snapshot.Attempt) map[string][]string {
	spans := spansOf(attempts)
	ended := slices.Clone(spans)
	ended = slices.DeleteFunc(ended, func(s span) bool { return s.open })
	slices.SortFunc(ended, func(a, b span) int { return cmp.Or(cmp.Compare(a.endMs, b.endMs), compareSpans(a, b)) })
	needs := make(map[string][]string, len(spans))
	var last *span // the node that began last among ended[:next]; nil if next is 0
	next := 0
	for i := range spans {
		n := &spans[i]
		// This loop adds the nodes that ended before n began to ended[:next], and stops at n itself.
		for ; next < len(ended) && ended[next].endMs <= n.startMs && ended[next].id != n.id; next++ {
			if last == nil || compareSpans(ended[next], *last) > 0 {
				last = &ended[next]
			}
		}
		needs[n.id] = []string{}
		for j := next - 1; j >= 0 && len(needs[n.id]) < mostNeeds; j-- {
			// last itself needs the nodes that ended before last began, directly or through other nodes.
			if before := ended[j]; before.id == last.id || before.endMs > last.startMs {
				needs[n.id] = append(needs[n.id], before.id)
			}
		}
		slices.Sort(needs[n.id])
	}
	return needs
}

// spansOf returns the span of each node, sorted by start time. A span reaches from the first start to the last end of
// the attempts in the node's lowest iteration. A span is open if one of these attempts has not ended.
func spansOf(attempts []snapshot.Attempt) []span {
	byID := make(map[string]span, len(attempts))
	for _, a := range attempts {
		s, ok := byID[a.NodeID]
		if ok && s.iteration < a.Iteration {
			continue
		}
		if !ok || a.Iteration < s.iteration {
			s = span{id: a.NodeID, iteration: a.Iteration, startMs: a.StartedAtMs, endMs: a.StartedAtMs}
		}
		s.startMs = min(s.startMs, a.StartedAtMs)
		if a.FinishedAtMs == nil {
			s.open = true
		} else {
			s.endMs = max(s.endMs, *a.FinishedAtMs)
		}
		byID[a.NodeID] = s
	}
	spans := make([]span, 0, len(byID))
	for _, s := range byID {
		spans = append(spans, s)
	}
	slices.SortFunc(spans, compareSpans)
	return spans
}

// compareSpans compares a and b by start time, then by end time, then by id.
func compareSpans(a, b span) int {
	return cmp.Or(cmp.Compare(a.startMs, b.startMs), cmp.Compare(a.endMs, b.endMs), strings.Compare(a.id, b.id))
}
