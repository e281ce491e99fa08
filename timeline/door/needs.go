package door

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// keepNeeds gives a node its known needs if changes set the node without needs. It copies the needs from the
// earlier changes or from the tip, and replaces the values in changes.
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

// keepCarried keeps, in the rows of the journal that the changes set, the members of the tip's rows that this version
// does not know. It replaces the changes.
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

// lacksNeeds reports whether a change sets a node without needs, and returns the node's key.
func lacksNeeds(change snapshot.Change) (key string, lacks bool) {
	var row struct {
		NodeID    string          `json:"nodeId"`
		Iteration int             `json:"iteration"`
		Needs     json.RawMessage `json:"needs"`
	}
	if json.Unmarshal(change.Value, &row) != nil || row.Needs != nil {
		return "", false // the append refuses an invalid value
	}
	if change.Key != "" {
		return change.Key, true
	}
	return snapshot.Key(row.NodeID, row.Iteration), true
}

// needsOf returns the needs of the node with the key after the changes before, as JSON. It returns nil if the
// node does not exist or has no needs.
func (c *Capturer) needsOf(key string, before []snapshot.Change) (json.RawMessage, error) {
	for _, change := range slices.Backward(before) {
		if change.Collection != snapshot.CollectionNodes || change.Key != key {
			continue
		}
		var row struct {
			Needs json.RawMessage `json:"needs"`
		}
		if change.Op == snapshot.OpSet {
			_ = json.Unmarshal(change.Value, &row) // lacksNeeds has already parsed this value
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

// withNeeds returns the JSON object with the member needs. The object must not have this member.
func withNeeds(object, needs json.RawMessage) json.RawMessage {
	rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{")))
	out := append([]byte(`{"needs":`), needs...)
	if !bytes.HasPrefix(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}
