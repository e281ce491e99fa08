package mailbox

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// SignalBook tracks the signals of a state, and the nodes that have taken the signals. It reads each signal once.
type SignalBook struct {
	read   *page.Collection        // the signals that the book has read
	byName map[string][]signalHead // sorted by seq
	takers map[string]*taker       // by node id
}

// signalHead is a signal without its payload.
type signalHead struct {
	key         string // the signal's key in the collection of signals
	seq         int64
	correlation *string // nil if the signal has no correlation id
	atMs        int64   // when the signal arrived, in Unix milliseconds
}

// filter selects the signals of a name that a wait takes.
type filter struct {
	name string
	any  bool   // accepts all signals of the name, whatever their correlation ids
	none bool   // accepts only signals without a correlation id
	id   string // the correlation id; "" if any or none is set
}

// taker is a node with all its iterations.
type taker struct {
	upTo   int              // the first iteration whose wait has not been read
	newest map[filter]int64 // the Seq of the newest signal taken by each filter; all earlier matches were taken, too
}

// NewSignalBook returns a book that has read no signals yet.
func NewSignalBook() *SignalBook {
	return &SignalBook{read: snapshot.EmptyState().Signals(), byName: make(map[string][]signalHead), takers: make(map[string]*taker)}
}

// SameFilter reports whether two waits take the same signals.
func SameFilter(a, b snapshot.Wait) bool { return filterOf(a) == filterOf(b) }

// filterOf returns the filter of a wait: the signals that end the wait.
func filterOf(w snapshot.Wait) filter {
	return correlated(w.Signal, w.AnyCorrelation, w.CorrelationID)
}

// correlated returns a filter for signals with the given name. If anyID is true, the filter ignores correlation ids.
// Otherwise it accepts only signals with the given correlation id, or only signals without a correlation id if
// correlation is nil.
func correlated(name string, anyID bool, correlation *string) filter {
	switch {
	case anyID:
		return filter{name: name, any: true}
	case correlation == nil:
		return filter{name: name, none: true}
	}
	return filter{name: name, id: *correlation}
}

// update adds to b.byName the signals of state that the book has not read yet, and keeps each list sorted by seq. If
// a signal was changed or removed, it reads all signals again.
func (b *SignalBook) update(state *snapshot.State) error {
	now := state.Signals()
	for delta, err := range page.Diff(b.read, now) {
		if err != nil {
			return timeline.Explain(err)
		}
		if delta.From != nil { // a run never changes signals, so the state was edited: read all signals again
			b.read, b.byName = snapshot.EmptyState().Signals(), make(map[string][]signalHead)
			return b.update(state)
		}
		s, err := snapshot.DecodeSignal(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return timeline.Explain(err)
		}
		b.byName[s.Name] = append(b.byName[s.Name], signalHead{delta.Key, s.Seq, s.CorrelationID, s.ReceivedAtMs})
	}
	if b.read.ID() != now.ID() {
		for _, list := range b.byName {
			slices.SortFunc(list, func(x, y signalHead) int { return cmp.Compare(x.seq, y.seq) })
		}
		b.read = now
	}
	return nil
}

// Find returns the key of the oldest signal in state that a wait takes. ok is false if state has no such signal.
// Find skips signals that an earlier iteration or attempt of the node took, and signals that arrived after the
// wait's time limit.
func (b *SignalBook) Find(state *snapshot.State, w snapshot.Wait) (key string, ok bool, err error) {
	if err := b.update(state); err != nil || len(b.byName[w.Signal]) == 0 {
		return "", false, err
	}
	t, err := b.taker(state, w)
	if err != nil {
		return "", false, err
	}
	wants := filterOf(w)
	for _, s := range b.byName[w.Signal] { // oldest first
		own := correlated(w.Signal, false, s.correlation)
		if !wants.any && wants != own || w.DueAtMs != nil && s.atMs >= *w.DueAtMs {
			continue
		}
		// The node may have taken s by a wait for any correlation id, or by a wait for the id of s.
		if !t.took(filter{name: w.Signal, any: true}, s) && !t.took(own, s) {
			return s.key, true, nil
		}
	}
	return "", false, nil
}

// took reports whether waits with the filter f have taken the signal s or a later signal. Only waits of t's node
// count.
func (t *taker) took(f filter, s signalHead) bool {
	seq, ok := t.newest[f]
	return ok && s.seq <= seq
}

// taker returns the record of the signals that the node of w has taken, up to the iteration of w. It reads the rows of
// earlier iterations once, and adds the signal of w itself.
func (b *SignalBook) taker(state *snapshot.State, w snapshot.Wait) (*taker, error) {
	t := b.takers[w.NodeID]
	if t == nil {
		t = &taker{newest: make(map[filter]int64)}
		b.takers[w.NodeID] = t
	}
	for ; t.upTo <= w.Iteration; t.upTo++ {
		earlier, ok, err := ReadWait(state, w.NodeID, t.upTo)
		if err != nil {
			return nil, err
		}
		if ok {
			t.add(earlier)
		}
	}
	t.add(w)
	return t, nil
}

// add records the signal that the wait w took, if this signal is newer than the recorded one. If w took no signal,
// add does nothing.
func (t *taker) add(w snapshot.Wait) {
	if w.SignalSeq != nil {
		f := filterOf(w)
		t.newest[f] = max(t.newest[f], *w.SignalSeq)
	}
}

// Take records w.SignalSeq, the signal that the wait w took. The caller must have called Find for this wait before,
// because Find creates the record of the node.
func (b *SignalBook) Take(w snapshot.Wait) { b.takers[w.NodeID].add(w) }

// ReadWait returns the row of a node's wait for a signal or a timer at an iteration. ok is false if the state has no
// such row, or if an error occurs.
func ReadWait(state *snapshot.State, node string, iteration int) (w snapshot.Wait, ok bool, err error) {
	return ReadRow(state.Waits(), snapshot.Key(node, iteration), snapshot.DecodeWait)
}

// ReadRow returns the decoded row of a collection with the given key. ok is false if the collection has no such row, or
// if an error occurs.
func ReadRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err != nil || !ok {
		return row, false, timeline.Explain(err)
	}
	row, err = decode(page.Row{Key: key, Value: value})
	return row, err == nil, timeline.Explain(err)
}
