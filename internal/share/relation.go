package share

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// kinship is the relation between the local tip and the remote's tip of a run.
type kinship uint8

const (
	same      kinship = iota // both tips are the same entry
	ahead                    // the local tip descends from the remote's tip
	behind                   // the remote's tip descends from the local tip
	diverged                 // both tips descend from a common entry
	unrelated                // the tips have no entry of the run in common
)

// relation is the result of comparing the local chain of a run with the remote's chain.
type relation struct {
	kinship

	common objstore.ID // the newest common entry; zero if the chains are unrelated
	ahead  int         // number of entries that only the local chain has
	behind int         // number of entries that only the remote's chain has
}

// relate compares the chains of two tips of a run: local is the tip in this repository, and remote is the tip at a
// remote. It walks both chains back together, until it finds their newest common entry. It reads no trees. Each
// walk ends at the first entry of the run, and does not continue in the parent of a fork. So two forks of one run
// are unrelated, even if they have the same id.
func relate(objects objstore.Reader, local, remote objstore.ID) (relation, error) {
	if local == remote {
		return relation{kinship: same, common: local}, nil
	}
	here, err := walkFrom(objects, local)
	if err != nil {
		return relation{}, err
	}
	there, err := walkFrom(objects, remote)
	if err != nil {
		return relation{}, err
	}
	// Both walks step together, so the number of steps is the number of entries that only the longer chain has. The
	// length of the common history does not matter.
	for here.at != nil || there.at != nil {
		for _, side := range []*walk{here, there} {
			if err := side.step(); err != nil {
				return relation{}, err
			}
		}
		if common, ok := meet(here, there); ok {
			return relationAt(common, here.seen[common], there.seen[common]), nil
		}
	}
	return relation{kinship: unrelated, ahead: len(here.seen), behind: len(there.seen)}, nil
}

// meet returns the id of an entry that is the current entry of one walk and that the other walk has visited. ok
// is false if no such entry exists.
func meet(here, there *walk) (common objstore.ID, ok bool) {
	for _, sides := range [][2]*walk{{here, there}, {there, here}} {
		if at := sides[0].at; at != nil {
			if _, ok := sides[1].seen[at.ID]; ok {
				return at.ID, true
			}
		}
	}
	return objstore.ID{}, false
}

// relationAt returns the relation of two chains whose newest common entry is common. localCount is the number of
// entries that only the local chain has. remoteCount is the number of entries that only the remote's chain has. At
// least one of the numbers is not 0.
func relationAt(common objstore.ID, localCount, remoteCount int) relation {
	r := relation{common: common, ahead: localCount, behind: remoteCount}
	switch {
	case remoteCount == 0:
		r.kinship = ahead
	case localCount == 0:
		r.kinship = behind
	default:
		r.kinship = diverged
	}
	return r
}

// walk follows the chain of a run from its tip back to the run's first entry.
type walk struct {
	objects objstore.Reader
	at      *snapshot.Entry     // the current entry; nil after the run's first entry
	seen    map[objstore.ID]int // the number of steps from the tip to each entry
}

// walkFrom returns a walk that begins at the entry with the id tip.
func walkFrom(objects objstore.Reader, tip objstore.ID) (*walk, error) {
	at, err := snapshot.ReadEntry(objects, tip)
	return &walk{objects, at, map[objstore.ID]int{tip: 0}}, err
}

// step moves to the entry before w.at, and records this entry in w.seen. If w.at is the run's first entry, step
// sets w.at to nil. If w.at is nil, step does nothing.
func (w *walk) step() error {
	if w.at == nil {
		return nil
	}
	last := w.at
	w.at = nil
	if last.Parent.IsZero() {
		return nil
	}
	before, err := snapshot.ReadEntry(w.objects, last.Parent)
	if err != nil {
		return fmt.Errorf("entry before %v: %w", last.ID, err)
	}
	if before.Run == last.Run {
		w.at, w.seen[before.ID] = before, len(w.seen)
	}
	return nil
}
