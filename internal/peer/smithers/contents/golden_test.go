package contents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// peerDiff is what Smithers' own library says that two snapshots differ in.
type peerDiff struct {
	NodesAdded   []string `json:"nodesAdded"`
	NodesRemoved []string `json:"nodesRemoved"`
	NodesChanged []struct {
		NodeID   string `json:"nodeId"`
		From, To peerNode
	} `json:"nodesChanged"`
	OutputsAdded   []string `json:"outputsAdded"`
	OutputsRemoved []string `json:"outputsRemoved"`
	OutputsChanged []struct {
		Key      string `json:"key"`
		From, To json.RawMessage
	} `json:"outputsChanged"`
	RalphAdded   []string `json:"ralphAdded"`
	RalphRemoved []string `json:"ralphRemoved"`
	RalphChanged []struct {
		RalphID  string `json:"ralphId"`
		From, To snapshot.Loop
	} `json:"ralphChanged"`
	InputChanged bool `json:"inputChanged"`
}

type peerNode struct {
	NodeID      string  `json:"nodeId"`
	Iteration   int     `json:"iteration"`
	State       string  `json:"state"`
	LastAttempt *int    `json:"lastAttempt"`
	OutputTable string  `json:"outputTable"`
	Label       *string `json:"label"`
}

// What ours says more, or says otherwise: rows of outputs and not whole tables, each once; lists in the
// order of keys; of nodes also needs and ralphId.
func TestDiffsSayWhatSmithersOwnLibrarySays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "testdata", "smithers", "golden", "run-*-diff-*.json"))
	require.NoError(t, err)
	require.Len(t, files, 10)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := regexp.MustCompile(`^(run-.)-diff-(\d+)-(\d+)\.json$`).FindStringSubmatch(name)
			require.NotNil(t, parts)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var peer peerDiff
			require.NoError(t, json.Unmarshal(text, &peer))
			ours, err := diff.States(stateAt(t, parts[1], parts[2]), stateAt(t, parts[1], parts[3]))
			require.NoError(t, err)
			assert.Equal(t, peer.lines(t), ourLines(ours))
		})
	}
}

// stateAt is the state of a run's frame.
func stateAt(t *testing.T, run, frame string) *snapshot.State {
	t.Helper()
	n, err := strconv.ParseInt(frame, 10, 64)
	require.NoError(t, err)
	for _, s := range snapshotsOf(t, run) {
		if s.frame == n {
			w, err := Read(s.contents, s.tree, snapshot.Limits{})
			require.NoError(t, err)
			changes, err := snapshot.ChangesTo(snapshot.EmptyState(), w)
			require.NoError(t, err)
			var store objstoretest.Memory
			state, err := snapshot.EmptyState().Edit(&store, changes)
			require.NoError(t, err)
			return state
		}
	}
	t.Fatalf("%s has no frame %s", run, frame)
	return nil
}

// lines are the differences, sorted.
func (d *peerDiff) lines(t *testing.T) []string {
	t.Helper()
	lines := labelled("+ node", d.NodesAdded)
	lines = append(lines, labelled("- node", d.NodesRemoved)...)
	lines = append(lines, labelled("+ loop", d.RalphAdded)...)
	lines = append(lines, labelled("- loop", d.RalphRemoved)...)
	for _, n := range d.NodesChanged {
		lines = append(lines, fmt.Sprintf("~ node %s %s > %s", n.NodeID, jsonText(n.From), jsonText(n.To)))
	}
	for _, l := range d.RalphChanged {
		lines = append(lines, fmt.Sprintf("~ loop %s %v > %v", l.RalphID, l.From, l.To))
	}
	require.Empty(t, d.OutputsAdded, "Smithers lists all tables in all snapshots")
	require.Empty(t, d.OutputsRemoved)
	for _, table := range d.OutputsChanged {
		if !isHidden(table.Key) {
			lines = append(lines, rowLines(t, tableName(table.Key), table.From, table.To)...)
		}
	}
	if d.InputChanged {
		lines = append(lines, "~ input")
	}
	slices.Sort(lines)
	return slices.Compact(lines) // tables with two names come twice
}

// tableName is the name under which a table of the fixtures is kept.
func tableName(key string) string {
	switch key {
	case "flakyOut":
		return "flaky_out"
	case "shipDecision":
		return "ship_decision"
	}
	return key
}

// rowLines are the differences of two tables row by row.
func rowLines(t *testing.T, table string, from, to json.RawMessage) (lines []string) {
	t.Helper()
	rows := func(array json.RawMessage) map[string]string {
		values := make(map[string]string)
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(array, &list))
		for _, row := range list {
			var fields map[string]any
			require.NoError(t, json.Unmarshal(row, &fields))
			key := fmt.Sprintf("%v::%v", fields["nodeId"], fields["iteration"])
			delete(fields, "runId")
			delete(fields, "nodeId")
			delete(fields, "iteration")
			values[key] = jsonText(fields)
		}
		return values
	}
	before, after := rows(from), rows(to)
	for key, value := range after {
		switch old, ok := before[key]; {
		case !ok:
			lines = append(lines, "+ output "+table+" "+key)
		case old != value:
			lines = append(lines, fmt.Sprintf("~ output %s %s %s > %s", table, key, old, value))
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			lines = append(lines, "- output "+table+" "+key)
		}
	}
	return lines
}

func ourLines(d *diff.Result) []string {
	lines := labelled("+ node", d.NodesAdded)
	lines = append(lines, labelled("- node", d.NodesRemoved)...)
	lines = append(lines, labelled("+ loop", d.LoopsAdded)...)
	lines = append(lines, labelled("- loop", d.LoopsRemoved)...)
	for _, n := range d.NodesChanged {
		lines = append(lines, fmt.Sprintf("~ node %s %s > %s", n.Key, jsonText(asPeer(n.From)), jsonText(asPeer(n.To))))
	}
	for _, l := range d.LoopsChanged {
		lines = append(lines, fmt.Sprintf("~ loop %s %v > %v", l.RalphID, l.From, l.To))
	}
	for _, o := range d.OutputsAdded {
		lines = append(lines, "+ output "+o.Table+" "+snapshot.Key(o.NodeID, o.Iteration))
	}
	for _, o := range d.OutputsRemoved {
		lines = append(lines, "- output "+o.Table+" "+snapshot.Key(o.NodeID, o.Iteration))
	}
	for _, o := range d.OutputsChanged {
		lines = append(lines, fmt.Sprintf("~ output %s %s %s > %s", o.Table, snapshot.Key(o.NodeID, o.Iteration), reordered(o.From), reordered(o.To)))
	}
	if d.InputChanged {
		lines = append(lines, "~ input")
	}
	slices.Sort(lines)
	return lines
}

func asPeer(n snapshot.Node) peerNode {
	return peerNode{n.NodeID, n.Iteration, string(n.State), n.LastAttempt, n.OutputTable, n.Label}
}

func labelled(label string, keys []string) []string {
	lines := []string{}
	for _, key := range keys {
		lines = append(lines, label+" "+key)
	}
	return lines
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	return cmp.Or(string(text), fmt.Sprint(err))
}

// reordered is an object with its members sorted, as jsonText writes them.
func reordered(object json.RawMessage) string {
	var fields map[string]any
	if err := json.Unmarshal(object, &fields); err != nil {
		return strings.ToUpper(err.Error())
	}
	return jsonText(fields)
}
