package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// model holds the nodes and loops of a run in memory. Every method that changes the model adds the same change to a
// draft.
type model struct {
	nodes map[workflow.NodeKey]snapshot.Node
	loops map[string]snapshot.Loop
}

// loadModel returns a model with the nodes and loops of a state.
func loadModel(state *snapshot.State) (*model, error) {
	m := &model{nodes: make(map[workflow.NodeKey]snapshot.Node), loops: make(map[string]snapshot.Loop)}
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		m.nodes[workflow.NodeKey{ID: n.NodeID, Iteration: n.Iteration}] = n
	}
	for l, err := range state.AllLoops() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		m.loops[l.RalphID] = l
	}
	return m, nil
}

// setNode sets a node in the model and in the draft.
func (m *model) setNode(d *draft, n snapshot.Node) {
	m.nodes[workflow.NodeKey{ID: n.NodeID, Iteration: n.Iteration}] = n
	d.setNode(n)
}

// setLoop sets a loop in the model and in the draft.
func (m *model) setLoop(d *draft, l snapshot.Loop) {
	m.loops[l.RalphID] = l
	d.setLoop(l)
}

// drop removes a node from the model. It adds to the draft the changes that remove the node's row, output and mailbox
// rows from the state.
func (m *model) drop(d *draft, key workflow.NodeKey) {
	n := m.nodes[key]
	delete(m.nodes, key)
	row := snapshot.Key(key.ID, key.Iteration)
	d.remove("nodes", row)
	if n.OutputTable != "" {
		d.remove("outputs/"+n.OutputTable, row)
	}
	if n.OutputTable != usageTable {
		d.remove("outputs/"+usageTable, row) // if its command has said what it used
	}
	m.unmail(d, key)
}

// unmail removes a node's approval, human request and wait from the mailbox, if the mailbox has them.
func (m *model) unmail(d *draft, key workflow.NodeKey) {
	for _, collection := range []string{snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionWaits} {
		d.remove(collection, snapshot.Key(key.ID, key.Iteration))
	}
}

// keys returns the keys of all nodes, sorted by task id and then by iteration.
func (m *model) keys() []workflow.NodeKey {
	return slices.SortedFunc(maps.Keys(m.nodes), workflow.CompareKeys)
}

// fit adapts the model and the state to a workflow. It drops tasks and loops that the workflow no longer has, and
// iterations above 0 of tasks that have left their loop. It adds new loops and new tasks; new tasks become pending.
// All other nodes keep their state and last attempt, and get the label, loop, output table and needs of the workflow.
// If the model already fits, fit changes nothing.
func (m *model) fit(d *draft, wf *workflow.Workflow) {
	for _, id := range slices.Sorted(maps.Keys(m.loops)) {
		if !wf.FitsLoop(id) {
			delete(m.loops, id)
			d.remove("loops", id)
		}
	}
	for _, l := range wf.Loops { // a loop before the loops in it, whose ids have its iteration
		if id := m.newestLoop(wf, l); m.loops[id].RalphID == "" {
			m.setLoop(d, snapshot.Loop{RalphID: id})
		}
	}
	for _, key := range m.keys() {
		if !wf.Fits(key) {
			m.drop(d, key)
			continue
		}
		// The definition may have changed the label, the loop, the output table or the needs.
		have, want := m.nodes[key], wf.Node(key)
		want.State, want.LastAttempt = have.State, have.LastAttempt
		if !sameRow(snapshot.EncodeNode(have), snapshot.EncodeNode(want)) {
			m.setNode(d, want)
		}
	}
	for _, t := range wf.Tasks {
		key := m.newest(wf, t)
		if _, ok := m.nodes[key]; !ok {
			m.setNode(d, wf.Node(key))
			d.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
		}
	}
}

// sameRow reports whether two rows have the same key and value.
func sameRow(a, b page.Row) bool { return a.Key == b.Key && string(a.Value) == string(b.Value) }

// newest returns the key of the newest node of a task: at iteration 0 if the task is not in a loop.
func (m *model) newest(wf *workflow.Workflow, t *workflow.Task) workflow.NodeKey {
	return wf.Newest(t, m.loop)
}

