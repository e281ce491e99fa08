package langgraph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// channelsTable is the name of the output table with the channels of the graph itself. Those of a subgraph are in a
// table whose name has the namespace, too.
const channelsTable = "channels"

// longTable and longKey are the numbers of bytes above which a digest stands for a namespace in the name of a table, and
// for a channel in the key of a row. The name of a table counts as it is escaped, with three bytes for most signs.
const (
	longTable = 180
	longKey   = 4000
)

// digestName is the form of the names that stand for others.
var digestName = lazyregexp.New(`^~[0-9a-f]{64}$`)

// tableOf returns the name of the table with the channels of a namespace.
func tableOf(ns string) string {
	switch {
	case ns == "":
		return channelsTable
	case escapedSize(ns) > longTable:
		return channelsTable + digest(ns)
	}
	return channelsTable + " " + ns
}

// escapedSize returns the largest number of bytes that a text has in the name of a table when it is escaped.
func escapedSize(text string) int {
	size := len(text)
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			size += 2
		}
	}
	return size
}

// digest returns a name that stands for a text that cannot be one.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "~" + hex.EncodeToString(sum[:])
}

// rowName returns the name in the key of a channel's row. It is that of the channel, if a key can have it.
func rowName(channel string) string {
	if channel == "" || len(channel) > longKey || digestName.MatchString(channel) {
		return digest(channel)
	}
	return channel
}

// rowKey returns the key of a channel's row.
func rowKey(channel string) string { return snapshot.Key(rowName(channel), 0) }

// channelOf returns the channel of a row in the table of the record's namespace.
func (r *record) channelOf(key string) (string, error) {
	name, _, err := snapshot.SplitKey(key)
	if err != nil {
		return "", fmt.Errorf("a channel's row: %w", err)
	}
	if channel, ok := r.Names[name]; ok {
		return channel, nil
	}
	return name, nil
}

// valueOf returns the value of a channel for which a row of the record's table has the given JSON.
func (r *record) valueOf(channel string, text json.RawMessage) (Value, error) {
	kind, coded := r.Types[channel]
	return valueOf(text, kind, coded)
}

// get returns the value of a channel in the record's table, and whether it is there.
func (r *record) get(rows *page.Collection, channel string) (Value, bool, error) {
	text, found, err := rows.Get(rowKey(channel))
	if err != nil || !found {
		return Value{}, false, err
	}
	v, err := r.valueOf(channel, text)
	return v, true, err
}

// next returns the nodes that come next in a graph whose channels have values for the given names, as far as the names
// say it. ends is true if nothing comes next.
func next(present []string, tasks bool) (nodes []string, ends bool) {
	ends = !tasks
	for _, channel := range present {
		if node, ok := strings.CutPrefix(channel, "branch:to:"); ok {
			nodes, ends = append(nodes, node), false
		}
		if channel == "__start__" {
			nodes, ends = append(nodes, channel), false
		}
	}
	return nodes, ends
}

// everStored reports whether a checkpoint of the namespace has a stored value of the channel with the version.
func (th *thread) everStored(ns, channel string, version json.RawMessage) (bool, error) {
	for _, r := range slices.Backward(th.book.sorted) {
		if r.NS != ns || string(r.versions()[channel]) != string(version) {
			continue
		}
		state, err := th.state(r)
		if err != nil {
			return false, err
		}
		if found, err := state.Outputs(tableOf(ns)).Has(rowKey(channel)); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// valueAt returns the value that a channel has in the frame with the commit, or nil if the thread has no such value.
func (th *thread) valueAt(ns, channel string, commit objstore.ID) (*Value, error) {
	for _, r := range slices.Backward(th.book.sorted) {
		if r.commit != commit {
			continue
		}
		if value, found := th.threads.grown.Get(valueKey{commit, channel}); found && r.NS == ns {
			return &value, nil
		}
		state, err := th.state(r)
		if err != nil {
			return nil, err
		}
		value, found, err := r.get(state.Outputs(tableOf(ns)), channel)
		if err != nil || !found || r.NS != ns {
			return nil, err
		}
		return &value, nil
	}
	return nil, nil //nolint:nilnil // not one of this thread
}
