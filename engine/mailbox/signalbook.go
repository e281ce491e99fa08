package mailbox

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// SignalBook tracks the signals of a state and which nodes have taken them. Each update reads only
// the new ones.
type SignalBook struct {
	read   *page.Collection // the signals that were read
	byName map[string][]signalHead
	takers map[string]*taker // by node id
}

// signalHead is a signal without its payload.
type signalHead struct {
	key         string // its key in the collection of signals
	seq         int64
	correlation *string
	atMs        int64
}

// filter selects the signals of a name that a wait takes.
type filter struct {
	name string
	any  bool // with any correlation id, or none
	none bool // without a correlation id
	id   string
}

// taker is a node with all its iterations.
type taker struct {
	upTo   int              // the first iteration whose wait has not been read
	newest map[filter]int64 // the newest signal taken by each filter; all earlier matches were taken, too
}

// NewSignalBook returns a book that has read nothing yet.
func NewSignalBook() *SignalBook {
	return &SignalBook{read: snapshot.EmptyState().Signals(), byName: make(map[string][]signalHead), takers: make(map[string]*taker)}
}

// SameFilter reports whether two waits take the same signals.
func SameFilter(a, b snapshot.Wait) bool { return filterOf(a) == filterOf(b) }

// filterOf returns the filter of a wait.
func filterOf(w snapshot.Wait) filter {
	return correlated(w.Signal, w.AnyCorrelation, w.CorrelationID)
}

func correlated(name string, whatever bool, correlation *string) filter {
	switch {
	case whatever:
		return filter{name: name, any: true}
	case correlation == nil:
		return filter{name: name, none: true}
	}
	return filter{name: name, id: *correlation}
}

// update reads the signals that are new in a state.
func (b *SignalBook) update(state *snapshot.State) error {
	now := state.Signals()
	for delta, err := range page.Diff(b.read, now) {
		if err != nil {
			return timeline.Explain(err)
		}
		if delta.From != nil { // signals are never removed during a run, so read everything again
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

// Find returns the key of the oldest signal that a wait takes. It skips signals that an earlier iteration or
// attempt took, and signals that arrived after the wait was over.
func (b *SignalBook) Find(state *snapshot.State, w snapshot.Wait) (key string, ok bool, err error) {
	if err := b.update(state); err != nil || len(b.byName[w.Signal]) == 0 {
		return "", false, err
	}
	t, err := b.taker(state, w)
	if err != nil {
		return "", false, err
	}
	wants := filterOf(w)
	for _, s := range b.byName[w.Signal] {
		own := correlated(w.Signal, false, s.correlation)
		if !wants.any && wants != own || w.DueAtMs != nil && s.atMs >= *w.DueAtMs {
			continue
		}
		if !t.took(filter{name: w.Signal, any: true}, s) && !t.took(own, s) {
			return s.key, true, nil
		}
	}
	return "", false, nil
}

// took reports whether the node has taken a signal, or a later one by the same filter.
func (t *taker) took(f filter, s signalHead) bool {
	seq, ok := t.newest[f]
	return ok && s.seq <= seq
}

// taker returns the node of a wait with the signals that its iterations took, including this wait's.
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

// add records the signal that a wait took, if any.
func (t *taker) add(w snapshot.Wait) {
	if w.SignalSeq != nil {
		f := filterOf(w)
		t.newest[f] = max(t.newest[f], *w.SignalSeq)
	}
}

// Take records that a wait took a signal.
func (b *SignalBook) Take(w snapshot.Wait) { b.takers[w.NodeID].add(w) }

// ReadWait reads the row of a node's wait.
func ReadWait(state *snapshot.State, node string, iteration int) (w snapshot.Wait, ok bool, err error) {
	return ReadRow(state.Waits(), snapshot.Key(node, iteration), snapshot.DecodeWait)
}

// ReadRow reads a row of the mailbox.
func ReadRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err != nil || !ok {
		return row, false, timeline.Explain(err)
	}
	row, err = decode(page.Row{Key: key, Value: value})
	return row, err == nil, timeline.Explain(err)
}
