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

// Waiting is something that a run waits for, as people see it.
type Waiting struct {
	NodeID    string  `json:"nodeId"`
	Iteration int     `json:"iteration"`
	For       string  `json:"for"`  // approval, human, signal, timer
	What      string  `json:"what"` // a title, a prompt, a signal's name or a time
	DueAtMs   *int64  `json:"dueAtMs"`
	RequestID *string `json:"requestId"` // of a human request
	// CorrelationID is the correlation id that the signal must have; nil if it is not known yet.
	CorrelationID *string `json:"correlationId"`
	Ready         bool    `json:"ready"` // resume continues, because the run has what it waits for
}

// WaitsOf lists what a run waits for, in the order of its nodes' keys.
func WaitsOf(rec Recorder, at time.Time) ([]Waiting, error) {
	state := rec.State()
	nodes, err := waitingNodes(state)
	if err != nil {
		return nil, err
	}
	signals := NewSignalBook()
	waits := make([]Waiting, 0, len(nodes))
	for _, n := range nodes {
		w := Waiting{NodeID: n.NodeID, Iteration: n.Iteration, Ready: true} // a node without a mailbox row waits again
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
	return waits, nil
}

// waitingNodes returns the waiting nodes of a state, sorted.
func waitingNodes(state *snapshot.State) ([]snapshot.Node, error) {
	var nodes []snapshot.Node
	for row, err := range state.Nodes().Rows() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		n, err := snapshot.DecodeNode(row)
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

func (w *Waiting) key() string { return snapshot.Key(w.NodeID, w.Iteration) }

func (w *Waiting) approval(state *snapshot.State) error {
	w.For = "approval"
	a, ok, err := ReadRow(state.Approvals(), w.key(), snapshot.DecodeApproval)
	if err != nil || !ok {
		return err
	}
	w.What, w.Ready = a.Title, a.Status != snapshot.ApprovalRequested
	return nil
}

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

// Hint returns the command that provides what the run waits for.
func (w Waiting) Hint(run string) string {
	node := snapshot.Key(w.NodeID, w.Iteration)
	switch w.For {
	case "approval":
		return fmt.Sprintf("%s: `git smithers approve %s %s`, or `deny`", node, fault.Word(run), fault.Word(w.NodeID))
	case "human":
		return fmt.Sprintf("%s: `git smithers answer %s %s`", node, fault.Word(run), fault.Word(w.NodeID))
	case "signal":
		correlation := ""
		if w.CorrelationID != nil {
			correlation = " --correlation " + fault.Word(*w.CorrelationID)
		}
		return fmt.Sprintf("%s: `git smithers signal %s %s%s`", node, fault.Word(run), fault.Word(w.What), correlation)
	default:
		return fmt.Sprintf("%s: %s", node, w.What)
	}
}

// DueAt returns when the clock ends a node's wait; nil for never.
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
