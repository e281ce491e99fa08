package share

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// kinship is how two tips of one run are related.
type kinship uint8

const (
	same      kinship = iota
	ahead             // the local tip follows the remote's
	behind            // the remote's tip follows the local one
	diverged          // both follow an entry that both have
	unrelated         // no entry of the run is in both
)

// relation is what two chains of one run have to do with each other.
type relation struct {
	kinship

	common objstore.ID // the newest entry that both have; zero for unrelated
	ahead  int         // entries that only the local chain has
	behind int         // entries that only the remote one has
}

// relate compares the chains of two tips of a run. It reads the commits of what only one
// of them has, about as many of the other, and no trees. What a fork has in common with a
// fork of the same name, in the run that both were made from, does not count.
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
	// Step by step on both sides: a meeting is found after as many steps as the longer
	// side has entries of its own, however long the history behind it is.
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

// meet finds an entry that one side is at and the other has seen.
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

// walk goes down the chain of a run.
type walk struct {
	objects objstore.Reader
	at      *snapshot.Entry     // nil beyond the run's first entry
	seen    map[objstore.ID]int // how many steps each entry is below the tip
}

func walkFrom(objects objstore.Reader, tip objstore.ID) (*walk, error) {
	at, err := snapshot.ReadEntry(objects, tip)
	return &walk{objects, at, map[objstore.ID]int{tip: 0}}, err
}

// step goes on to the entry before, if that is of the same run.
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
