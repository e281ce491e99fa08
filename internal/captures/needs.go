package captures

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// keepNeeds adds needs to each change that sets a node without giving its needs. The needs of a node are the ids
// of the nodes that it depends on. The added needs are those of the last earlier change of the node. If no earlier
// change has the node, they are the node's needs at the tip. keepNeeds edits the values in changes. For a new run,
// it does nothing.
func (c *Capturer) keepNeeds(changes []snapshot.Change) error {
	if c.head == nil {
		return nil
	}
	for i, change := range changes {
		if change.Collection != snapshot.CollectionNodes || change.Op != snapshot.OpSet {
			continue
		}
		key, needs, err := nodeOf(change)
		if err != nil || needs != nil {
			continue // the append refuses an invalid row
		}
		needs, err = c.needsOf(key, changes[:i])
		if err != nil {
			return err
		}
		if len(needs) > 0 {
			changes[i].Value = withNeeds(change.Value, needs)
		}
	}
	return nil
}

// keepCarried replaces each change in changes, which are changes of the journal, by the form that the journal
// stores. If the row exists at the tip, the stored form also has the members of that row that this version does
// not know.
func (c *Capturer) keepCarried(changes []snapshot.Change) error {
	var tip *snapshot.Entry
	if c.head != nil {
		tip = c.head.Entry()
	}
	for i, change := range changes {
		stored, err := snapshot.EngineChange(c.store.Settings().Limits, tip, change)
		if err != nil {
			return timeline.Explain(err)
		}
		changes[i] = stored
	}
	return nil
}

// nodeOf returns the key and the needs of the node that a change sets or removes. If the change has no key, the key is
// made from the row. needs is nil if the change does not give the needs. The error means that the row is invalid.
func nodeOf(change snapshot.Change) (key string, needs json.RawMessage, err error) {
	if change.Op != snapshot.OpSet {
		return change.Key, nil, nil
	}
	var row struct {
		NodeID    string          `json:"nodeId"`
		Iteration int             `json:"iteration"`
		Needs     json.RawMessage `json:"needs"`
	}
	if err := json.Unmarshal(change.Value, &row); err != nil {
		return "", nil, err
	}
	if change.Key != "" {
		return change.Key, row.Needs, nil
	}
	return snapshot.Key(row.NodeID, row.Iteration), row.Needs, nil
}

// needsOf returns the needs of a node, as JSON. The last change of the node in earlier decides. If earlier has no
// change of the node, the needs are those at the tip. needsOf returns nil if the node does not exist, was removed,
// or has no needs.
func (c *Capturer) needsOf(key string, earlier []snapshot.Change) (json.RawMessage, error) {
	for _, change := range slices.Backward(earlier) {
		if change.Collection != snapshot.CollectionNodes {
			continue
		}
		if changed, needs, err := nodeOf(change); err == nil && changed == key {
			return needs, nil
		}
	}
	value, ok, err := c.head.State().Nodes().Get(key)
	if err != nil || !ok {
		return nil, timeline.Explain(err)
	}
	node, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
	if err != nil || len(node.Needs) == 0 {
		return nil, timeline.Explain(err)
	}
	return json.Marshal(node.Needs)
}

// withNeeds returns object, a JSON object without a member "needs", with needs as the value of that member.
func withNeeds(object, needs json.RawMessage) json.RawMessage {
	rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{")))
	out := append([]byte(`{"needs":`), needs...)
	if !bytes.HasPrefix(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}
