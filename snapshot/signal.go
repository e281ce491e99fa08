package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Signal is a message that a run has received. In the collection "signals" its key
// is its Digest, so that identical signals are one, and Seq is the number of signals
// that the state had before: 0, 1, 2, … without gaps.
type Signal struct {
	Seq           int64           `json:"seq"`
	Name          string          `json:"name"`
	CorrelationID *string         `json:"correlationId"` // nil for none
	Payload       json.RawMessage `json:"payload"`       // any JSON value, byte for byte
	ReceivedAtMs  int64           `json:"receivedAtMs"`
	ReceivedBy    *string         `json:"receivedBy"` // who sent it; nil: nobody says
}

// Digest names the signal by everything but its Seq: SHA-256, in lower-case hex, of
// the name, correlation id, payload, time and sender, as docs/format.md says.
func (s Signal) Digest() string {
	text := append(make([]byte, 0, 512), "smithers signal 1\n"...)
	text = append(row.AppendObject(text, signalContent, &s), '\n')
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// signalKind is the rows of the collection "signals".
var signalKind = row.Kind[Signal]{
	Name: "signal",
	Key: row.Key[Signal]{
		Of:    func(s *Signal) string { return s.Digest() },
		Title: func(s *Signal) string { return s.Name },
	},
	Fields: append(slices.Clone(signalContent), row.Int("seq", func(s *Signal) *int64 { return &s.Seq })),
	Check:  Signal.check,
	Valid:  checkRaw,
}

// signalContent is the members that a signal's digest covers.
var signalContent = []row.Field[Signal]{
	row.NullText("correlationId", func(s *Signal) **string { return &s.CorrelationID }),
	row.Text("name", func(s *Signal) *string { return &s.Name }),
	row.JSON("payload", func(s *Signal) *json.RawMessage { return &s.Payload }),
	row.Int("receivedAtMs", func(s *Signal) *int64 { return &s.ReceivedAtMs }),
	row.NullText("receivedBy", func(s *Signal) **string { return &s.ReceivedBy }),
}

// EncodeSignal returns the row of a signal.
func EncodeSignal(s Signal) page.Row { return signalKind.Encode(s) }

// DecodeSignal reads the row of a signal. Bytes that EncodeSignal would not have
// written, and a key that is not the signal's Digest, are objstore.ErrCorrupt.
func DecodeSignal(r page.Row) (Signal, error) { return signalKind.Decode(r) }

// check returns why a signal cannot be stored.
func (s Signal) check() error {
	switch {
	case s.Name == "":
		return errors.New("name: missing")
	case s.Payload == nil:
		return errors.New("payload: missing")
	case s.Seq < 0 || s.Seq >= page.MaxRows:
		return errors.New("seq: out of range")
	}
	return cmp.Or(checkTimes(&s.ReceivedAtMs), checkTexts(&s.Name, s.CorrelationID, s.ReceivedBy))
}
