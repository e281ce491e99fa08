package summary_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAGraphHasWhatATaskNeedsInLowerLayers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: dag
tasks:
  - {id: checkout, run: "true"}
  - {id: linux, needs: [checkout], run: "true"}
  - {id: mac, needs: [checkout], run: "true"}
  - {id: docs, run: "true"}
  - loop: work
    max: 2
    until: "false"
    on_max: finish
    tasks:
      - {id: patch, needs: [linux], run: "true"}
      - {id: unit, needs: [patch], run: "true"}
  - {id: release, needs: [work, mac, docs], approval: Ship?}
`)
	p.do(fault.ExitWaiting, "", "run", "flow.yaml", "--run-id", "dag")
	g := summary.GraphOf(p.read("dag"))
	require.NotNil(t, g)
	layers, places := make(map[string]int), make(map[[2]int]bool)
	for _, n := range g.Nodes {
		layers[n.ID] = n.Layer
		assert.False(t, places[[2]int{n.Layer, n.Place}], "two tasks in one place")
		places[[2]int{n.Layer, n.Place}] = true
		for _, need := range n.Needs {
			assert.Less(t, g.Nodes[need].Layer, n.Layer, "%s needs %s", n.ID, g.Nodes[need].ID)
		}
	}
	assert.Equal(t, map[string]int{"checkout": 0, "linux": 1, "patch": 2, "unit": 3, "mac": 3, "docs": 3, "release": 4}, layers)
	for _, n := range g.Nodes {
		switch n.ID {
		case "release":
			assert.Len(t, n.Needs, 3, "the loop is needed by its last task")
			assert.Equal(t, snapshot.NodeWaitingApproval, n.State)
		case "unit":
			assert.Equal(t, 1, n.Iteration, "the newest")
			assert.Equal(t, "work", n.Loop)
		}
	}
}
