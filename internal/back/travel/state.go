package travel

import (
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// backReset collects the changes that a travel or reset makes to state, the state to which the run goes back.
type backReset struct {
	store   *timeline.Store
	state   *snapshot.State   // the state before the changes
	changes []snapshot.Change // the collected changes
}

// add appends changes and returns err, so that a call can pass both results of a function.
func (b *backReset) add(changes []snapshot.Change, err error) error {
	b.changes = append(b.changes, changes...)
	return err
}

// now returns the state with the collected changes. It stores nothing.
func (b *backReset) now() (*snapshot.State, error) {
	return b.state.EditWithin(b.store.Settings().Limits, b.store.Objects().Begin(), b.changes)
}

// unfinished returns the changes that make two kinds of nodes pending: every node in progress, and every node in
// nodes that is neither pending nor waiting. The keys of nodes are node keys.
func (b *backReset) unfinished(nodes map[string]bool) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	var keys []string
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, err
		}
		key, over := snapshot.Key(n.NodeID, n.Iteration), n.State != snapshot.NodePending && !n.State.Waiting()
		if n.State == snapshot.NodeInProgress || nodes[key] && over {
			keys = append(keys, key)
		}
	}
	return reset.Nodes(state, keys, true)
}

// downstream returns the changes that make two kinds of nodes pending: the node with the key, unless it waits, and
// every node that needs this node, directly or not. A node that is already pending stays unchanged, because it may
// have a count of tries. If the state does not have the node, downstream returns nil.
func (b *backReset) downstream(key string) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	changes, err := reset.Nodes(state, []string{key}, false)
	if errors.Is(err, reset.ErrUnknownNode) {
		return nil, nil // the state does not have the node yet
	}
	if err != nil {
		return nil, err
	}
	gone := make(map[string]bool) // the nodes that the changes remove
	for _, c := range changes {
		if c.Op == snapshot.OpRemove && c.Collection == snapshot.CollectionNodes {
			gone[c.Key] = true
		}
	}
	// Leave out the changes to nodes that stay unchanged.
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

// alone returns the changes that make the node with the key pending, without the nodes that need it. If the state does
// not have the node, the error is reset.ErrUnknownNode.
func (b *backReset) alone(key string) ([]snapshot.Change, error) {
	state, err := b.now()
	if err != nil {
		return nil, err
	}
	return reset.Nodes(state, []string{key}, true)
}

// becamePending returns the keys of the nodes that are pending in the state after and were not pending in the state
// before, sorted. The result is never nil.
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