// newestLoop returns the id of a loop with the newest iterations of the loops around it.
func (m *model) newestLoop(wf *workflow.Workflow, l *workflow.Loop) string {
	return wf.NewestLoop(l, m.loop)
}

// loop returns the loop with an id, or the zero loop.
func (m *model) loop(id string) snapshot.Loop { return m.loops[id] }

// reopen moves every loop that has unfinished nodes, its own or those of the loops in it, back to the first iteration with such a node. Such a
// loop is then not done. Finished and skipped nodes of later iterations keep their state. The caller must call fit before.
func (m *model) reopen(d *draft) {
	first := make(map[string]int) // by the loop's id: the first iteration with an unfinished node
	for _, n := range m.nodes {
		if over(n.State) {
			continue
		}
		for id, iteration := range snapshot.LoopsAround(n.RalphID, n.Iteration) {
			if have, ok := first[id]; !ok || iteration < have {
				first[id] = iteration
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(first)) {
		loop, ok := m.loops[id]
		if at := first[id]; ok && (at < loop.Iteration || at == loop.Iteration && loop.Done) {
			m.setLoop(d, snapshot.Loop{RalphID: id, Iteration: at})
		}
	}
}

// over reports whether s means that a node is finished or skipped, so that the node needs no more work.
func over(s snapshot.NodeState) bool {
	return s == snapshot.NodeFinished || s == snapshot.NodeSkipped
}

// over reports whether a task needs no more work at its newest iteration: it is finished or skipped, or has failed and may.
func (m *model) over(wf *workflow.Workflow, t *workflow.Task) bool {
	state := m.nodes[m.newest(wf, t)].State
	return over(state) || state == snapshot.NodeFailed && t.Allowed
}

// ready reports whether t can start: all loops that t waits for are done, and all tasks that t waits for are finished
// or skipped at their newest iteration.
func (m *model) ready(wf *workflow.Workflow, t *workflow.Task) bool {
	for _, id := range t.Waits {
		need := wf.Task(id)
		if need == nil {
			if !m.loops[m.newestLoop(wf, wf.Loop(id))].Done {
				return false
			}
			continue
		}
		if !m.over(wf, need) {
			return false
		}
	}
	return true
}

// idle reports whether, at the loop's newest iteration, all tasks of the loop are finished or skipped, and the loops in it are done.
func (m *model) idle(wf *workflow.Workflow, l *workflow.Loop) bool {
	for _, t := range l.Tasks {
		if !m.over(wf, t) {
			return false
		}
	}
	for _, inner := range l.Loops {
		if !m.loops[m.newestLoop(wf, inner)].Done {
			return false
		}
	}
	return true
}

// complete reports whether all loops of the workflow are done, and all tasks are finished or skipped at their
// newest iteration.
func (m *model) complete(wf *workflow.Workflow) bool {
	for _, l := range wf.Loops {
		if !m.loops[m.newestLoop(wf, l)].Done {
			return false
		}
	}
	for _, t := range wf.Tasks {
		if !m.over(wf, t) {
			return false
		}
	}
	return true
}

// waiting returns the keys of the tasks that wait for a person, a signal or a timer at their newest iteration. The
// keys are sorted by task id and then by iteration.
func (m *model) waiting(wf *workflow.Workflow) []workflow.NodeKey {
	var keys []workflow.NodeKey
	for _, t := range wf.Tasks {
		key := m.newest(wf, t)
		if !t.Works() && m.nodes[key].State.Waiting() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, workflow.CompareKeys)
	return keys
}

// nextDue returns the earliest time at which the clock ends a wait. It returns the zero time if no wait has a time
// limit.
func (m *model) nextDue(wf *workflow.Workflow, state *snapshot.State) (time.Time, error) {
	var next time.Time
	for _, key := range m.waiting(wf) {
		due, err := mailbox.DueAt(state, m.nodes[key])
		if err != nil {
			return next, err
		}
		if due == nil {
			continue
		}
		if at := time.UnixMilli(*due); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, nil
}

// doneIn returns a function that reports whether a loop of wf has ended.
func (m *model) doneIn(wf *workflow.Workflow) func(loop string) bool {
	return func(loop string) bool { return m.loops[m.newestLoop(wf, wf.Loop(loop))].Done }
}
