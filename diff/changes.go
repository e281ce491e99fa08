package diff

import (
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Changes are the changes that make b of a: a.Edit with them has the id of b. Equal
// subtrees are never read. The values are shared and must not be changed.
func Changes(a, b *snapshot.State) ([]snapshot.Change, error) {
	if a.ID() == b.ID() {
		return nil, nil
	}
	var changes []snapshot.Change
	collect := func(name string, from, to *page.Collection) error {
		for delta, err := range page.Diff(from, to) {
			if err != nil {
				return err
			}
			change := snapshot.Change{Op: snapshot.OpSet, Collection: name, Key: delta.Key, Value: delta.To}
			if delta.To == nil {
				change.Op = snapshot.OpRemove
			}
			if name == snapshot.CollectionSignals && delta.From != nil && delta.To != nil {
				// A signal gets no other number: it goes, and comes again.
				changes = append(changes, snapshot.Change{Op: snapshot.OpRemove, Collection: name, Key: delta.Key})
			}
			changes = append(changes, change)
		}
		return nil
	}
	if err := collect(snapshot.CollectionNodes, a.Nodes(), b.Nodes()); err != nil {
		return nil, err
	}
	for _, table := range tables(a, b) {
		if err := collect(snapshot.OutputCollection(table), a.Outputs(table), b.Outputs(table)); err != nil {
			return nil, err
		}
	}
	for _, c := range []struct {
		name     string
		from, to *page.Collection
	}{
		{snapshot.CollectionLoops, a.Loops(), b.Loops()},
		{snapshot.CollectionApprovals, a.Approvals(), b.Approvals()},
		{snapshot.CollectionHumanRequests, a.HumanRequests(), b.HumanRequests()},
		{snapshot.CollectionSignals, a.Signals(), b.Signals()},
		{snapshot.CollectionWaits, a.Waits(), b.Waits()},
	} {
		if err := collect(c.name, c.from, c.to); err != nil {
			return nil, err
		}
	}
	input, err := compareInputs(a, b)
	switch {
	case err != nil:
		return nil, err
	case input == nil:
	case input.To == nil:
		changes = append(changes, snapshot.Change{Op: snapshot.OpRemove, Collection: snapshot.CollectionInput})
	default:
		changes = append(changes, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: input.To})
	}
	return changes, nil
}
