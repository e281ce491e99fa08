package snapshot

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// The kinds of waits.
const (
	WaitSignal = "signal"
	WaitTimer  = "timer"
)

// The statuses of a wait.
const (
	WaitWaiting  = "waiting"
	WaitReceived = "received" // the signal arrived
	WaitFired    = "fired"    // the timer fired
	WaitExpired  = "expired"  // the signal did not arrive in time
)

// Wait is a node's wait for a signal or a time. In the collection "waits", the key of the wait's row is the key of its
// node: see Key.
type Wait struct {
	NodeID         string  `json:"nodeId"`
	Iteration      int     `json:"iteration"`
	Attempt        int     `json:"attempt"`                  // the number of the attempt that waits
	Kind           string  `json:"kind"`                     // signal, timer
	Status         string  `json:"status"`                   // waiting, received, fired, expired
	Signal         string  `json:"signal,omitempty"`         // the name of the signal; "" for a timer
	CorrelationID  *string `json:"correlationId"`            // the signal must have this id; nil means that the signal must have no id
	AnyCorrelation bool    `json:"anyCorrelation,omitempty"` // the signal may have any id or no id; CorrelationID is then nil
	StartedAtMs    int64   `json:"startedAtMs"`
	DueAtMs        *int64  `json:"dueAtMs"`             // when the timer fires or the wait for a signal ends; nil means never
	EndedAtMs      *int64  `json:"endedAtMs"`           // nil during the wait
	SignalSeq      *int64  `json:"signalSeq,omitempty"` // the Seq of the received signal; during the wait, of the previous attempt's signal
}

// waitKind declares the rows of the collection "waits".
var waitKind = row.Kind[Wait]{
	Name: "wait",
	Key:  nodeKey(func(w *Wait) (*string, *int) { return &w.NodeID, &w.Iteration }),
	Fields: []row.Field[Wait]{
		row.True("anyCorrelation", func(w *Wait) *bool { return &w.AnyCorrelation }),
		row.Int("attempt", func(w *Wait) *int { return &w.Attempt }),
		row.NullText("correlationId", func(w *Wait) **string { return &w.CorrelationID }),
		row.NullInt("dueAtMs", func(w *Wait) **int64 { return &w.DueAtMs }),
		row.NullInt("endedAtMs", func(w *Wait) **int64 { return &w.EndedAtMs }),
		row.Text("kind", func(w *Wait) *string { return &w.Kind }),
		row.OptionalText("signal", func(w *Wait) *string { return &w.Signal }),
		row.OptionalInt("signalSeq", func(w *Wait) **int64 { return &w.SignalSeq }),
		row.Int("startedAtMs", func(w *Wait) *int64 { return &w.StartedAtMs }),
		row.Text("status", func(w *Wait) *string { return &w.Status }),
	},
	Check: Wait.check,
}

// EncodeWait returns the row of a wait, without checking the wait.
func EncodeWait(w Wait) page.Row { return waitKind.Encode(w) }

// DecodeWait decodes the row of a wait. If EncodeWait would not have written the row, or the wait is invalid,
// the error wraps objstore.ErrCorrupt.
func DecodeWait(r page.Row) (Wait, error) { return waitKind.Decode(r) }

// check returns an error if the wait cannot be stored: if the kind or status is unknown, if fields contradict the kind
// or status, if a number or time is out of range, or if a text is not valid UTF-8.
func (w Wait) check() error {
	var err error
	switch w.Kind {
	case WaitSignal:
		err = w.checkSignal()
	case WaitTimer:
		err = w.checkTimer()
	default:
		err = fmt.Errorf("kind: unknown kind %q", w.Kind)
	}
	if err == nil && (w.Status == WaitWaiting) != (w.EndedAtMs == nil) {
		err = errors.New("endedAtMs: must be null while the status is waiting, and set otherwise")
	}
	return cmp.Or(
		err,
		checkAttemptNumber(w.Attempt),
		checkTimes(&w.StartedAtMs, w.DueAtMs, w.EndedAtMs),
		checkTexts(&w.Signal, w.CorrelationID),
	)
}

// checkSignal returns an error if w cannot be a wait for a signal. The status must be waiting, received or expired.
// Signal must be set. CorrelationID must be nil if AnyCorrelation is true. SignalSeq must be in range, and is required
// if the status is received. DueAtMs is required if the status is expired.
func (w Wait) checkSignal() error {
	switch w.Status {
	case WaitWaiting, WaitReceived, WaitExpired:
	default:
		return fmt.Errorf("status: unknown status %q of a wait for a signal", w.Status)
	}
	switch {
	case w.Signal == "":
		return errors.New("signal: missing")
	case w.AnyCorrelation && w.CorrelationID != nil:
		return errors.New("correlationId: set, but anyCorrelation is true")
	case w.Status == WaitReceived && w.SignalSeq == nil:
		return errors.New("signalSeq: missing in a wait whose signal was received")
	case w.SignalSeq != nil && (*w.SignalSeq < 0 || *w.SignalSeq >= page.MaxRows):
		return errors.New("signalSeq: out of range")
	case w.Status == WaitExpired && w.DueAtMs == nil:
		return errors.New("dueAtMs: missing in a wait that has expired")
	}
	return nil
}

// checkTimer returns an error if w cannot be a timer: if the status is neither waiting nor fired, if DueAtMs is
// missing, or if a field that belongs to waits for a signal is set.
func (w Wait) checkTimer() error {
	switch w.Status {
	case WaitWaiting, WaitFired:
	default:
		return fmt.Errorf("status: unknown status %q of a timer", w.Status)
	}
	switch {
	case w.Signal != "" || w.CorrelationID != nil || w.AnyCorrelation || w.SignalSeq != nil:
		return errors.New("signal, correlationId, anyCorrelation or signalSeq: set in a timer")
	case w.DueAtMs == nil:
		return errors.New("dueAtMs: missing")
	}
	return nil
}
