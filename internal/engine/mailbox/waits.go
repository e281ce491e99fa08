package mailbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Waiting is one wait of a run, as people see it.
type Waiting struct {
	NodeID    string  `json:"nodeId"`
	Iteration int     `json:"iteration"`
	For       string  `json:"for"`       // approval, human, signal or timer
	What      string  `json:"what"`      // a title, a prompt, a signal's name or a time; "" if the mailbox row is missing
	DueAtMs   *int64  `json:"dueAtMs"`   // when the clock ends the wait, in Unix milliseconds; nil means never
	RequestID *string `json:"requestId"` // of a human request; otherwise nil
	// CorrelationID is the correlation id that the signal must have. It is nil if the wait demands no id.
	CorrelationID *string `json:"correlationId"`
	Ready         bool    `json:"ready"` // the wait can end, so a resume continues the run
}

// WaitsOf returns the waits of a run at the tip that rec has read, sorted by node id and iteration: those of waiting nodes,
// and the pending requests of an engine that has no nodes. at is the current time, which decides whether a timeout or a timer
// is over.
func WaitsOf(rec Recorder, at time.Time) ([]Waiting, error) {
	state := rec.State()
	nodes, err := waitingNodes(state)
	if err != nil {
		return nil, err
	}
	signals := NewSignalBook()
	waits := make([]Waiting, 0, len(nodes))
	for _, n := range nodes {
		// Ready stays true for a node without a mailbox row, because a resume begins its wait again.
		w := Waiting{NodeID: n.NodeID, Iteration: n.Iteration, Ready: true}
		switch n.State {
		case snapshot.NodeWaitingApproval:
			err = w.approval(state)
		case snapshot.NodeWaitingHuman:
			err = w.human(state, rec.Row().ID, at)
		case snapshot.NodeWaitingEvent:
			err = w.signal(state, signals, at)
		default:
			err = w.timer(state, at)
		}
		if err != nil {
			return nil, err
		}
		waits = append(waits, w)
	}
	return withRequests(waits, rec, at)
}

// withRequests returns waits with the pending human requests for which the state has no node.
func withRequests(waits []Waiting, rec Recorder, at time.Time) ([]Waiting, error) {
	state := rec.State()
	for h, err := range state.AllHumanRequests() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if h.Status != snapshot.HumanPending {
			continue
		}
		w := Waiting{NodeID: h.NodeID, Iteration: h.Iteration}
		if has, err := state.Nodes().Has(w.key()); err != nil {
			return nil, timeline.Explain(err)
		} else if has {
			continue
		}
		if err := w.human(state, rec.Row().ID, at); err != nil {
			return nil, err
		}
		waits = append(waits, w)
	}
	slices.SortStableFunc(waits, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration))
	})
	return waits, nil
}

// waitingNodes returns the waiting nodes of a state, sorted by id and iteration.
func waitingNodes(state *snapshot.State) ([]snapshot.Node, error) {
	var nodes []snapshot.Node
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if n.State.Waiting() {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b snapshot.Node) int {
		return cmp.Or(cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration))
	})
	return nodes, nil
}

// key returns the key of the wait's node.
func (w *Waiting) key() string { return snapshot.Key(w.NodeID, w.Iteration) }

// approval sets the fields of a wait for an approval. If the mailbox row is missing, it sets only For.
func (w *Waiting) approval(state *snapshot.State) error {
	w.For = "approval"
	a, ok, err := ReadRow(state.Approvals(), w.key(), snapshot.DecodeApproval)
	if err != nil || !ok {
		return err
	}
	w.What, w.Ready = a.Title, a.Status != snapshot.ApprovalRequested
	return nil
}

// human sets the fields of a wait for a human request. run is the run's id, and at is the current time. If the
// mailbox row is missing, human sets only For.
func (w *Waiting) human(state *snapshot.State, run string, at time.Time) error {
	w.For = "human"
	h, ok, err := ReadRow(state.HumanRequests(), w.key(), snapshot.DecodeHumanRequest)
	if err != nil || !ok {
		return err
	}
	w.What, w.DueAtMs, w.RequestID = h.Prompt, h.TimeoutAtMs, new(h.RequestID(run))
	w.Ready = h.Status != snapshot.HumanPending || isDue(h, at)
	return nil
}

// signal sets the fields of a wait for a signal. signals finds the signal that ends the wait, and at is the current
// time. If the mailbox row is missing, signal sets only For.
func (w *Waiting) signal(state *snapshot.State, signals *SignalBook, at time.Time) error {
	w.For = "signal"
	row, ok, err := ReadWait(state, w.NodeID, w.Iteration)
	if err != nil || !ok {
		return err
	}
	w.What, w.DueAtMs, w.CorrelationID = row.Signal, row.DueAtMs, row.CorrelationID
	_, came, err := signals.Find(state, row)
	w.Ready = came || row.DueAtMs != nil && *row.DueAtMs <= at.UnixMilli()
	return err
}

// timer sets the fields of a wait for a timer. at is the current time. If the mailbox row is missing, timer sets only
// For.
func (w *Waiting) timer(state *snapshot.State, at time.Time) error {
	w.For = "timer"
	row, ok, err := ReadWait(state, w.NodeID, w.Iteration)
	if err != nil || !ok {
		return err
	}
	w.DueAtMs = row.DueAtMs
	if row.DueAtMs != nil {
		w.What, w.Ready = ShowTime(*row.DueAtMs), *row.DueAtMs <= at.UnixMilli()
	}
	return nil
}

// Hint returns a hint for the wait of the run with the given id. The hint has the command that ends the wait, and the
// effect of the command. For an approval, it has two commands: one approves and one denies. For a timer, it has no
// command, but the time at which the timer fires.
func (w Waiting) Hint(run string) string {
	node := snapshot.Key(w.NodeID, w.Iteration)
	switch w.For {
	case "approval":
		return fmt.Sprintf("`git smithers approve %[2]s %[3]s` approves %[1]s, `git smithers deny %[2]s %[3]s` denies it",
			node, fault.Word(run), fault.Word(w.NodeID))
	case "human":
		return fmt.Sprintf("`git smithers answer %s %s` answers the question of %s", fault.Word(run), fault.Word(w.NodeID), node)
	case "signal":
		correlation := ""
		if w.CorrelationID != nil {
			correlation = " --correlation " + fault.Word(*w.CorrelationID)
		}
		return fmt.Sprintf("`git smithers signal %s %s%s` sends the signal that %s waits for",
			fault.Word(run), fault.Word(w.What), correlation, node)
	default:
		return fmt.Sprintf("the timer of %s fires at %s", node, w.What)
	}
}

// DueAt returns the time at which the clock ends a node's wait, in Unix milliseconds. It returns nil if the clock
// never ends the wait, or if the node has no pending request, signal wait or timer.
func DueAt(state *snapshot.State, n snapshot.Node) (*int64, error) {
	key := snapshot.Key(n.NodeID, n.Iteration)
	switch n.State {
	case snapshot.NodeWaitingHuman:
		row, ok, err := ReadRow(state.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil || !ok || row.Status != snapshot.HumanPending {
			return nil, err
		}
		return row.TimeoutAtMs, nil
	case snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
		row, ok, err := ReadRow(state.Waits(), key, snapshot.DecodeWait)
		if err != nil || !ok || row.Status != snapshot.WaitWaiting {
			return nil, err
		}
		return row.DueAtMs, nil
	default:
		return nil, nil
	}
}
