package travel

import (
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/snapshot/reset"
	"github.com/git-smithers/git-smithers/timeline"
)

// backReset gathers what a travel changes of the state that it goes back to.
type backReset struct {
	store   *timeline.Store
	state   *snapshot.State   // without the changes
	changes []snapshot.Change // so far
}

// add takes the changes of a step.
func (b *backReset) add(changes []snapshot.Change, err error) error {
	b.changes = append(b.changes, changes...)
	return err
}

// now is the state with the changes so far, which are written nowhere.
func (b *backReset) now() (*snapshot.State, error) {
	return b.state.EditWithin(b.store.Settings().Limits, b.store.Objects().Begin(), b.changes)
}

// unfinished makes pending what is in progress, and those of nodes that neither are nor wait.
func (b *backReset) unfinished(nodes map[string]bool) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	var keys []string
	for row, err := range state.Nodes().Rows() {
		if err != nil {
			return nil, err
		}
		n, err := snapshot.DecodeNode(row)
		if err != nil {
			return nil, err
		}
		over := n.State != snapshot.NodePending && !n.State.Waiting()
		if n.State == snapshot.NodeInProgress || nodes[row.Key] && over {
			keys = append(keys, row.Key)
		}
	}
	return reset.Nodes(state, keys, true)
}

// downstream makes pending what needs a node, directly or not, and the node. What is
// pending already, and the node while it waits, stays just so: it has tries behind it.
func (b *backReset) downstream(key string) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	changes, err := reset.Nodes(state, []string{key}, false)
	if errors.Is(err, reset.ErrUnknownNode) {
		return nil, nil // it was not there yet
	}
	if err != nil {
		return nil, err
	}
	gone := make(map[string]bool)
	for _, c := range changes {
		if c.Op == snapshot.OpRemove && c.Collection == snapshot.CollectionNodes {
			gone[c.Key] = true
		}
	}
	var stays error
	changes = slices.DeleteFunc(changes, func(c snapshot.Change) bool {
		if gone[c.Key] || c.Collection == snapshot.CollectionLoops {
			return false
		}
		value, has, err := state.Nodes().Get(c.Key)
		if err != nil || !has {
			stays = errors.Join(stays, err)
			return false
		}
		n, err := snapshot.DecodeNode(page.Row{Key: c.Key, Value: value})
		stays = errors.Join(stays, err)
		return n.State == snapshot.NodePending || c.Key == key && n.State.Waiting()
	})
	return changes, stays
}

// alone makes a node pending, and nothing else.
func (b *backReset) alone(key string) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	return reset.Nodes(state, []string{key}, true)
}

// becamePending are the keys, sorted, of nodes that are pending in one state and were not
// in the one before.
func becamePending(before, after *snapshot.State) ([]string, error) {
	keys := []string{}
	for delta, err := range page.Diff(before.Nodes(), after.Nodes()) {
		if err != nil {
			return nil, err
		}
		if delta.To == nil {
			continue
		}
		n, err := snapshot.DecodeNode(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return nil, err
		}
		was := snapshot.Node{}
		if delta.From != nil {
			if was, err = snapshot.DecodeNode(page.Row{Key: delta.Key, Value: delta.From}); err != nil {
				return nil, err
			}
		}
		if n.State == snapshot.NodePending && was.State != snapshot.NodePending {
			keys = append(keys, delta.Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
