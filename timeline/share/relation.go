package share

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// kinship is the relation of two tips of a run.
type kinship uint8

const (
	same      kinship = iota
	ahead             // the local tip descends from the remote's
	behind            // the remote's tip descends from the local one
	diverged          // both descend from a common entry
	unrelated         // they have no entry of the run in common
)

// relation compares two chains of a run.
type relation struct {
	kinship

	common objstore.ID // the newest common entry; zero if unrelated
	ahead  int         // entries that only the local chain has
	behind int         // entries that only the remote one has
}

// relate compares the chains of two tips of a run. It reads the commits that only one of them
// has, about as many of the other, and no trees. Entries before a run's first entry do not count: two forks
// of one run are unrelated even if they have the same id.
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
	// Both sides step together: the common entry is found after as many steps as the longer
	// side has entries of its own, however long their common history is.
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

// meet returns an entry that one side is at and the other has seen.
func meet(here, there *walk) (objstore.ID, bool) {
	for _, sides := range [][2]*walk{{here, there}, {there, here}} {
		if at := sides[0].at; at != nil {
			if _, ok := sides[1].seen[at.ID]; ok {
				return at.ID, true
			}
		}
	}
	return objstore.ID{}, false
}

func relationAt(common objstore.ID, own, others int) relation {
	r := relation{common: common, ahead: own, behind: others}
	switch {
	case others == 0:
		r.kinship = ahead
	case own == 0:
		r.kinship = behind
	default:
		r.kinship = diverged
	}
	return r
}

// walk follows the chain of a run back.
type walk struct {
	objects objstore.Reader
	at      *snapshot.Entry     // nil before the run's first entry
	seen    map[objstore.ID]int // each entry's distance from the tip
}

func walkFrom(objects objstore.Reader, tip objstore.ID) (*walk, error) {
	at, err := snapshot.ReadEntry(objects, tip)
	return &walk{objects, at, map[objstore.ID]int{tip: 0}}, err
}

// step moves to the previous entry of the run.
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
