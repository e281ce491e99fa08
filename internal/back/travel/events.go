package travel

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// outcome is the end of a travel, reset or undo. err is nil if the operation succeeded.
type outcome struct{ err error }

// started returns a list with the start event of a travel, reset or undo. newest is the number of the run's newest
// frame before the operation.
func (t *plan) started(newest int64) []snapshot.Event {
	return []snapshot.Event{t.event("TimeTravelStarted", newest, nil, t.store.Now().UnixMilli())}
}

// finished returns the events of the new frame: NodePending for every node in t.out.Reset, the end of the
// operation, and the new status if turn, the change to the run, sets the status. at is the time in milliseconds
// since 1970.
func (t *plan) finished(turn *turn, at int64) []snapshot.Event {
	var events []snapshot.Event
	for _, key := range t.out.Reset {
		id, iteration, err := snapshot.SplitKey(key)
		if err != nil {
			continue // unreachable, because every node key is valid
		}
		events = append(events, timeline.NewEvent("NodePending", at, struct {
			Run       string `json:"runId"`
			Node      string `json:"nodeId"`
			Iteration int    `json:"iteration"`
		}{t.out.Run, id, iteration}))
	}
	events = append(events, t.event("TimeTravelFinished", t.out.From, &outcome{}, at))
	if turn.status != "" {
		events = append(events, statusEvent(t.out.Run, turn.status, at))
	}
	return events
}

// statusEvent returns the event that the status of run has changed to status. at is the time in milliseconds
// since 1970.
func statusEvent(run string, status snapshot.RunStatus, at int64) snapshot.Event {
	return timeline.NewEvent("RunStatusChanged", at, struct {
		Run    string             `json:"runId"`
		Status snapshot.RunStatus `json:"status"`
	}{run, status})
}

// event returns an event of the given kind for the travel, reset or undo. from is the newest frame before the
// operation. result has the outcome, or is nil if the operation has not ended. at is the time in milliseconds
// since 1970.
func (t *plan) event(kind string, from int64, result *outcome, at int64) snapshot.Event {
	payload := struct {
		Run       string `json:"runId"`
		Op        string `json:"op"`
		From      int64  `json:"fromFrameNo"`
		To        int64  `json:"toFrameNo"`
		ToRun     string `json:"toRunId,omitempty"`
		Node      string `json:"nodeId,omitempty"`
		Iteration *int   `json:"iteration,omitempty"`
		Attempt   int    `json:"attempt,omitempty"`
		Success   *bool  `json:"success,omitempty"`
		Error     string `json:"error,omitempty"`
	}{
		Run: t.out.Run, Op: t.op.Kind, From: from, To: t.out.To.Frame,
		Node: t.op.NodeID, Attempt: t.op.Attempt,
	}
	if t.out.To.Run != t.out.Run {
		payload.ToRun = t.out.To.Run
	}
	if t.op.NodeID != "" {
		payload.Iteration = &t.op.Iteration
	}
	if result != nil {
		payload.Success = new(result.err == nil)
		if result.err != nil {
			payload.Error = string(fault.CodeOf(result.err)) // not the message, which may contain private paths
		}
	}
	return timeline.NewEvent(kind, at, payload)
}
