package travel

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// keepSignals returns changes of the state base with which it also has the signals of the state now. A signal whose number base gives to
// another one is left out.
func keepSignals(changes []snapshot.Change, base, now *snapshot.State) ([]snapshot.Change, error) {
	kept := slices.DeleteFunc(slices.Clone(changes), func(c snapshot.Change) bool {
		return c.Op == snapshot.OpRemove && c.Collection == snapshot.CollectionSignals
	})
	for row, err := range now.Signals().Rows() {
		if err != nil {
			return nil, err
		}
		if has, err := base.Signals().Has(row.Key); err != nil {
			return nil, err
		} else if !has {
			kept = append(kept, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionSignals, Key: row.Key, Value: row.Value, Redacted: true})
		}
	}
	return kept, nil
}

// lostSignals returns the names of the signals that the state before has and the state after lacks, in the order in which they came.
func lostSignals(before, after *snapshot.State) ([]string, error) {
	names := []string{}
	for delta, err := range page.Diff(after.Signals(), before.Signals()) {
		if err != nil {
			return nil, err
		}
		if delta.To == nil {
			continue
		}
		signal, err := snapshot.DecodeSignal(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return nil, err
		}
		names = append(names, signal.Name)
	}
	return names, nil
}
