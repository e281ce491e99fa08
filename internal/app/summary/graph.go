package summary

import (
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// A Graph has the tasks of a run and what they need. A task that ran in several iterations is one node.
type Graph struct {
	Nodes  []GraphNode // sorted by layer, and in each layer in the order of the steps
	Layers int
}

// A GraphNode is a task in a Graph.
type GraphNode struct {
	ID        string
	Loop      string // "" for none
	State     snapshot.NodeState
	Iteration int   // the newest
	Layer     int   // from 0; all that the task needs is in lower layers
	Place     int   // from 0, in the layer
	Needs     []int // positions in Nodes
}

// MaxGraph is the largest number of tasks that Graph draws.
const MaxGraph = 40

// GraphOf returns the graph of a run, or nil if it has more than MaxGraph tasks, is a session, or a task needs itself.
func GraphOf(sum *Summary) *Graph {
	if sum.Session {
		return nil
	}
	nodes, at := graphNodes(sum.Steps)
	if nodes == nil {
		return nil
	}
	needs := graphNeeds(sum.Steps, at)
	if !setLayers(nodes, needs) {
		return nil
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return nodes[a].Layer - nodes[b].Layer })
	g, place := &Graph{}, make([]int, len(nodes))
	for to, from := range order {
		place[from] = to
		n := nodes[from]
		if n.Layer >= g.Layers {
			g.Layers = n.Layer + 1
		} else {
			n.Place = g.Nodes[to-1].Place + 1
		}
		g.Nodes = append(g.Nodes, n)
	}
	for from, list := range needs {
		for _, need := range list {
			to := place[from]
			g.Nodes[to].Needs = append(g.Nodes[to].Needs, place[need])
		}
	}
	return g
}

// graphNodes returns a node for each task, and their positions by name. The result is nil if there is no graph to draw.
func graphNodes(steps []Step) (nodes []GraphNode, at map[string]int) {
	at = make(map[string]int)
	for i := range steps {
		step := &steps[i]
		j, ok := at[step.NodeID]
		if !ok {
			if len(nodes) == MaxGraph {
				return nil, nil
			}
			j = len(nodes)
			at[step.NodeID] = j
			nodes = append(nodes, GraphNode{ID: step.NodeID, Iteration: -1})
			if step.Loop != nil {
				nodes[j].Loop = *step.Loop
			}
		}
		if n := &nodes[j]; step.Iteration >= n.Iteration {
			n.State, n.Iteration = step.State, step.Iteration
		}
	}
	return nodes, at
}

// graphNeeds returns for each node the nodes that it needs itself, each once: not those that another need of it needs. Whoever needs a loop
// needs the tasks of the loop.
func graphNeeds(steps []Step, at map[string]int) [][]int {
	needs := make([][]int, len(at))
	add := func(node, need int) {
		if node != need && !slices.Contains(needs[node], need) {
			needs[node] = append(needs[node], need)
		}
	}
	loops := make(map[string][]int)
	for i := range steps {
		if loop := steps[i].Loop; loop != nil {
			loops[*loop] = append(loops[*loop], at[steps[i].NodeID])
		}
	}
	for i := range steps {
		step := &steps[i]
		for _, id := range step.Needs {
			if need, ok := at[id]; ok {
				add(at[step.NodeID], need)
				continue
			}
			for _, need := range loops[id] {
				add(at[step.NodeID], need)
			}
		}
	}
	return reduced(needs)
}

// reduced returns needs without those that follow from others.
func reduced(needs [][]int) [][]int {
	out := make([][]int, len(needs))
	for i, list := range needs {
		far := make(map[int]bool) // what a need of i needs
		for _, need := range list {
			reach(needs, need, far)
		}
		out[i] = slices.DeleteFunc(slices.Clone(list), func(need int) bool { return far[need] })
	}
	return out
}

// reach adds what a node needs to found, directly or through others.
func reach(needs [][]int, node int, found map[int]bool) {
	for _, need := range needs[node] {
		if !found[need] {
			found[need] = true
			reach(needs, need, found)
		}
	}
}

// setLayers sets the layers of nodes. It returns false if a node needs itself, which a forged history may say.
func setLayers(nodes []GraphNode, needs [][]int) bool {
	for round := range len(nodes) + 1 {
		changed := false
		for i := range nodes {
			for _, need := range needs[i] {
				if nodes[i].Layer <= nodes[need].Layer {
					nodes[i].Layer, changed = nodes[need].Layer+1, true
				}
			}
		}
		if !changed {
			break
		}
		if round == len(nodes) {
			return false
		}
	}
	moveUp(nodes, needs)
	return true
}

// moveUp moves each node to the layer below the lowest that needs it, so that lines are short.
func moveUp(nodes []GraphNode, needs [][]int) {
	for range nodes {
		limit := make([]int, len(nodes))
		for i := range nodes {
			for _, need := range needs[i] {
				if limit[need] == 0 || nodes[i].Layer < limit[need] {
					limit[need] = nodes[i].Layer
				}
			}
		}
		for i := range nodes {
			if limit[i] > 0 {
				nodes[i].Layer = limit[i] - 1
			}
		}
	}
}
