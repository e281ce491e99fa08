package door

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// keepNeeds keeps the needs of nodes that the changes set without needs: it copies them from earlier changes, or from
// the tip. It replaces the values in changes.
func (c *Capturer) keepNeeds(changes []snapshot.Change) error {
	if c.head == nil {
		return nil
	}
	for i, change := range changes {
		if change.Collection != snapshot.CollectionNodes || change.Op != snapshot.OpSet {
			continue
		}
		place, lacks := lacksNeeds(change)
		if !lacks {
			continue
		}
		needs, err := c.needsOf(place, changes[:i])
		if err != nil {
			return err
		}
		if len(needs) > 0 {
			changes[i].Value = withNeeds(change.Value, needs)
		}
	}
	return nil
}

// lacksNeeds reports whether a change sets a node without needs, and returns the node's key.
func lacksNeeds(change snapshot.Change) (key string, lacks bool) {
	var row struct {
		NodeID    string          `json:"nodeId"`
		Iteration int             `json:"iteration"`
		Needs     json.RawMessage `json:"needs"`
	}
	if json.Unmarshal(change.Value, &row) != nil || row.Needs != nil {
		return "", false // the append refuses a value that is not a node
	}
	if change.Key != "" {
		return change.Key, true
	}
	return snapshot.Key(row.NodeID, row.Iteration), true
}

// needsOf returns the needs of a node after the changes before, as JSON, or nil if it has none.
func (c *Capturer) needsOf(key string, before []snapshot.Change) (json.RawMessage, error) {
	for _, change := range slices.Backward(before) {
		if change.Collection != snapshot.CollectionNodes || change.Key != key {
			continue
		}
		var row struct {
			Needs json.RawMessage `json:"needs"`
		}
		if change.Op == snapshot.OpSet {
			_ = json.Unmarshal(change.Value, &row) // lacksNeeds has read the same value
		}
		return row.Needs, nil
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

// withNeeds returns a JSON object with the member needs added. The object must not have it.
func withNeeds(object, needs json.RawMessage) json.RawMessage {
	rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{")))
	out := append([]byte(`{"needs":`), needs...)
	if !bytes.HasPrefix(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}
