package export

import (
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waitRows returns the rows of _smithers_attempts for a run that has changed since its import: those of waits whose
// signal has arrived. Without a row, Smithers would begin the wait anew and stop although the signal is in the
// database, and would give a received signal to the next wait too. A wait without its signal has no row: it begins
// anew, with its timeout.
func (x *runExport) waitRows(table source.Table) ([]source.Row, error) {
	rendered, err := x.store.Rendered(x.Entry)
	if err != nil {
		return nil, err
	}
	peers, err := x.signalSeqs()
	if err != nil {
		return nil, err
	}
	w := &waitWriter{Facts: x.facts, peers: peers, taken: make(map[int64]bool), workflow: tree.Parse(string(rendered))}
	return dbrow.Restore(table, tables.Fitted(table, w.rows()), nil, x.Row.ID, dbrow.Root(x.req.Root))
}

// waitWriter builds the rows of a run's waits.
type waitWriter struct {
	*tables.Facts

	peers    map[string]int64 // Smithers' numbers of signals, by digest
	workflow *tree.Element    // the newest rendered tree; nil if none
	signals  []snapshot.Signal
	taken    map[int64]bool // the signals that a wait has received, by our numbers
}

// rows returns the rows of waits with a signal, those of the mailbox before those that have not begun.
func (w *waitWriter) rows() (rows []source.Row) {
	w.signals = slices.SortedFunc(slices.Values(w.Whole.Signals), func(a, b snapshot.Signal) int { return int(a.Seq - b.Seq) })
	tasks, finished, begun := w.workflow.ByID(), make(map[string]bool), make(map[string]bool)
	for _, n := range w.Whole.Nodes {
		finished[snapshot.Key(n.NodeID, n.Iteration)] = n.State == snapshot.NodeFinished
	}
	var waiting []snapshot.Wait
	for _, wait := range w.Whole.Waits {
		key := snapshot.Key(wait.NodeID, wait.Iteration)
		begun[key] = true
		switch {
		case wait.Kind != snapshot.WaitSignal || wait.Status == snapshot.WaitExpired:
		case wait.Status == snapshot.WaitReceived:
			w.taken[*wait.SignalSeq] = true
			rows = w.add(rows, tasks[wait.NodeID], wait, finished[key])
		case !finished[key]:
			waiting = append(waiting, wait)
		}
	}
	for _, wait := range append(waiting, w.unbegun(finished, begun)...) {
		if s := w.next(wait); s != nil {
			w.taken[s.Seq] = true
			wait.SignalSeq, wait.Status, wait.EndedAtMs = &s.Seq, snapshot.WaitReceived, &s.ReceivedAtMs
			rows = w.add(rows, tasks[wait.NodeID], wait, false)
		}
	}
	return rows
}

// add adds the row of a wait that has received a signal. If the node is not finished, Smithers finds the wait waiting
// and takes the signal when it resumes the run.
func (w *waitWriter) add(rows []source.Row, task *tree.Element, wait snapshot.Wait, finished bool) []source.Row {
	i := slices.IndexFunc(w.signals, func(s snapshot.Signal) bool { return s.Seq == *wait.SignalSeq })
	if i < 0 {
		return rows
	}
	if task == nil {
		task = new(tree.Element)
	}
	peer := w.signals[i]
	peer.Seq = w.peers[peer.Digest()]
	wait.SignalSeq = new(int64)
	row := source.Row{
		"node_id": dbrow.Text(wait.NodeID), "iteration": dbrow.Int(int64(wait.Iteration)), "attempt": dbrow.Int(int64(wait.Attempt)),
		"state": dbrow.Text(string(snapshot.NodeWaitingEvent)), "started_at_ms": dbrow.Int(wait.StartedAtMs), "cached": dbrow.Int(0),
		"meta_json": dbrow.Text(tables.WaitMeta(task, wait, []snapshot.Signal{peer})),
	}
	if finished {
		row["state"], row["finished_at_ms"] = dbrow.Text(snapshot.AttemptFinished), dbrow.NullableInt(wait.EndedAtMs)
	}
	return append(rows, row)
}

// next returns the oldest signal that a wait can receive, or nil. Smithers gives a signal to all waits that had begun
// when it arrived, and otherwise to one wait.
func (w *waitWriter) next(wait snapshot.Wait) *snapshot.Signal {
	for i, s := range w.signals {
		free := !w.taken[s.Seq] || s.ReceivedAtMs >= wait.StartedAtMs
		if free && s.Name == wait.Signal && kept.SameCorrelation(s.CorrelationID, wait.CorrelationID) {
			return &w.signals[i]
		}
	}
	return nil
}

// unbegun returns the waits of the newest rendered tree that the run has not reached, in the order of the tree. In a
// loop, they are those of the current iteration. Waits of nested loops are left to Smithers, which counts their
// iterations differently.
func (w *waitWriter) unbegun(finished, begun map[string]bool) (waits []snapshot.Wait) {
	iterations := make(map[string]int)
	for _, l := range w.Whole.Loops {
		if !l.Done {
			iterations[l.RalphID] = l.Iteration
		}
	}
	var walk func(e *tree.Element, iteration, depth int)
	walk = func(e *tree.Element, iteration, depth int) {
		if e == nil || depth > 1 {
			return
		}
		if e.Tag == "smithers:ralph" {
			at, known := iterations[e.Props["id"]]
			if !known {
				return
			}
			iteration, depth = at, depth+1
		}
		key := snapshot.Key(e.Props["id"], iteration)
		if e.Tag == "smithers:wait-for-event" && e.Props["id"] != "" && !finished[key] && !begun[key] {
			waits = append(waits, w.unbegunWait(e, iteration))
		}
		for _, child := range e.Children {
			walk(child, iteration, depth)
		}
	}
	walk(w.workflow, 0, 0)
	return waits
}

// unbegunWait returns a wait that begins after all signals arrived, so that no signal goes to two waits.
func (w *waitWriter) unbegunWait(e *tree.Element, iteration int) snapshot.Wait {
	wait := snapshot.Wait{
		NodeID: e.Props["id"], Iteration: iteration, Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting,
		Signal: e.Props["event"], StartedAtMs: w.Run.CreatedAtMs,
	}
	if correlation := e.Props["correlationId"]; correlation != "" {
		wait.CorrelationID = &correlation
	}
	for _, s := range w.signals {
		wait.StartedAtMs = max(wait.StartedAtMs, s.ReceivedAtMs+1)
	}
	return wait
}
