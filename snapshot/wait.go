package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The kinds of waits.
const (
	WaitSignal = "signal"
	WaitTimer  = "timer"
)

// The statuses of a wait.
const (
	WaitWaiting  = "waiting"
	WaitReceived = "received" // its signal came
	WaitFired    = "fired"    // its timer went off
	WaitExpired  = "expired"  // its signal did not come in time
)

// Wait is what a node waits for that is neither an approval nor a human request: a
// signal or a time. Its key in the collection "waits" is that of its node.
type Wait struct {
	NodeID         string  `json:"nodeId"`
	Iteration      int     `json:"iteration"`
	Attempt        int     `json:"attempt"` // of the node, that waits
	Kind           string  `json:"kind"`    // signal, timer
	Status         string  `json:"status"`  // waiting, received, fired, expired
	Signal         string  `json:"signal,omitempty"`
	CorrelationID  *string `json:"correlationId"`            // that the signal must have; nil: it must have none
	AnyCorrelation bool    `json:"anyCorrelation,omitempty"` // whatever the signal has; CorrelationID is nil
	StartedAtMs    int64   `json:"startedAtMs"`
	DueAtMs        *int64  `json:"dueAtMs"`             // when a timer fires, or waiting for a signal is over; nil: never
	EndedAtMs      *int64  `json:"endedAtMs"`           // nil while it waits
	SignalSeq      *int64  `json:"signalSeq,omitempty"` // of the signal that was received; else of the one that the node's attempt before received
}

// EncodeWait is the row of a wait.
func EncodeWait(w Wait) page.Row {
	return page.Row{Key: Key(w.NodeID, w.Iteration), Value: appendWait(nil, w)}
}

// DecodeWait reads the row of a wait. Bytes that EncodeWait would not have written
// are objstore.ErrCorrupt.
func DecodeWait(row page.Row) (Wait, error) {
	w, err := decodeWait(row)
	if err != nil {
		return Wait{}, corrupt(objstore.ID{}, "wait %q: %v", row.Key, err)
	}
	return w, nil
}

func decodeWait(row page.Row) (w Wait, err error) {
	if w.NodeID, w.Iteration, err = SplitKey(row.Key); err != nil {
		return Wait{}, err
	}
	m := metadata{rest: row.Value}
	w.AnyCorrelation = m.optionalTrue("anyCorrelation")
	m.name("attempt")
	w.Attempt = int(m.int())
	m.name("correlationId")
	w.CorrelationID = nullable(&m, m.str)
	m.name("dueAtMs")
	w.DueAtMs = nullable(&m, m.int)
	m.name("endedAtMs")
	w.EndedAtMs = nullable(&m, m.int)
	m.name("kind")
	w.Kind = m.str()
	w.Signal = m.optionalStr("signal")
	if m.optional("signalSeq") {
		w.SignalSeq = new(m.int())
	}
	m.name("startedAtMs")
	w.StartedAtMs = m.int()
	m.name("status")
	w.Status = m.str()
	m.close()
	if !m.done("") || !bytes.Equal(appendWait(nil, w), row.Value) {
		return Wait{}, errNotCanonical
	}
	if err := w.check(); err != nil {
		return Wait{}, err
	}
	return w, nil
}

func appendWait(b []byte, w Wait) []byte {
	b = appendTrue(append(b, '{'), "anyCorrelation", w.AnyCorrelation)
	b = appendIntMember(b, "attempt", int64(w.Attempt))
	b = appendNullable(b, "correlationId", w.CorrelationID, page.AppendString)
	b = appendNullable(b, "dueAtMs", w.DueAtMs, appendInt64)
	b = appendNullable(b, "endedAtMs", w.EndedAtMs, appendInt64)
	b = appendStringMember(b, "kind", w.Kind)
	b = appendOptional(b, "signal", w.Signal)
	if w.SignalSeq != nil {
		b = appendIntMember(b, "signalSeq", *w.SignalSeq)
	}
	b = appendIntMember(b, "startedAtMs", w.StartedAtMs)
	b = appendStringMember(b, "status", w.Status)
	return append(b, '}')
}

// check says what of a wait cannot be stored.
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
		err = errors.New("endedAtMs: null if and only if it waits")
	}
	return cmp.Or(
		err,
		checkAttemptNumber(w.Attempt),
		checkTimes(&w.StartedAtMs, w.DueAtMs, w.EndedAtMs),
		checkTexts(&w.Signal, w.CorrelationID),
	)
}

// checkSignal refuses what a wait for a signal does not have.
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
		return errors.New("correlationId: of a wait for any")
	case w.Status == WaitReceived && w.SignalSeq == nil:
		return errors.New("signalSeq: missing in a wait whose signal was received")
	case w.SignalSeq != nil && (*w.SignalSeq < 0 || *w.SignalSeq >= page.MaxRows):
		return errors.New("signalSeq: out of range")
	case w.Status == WaitExpired && w.DueAtMs == nil:
		return errors.New("dueAtMs: missing in a wait that has expired")
	}
	return nil
}

// checkTimer refuses what a timer does not have.
func (w Wait) checkTimer() error {
	switch w.Status {
	case WaitWaiting, WaitFired:
	default:
		return fmt.Errorf("status: unknown status %q of a timer", w.Status)
	}
	switch {
	case w.Signal != "" || w.CorrelationID != nil || w.AnyCorrelation || w.SignalSeq != nil:
		return errors.New("signal, correlationId, anyCorrelation or signalSeq: of a timer")
	case w.DueAtMs == nil:
		return errors.New("dueAtMs: missing")
	}
	return nil
}

// parseWait reads a wait as engines write it. With a key, nodeId and iteration may be
// left out but must not differ.
func parseWait(key string, value json.RawMessage) (Wait, error) {
	var w Wait
	place := rowPlace{key: key}
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "attempt":
			return field(value, &w.Attempt)
		case "kind":
			return field(value, &w.Kind)
		case "status":
			return field(value, &w.Status)
		case "signal":
			return field(value, &w.Signal)
		case "correlationId":
			return field(value, &w.CorrelationID)
		case "anyCorrelation":
			return field(value, &w.AnyCorrelation)
		case "startedAtMs":
			return field(value, &w.StartedAtMs)
		case "dueAtMs":
			return field(value, &w.DueAtMs)
		case "endedAtMs":
			return field(value, &w.EndedAtMs)
		case "signalSeq":
			return field(value, &w.SignalSeq)
		}
		return place.member(name, value)
	})
	if err == nil {
		w.NodeID, w.Iteration, err = place.resolve()
	}
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return Wait{}, fmt.Errorf("wait %q: %w", cmp.Or(key, w.NodeID), err)
	}
	return w, nil
}
