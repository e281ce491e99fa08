package export

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waitRows returns the rows of table, which is _smithers_attempts, for a run that has changed since its import. It
// returns one row for each wait that has received a signal, or that can receive a signal of the run.
//
// Without such a row, Smithers would begin the wait again and stop there, although the signal is in the database.
// Smithers would also give a signal that one wait has received to the next wait. A wait without a signal needs no row:
// Smithers begins the wait again, with its timeout.
func (x *runExport) waitRows() ([]source.Row, error) {
	rendered, err := x.store.Rendered(x.Entry)
	if err != nil {
		return nil, err
	}
	peers, err := x.signalSeqs()
	if err != nil {
		return nil, err
	}
	w := &waitWriter{Facts: x.facts, peers: peers, taken: make(map[int64]bool), workflow: tree.Parse(string(rendered))}
	return w.rows(), nil
}

// waitWriter builds the rows of a run's waits.
type waitWriter struct {
	*tables.Facts

	peers    map[string]int64  // Smithers' numbers of signals, by digest
	workflow *tree.Element     // the newest rendered tree; nil if the frame has no tree
	signals  []snapshot.Signal // the run's signals, sorted by Seq
	taken    map[int64]bool    // the signals that a wait has received, by Seq
}

// rows returns the rows of the waits that have a signal, and sets w.signals and w.taken. The first rows are those
// of waits that have received a signal. Then come waits that can receive one of the signals: the unfinished waits
// of the mailbox, and then the waits that the run has not reached. rows leaves out expired waits.
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
	// Smithers gives the signals that no wait has received to these waits, in this order.
	for _, wait := range append(waiting, w.unbegun(finished, begun)...) {
		if s := w.next(wait); s != nil {
			w.taken[s.Seq] = true
			wait.SignalSeq, wait.Status, wait.EndedAtMs = &s.Seq, snapshot.WaitReceived, &s.ReceivedAtMs
			rows = w.add(rows, tasks[wait.NodeID], wait, false)
		}
	}
	return rows
}

// add appends the row of wait to rows and returns the longer slice. wait must have received a signal. If w.signals
// lacks this signal, add returns rows unchanged. If finished is true, the row is a finished attempt. If finished
// is false, the row is a waiting attempt, and Smithers takes the signal when it resumes the run. task is the
// wait's element, or nil.
func (w *waitWriter) add(rows []source.Row, task *tree.Element, wait snapshot.Wait, finished bool) []source.Row {
	i := slices.IndexFunc(w.signals, func(s snapshot.Signal) bool { return s.Seq == *wait.SignalSeq })
	if i < 0 {
		return rows
	}
	if task == nil {
		task = new(tree.Element)
	}
	peer := w.signals[i]
	peer.Seq = w.peers[peer.Digest()] // Smithers' number
	row := source.Row{
		"node_id": dbrow.Text(wait.NodeID), "iteration": dbrow.Int(int64(wait.Iteration)), "attempt": dbrow.Int(int64(wait.Attempt)),
		"state": dbrow.Text(string(snapshot.NodeWaitingEvent)), "started_at_ms": dbrow.Int(wait.StartedAtMs), "cached": dbrow.Int(0),
		"meta_json": dbrow.Text(tables.WaitMeta(task, wait, peer)),
	}
	if finished {
		row["state"], row["finished_at_ms"] = dbrow.Text(snapshot.AttemptFinished), dbrow.NullableInt(wait.EndedAtMs)
	}
	return append(rows, row)
}

// next returns the oldest signal that wait can receive, or nil if there is no such signal. The signal must have
// the name and the correlation of wait. A signal that another wait has taken counts only if wait had begun when
// the signal arrived: Smithers gives a signal to all waits that had begun by then.
func (w *waitWriter) next(wait snapshot.Wait) *snapshot.Signal {
	for i, s := range w.signals {
		free := !w.taken[s.Seq] || s.ReceivedAtMs >= wait.StartedAtMs
		if free && s.Name == wait.Signal && stored.SameCorrelation(s.CorrelationID, wait.CorrelationID) {
			return &w.signals[i]
		}
	}
	return nil
}

// unbegun returns the waits for signals that are in the newest rendered tree and that the run has not reached, in
// the order of the tree. finished has the keys of finished nodes, and begun has the keys of begun waits.
//
// A wait in a loop belongs to the loop's current iteration. unbegun skips loops that have ended. It also skips
// nested loops, because Smithers counts their iterations in another way.
func (w *waitWriter) unbegun(finished, begun map[string]bool) (waits []snapshot.Wait) {
	iterations := make(map[string]int)
	for _, l := range w.Whole.Loops {
		if !l.Done {
			iterations[l.RalphID] = l.Iteration
		}
	}
	// iteration is the iteration of the innermost loop around e, and depth is the number of loops around e.
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

// unbegunWait returns the wait for the element e at an iteration. The wait begins after all signals have arrived,
// so that it receives no signal that another wait has taken.
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
