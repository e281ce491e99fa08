package tables

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// WaitRow is an attempt's wait for a signal or a time. Smithers stores the wait in the attempt's meta_json.
type WaitRow struct {
	Wait   snapshot.Wait // the wait in the state waiting
	ended  int64         // the time of the wait's end, in Unix milliseconds; Never while the wait lasts
	status string        // the status at the wait's end; "" if the wait ended without a signal, a time limit or a timer
	Signal int64         // Smithers' number of the received signal; NoNumber if the wait has received no signal
}

// ReadWait returns the wait of the attempt a. row is the attempt's row in _smithers_attempts. ok is false if the
// attempt has no wait, or if a run cannot store the wait.
func ReadWait(row source.Row, a snapshot.Attempt) (w WaitRow, ok bool) {
	meta, err := jsonobject.Read(dbrow.ColumnJSON(row, "meta_json"))
	if err != nil {
		return WaitRow{}, false
	}
	w = WaitRow{
		Wait: snapshot.Wait{
			NodeID: a.NodeID, Iteration: a.Iteration, Attempt: a.Attempt, Status: snapshot.WaitWaiting, StartedAtMs: a.StartedAtMs,
		},
		ended: Never, Signal: NoNumber,
	}
	if a.FinishedAtMs != nil {
		w.ended = *a.FinishedAtMs
	} else if !snapshot.NodeState(a.State).Waiting() {
		w.ended = a.StartedAtMs // the end is unknown
	}
	for _, m := range meta {
		of, err := jsonobject.Read(m.Value)
		switch {
		case err != nil:
		case m.Name == "waitForEvent":
			w.ofSignal(of)
		case m.Name == "timer":
			w.ofTimer(of)
		}
	}
	if w.Wait.Kind == "" {
		return WaitRow{}, false
	}
	_, err = snapshot.DecodeWait(snapshot.EncodeWait(w.Wait))
	return w, err == nil
}

// ofSignal makes w a wait for a signal. members has the members of the object waitForEvent in meta_json. ofSignal
// sets the signal's name and correlation, the time limit, and, if the wait has ended, how and when it ended.
func (w *WaitRow) ofSignal(members []jsonobject.Member) {
	w.Wait.Kind, w.Wait.Signal = snapshot.WaitSignal, strings.TrimSpace(jsonobject.TextOf(members, "signalName"))
	if correlation := strings.TrimSpace(jsonobject.TextOf(members, "correlationId")); correlation != "" {
		w.Wait.CorrelationID = &correlation
	}
	if timeout := memberTime(members, "timeoutMs"); timeout != nil {
		w.Wait.DueAtMs = new(min(w.Wait.StartedAtMs+*timeout, dbrow.MaxTime))
	}
	seq, received, timedOut := memberTime(members, "resolvedSignalSeq"), memberTime(members, "receivedAtMs"), memberTime(members, "timedOutAtMs")
	switch {
	case seq != nil:
		// The wait ends when the signal arrives. The attempt ends later, when the run continues.
		if received != nil {
			w.ended = max(*received, w.Wait.StartedAtMs)
		}
		// If neither the signal's arrival nor the attempt's end is known, the wait has not ended.
		if w.ended != Never {
			w.status, w.Signal = snapshot.WaitReceived, *seq
		}
	case timedOut != nil:
		w.status, w.ended = snapshot.WaitExpired, *timedOut
		w.Wait.DueAtMs = cmp.Or(w.Wait.DueAtMs, timedOut)
	}
}

// ofTimer makes w a wait for a timer. members has the members of the object timer in meta_json. If the timer has no
// valid time, ofTimer changes nothing.
func (w *WaitRow) ofTimer(members []jsonobject.Member) {
	due := memberTime(members, "firesAtMs")
	if due == nil {
		return
	}
	w.Wait.Kind, w.Wait.DueAtMs = snapshot.WaitTimer, due
	if fired := memberTime(members, "firedAtMs"); fired != nil {
		w.status, w.ended = snapshot.WaitFired, *fired
	}
}

// memberTime returns the number in the first member with the given name, rounded down. It returns nil if the
// member is missing or is not a number from 0 to dbrow.MaxTime.
func memberTime(members []jsonobject.Member, name string) *int64 {
	for _, m := range members {
		if m.Name != name {
			continue
		}
		n, err := strconv.ParseFloat(string(m.Value), 64)
		if err != nil || n < 0 || n > dbrow.MaxTime {
			return nil
		}
		return new(int64(math.Floor(n)))
	}
	return nil
}

// Then returns the wait as it was at the time atMs. signals maps Smithers' number of a signal to the signal's number in
// the run's state. ok is false in two cases: the wait had ended by atMs without a signal, a time limit or a timer; or
// the wait had received a signal by atMs that signals lacks.
func (w WaitRow) Then(atMs int64, signals map[int64]int64) (was snapshot.Wait, ok bool) {
	was = w.Wait
	if w.ended == Never || atMs < w.ended {
		return was, true
	}
	if was.Status = w.status; was.Status == "" {
		return was, false
	}
	was.EndedAtMs = &w.ended
	if w.status == snapshot.WaitReceived {
		seq, known := signals[w.Signal]
		was.SignalSeq = &seq
		return was, known
	}
	return was, true
}

// WaitMeta returns the value of meta_json for w, a wait that has received a signal. e is the element of the task in the
// rendered tree. received is the signal, and its Seq is the number that Smithers gives to the signal.
func WaitMeta(e *tree.Element, w snapshot.Wait, received snapshot.Signal) string {
	timeout := "null"
	if w.DueAtMs != nil {
		timeout = strconv.FormatInt(*w.DueAtMs-w.StartedAtMs, 10)
	}
	return `{"kind":"wait-for-event","waitForEvent":{"signalName":` + jsonobject.Quote(w.Signal) + `,"correlationId":` + string(jsonobject.AppendNullable(nil, w.CorrelationID)) +
		`,"onTimeout":` + e.Text("onTimeout") + `,"timeoutMs":` + timeout + `,"waitAsync":` + strconv.FormatBool(e.Props["waitAsync"] == "true") +
		`,"startedAtMs":` + strconv.FormatInt(w.StartedAtMs, 10) + `,"resolvedSignalSeq":` + strconv.FormatInt(received.Seq, 10) +
		`,"receivedAtMs":` + strconv.FormatInt(received.ReceivedAtMs, 10) + `,"timedOutAtMs":null}}`
}
