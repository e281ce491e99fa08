package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
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
	text = append(appendSignalContent(text, s), '}', '\n')
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// EncodeSignal is the row of a signal.
func EncodeSignal(s Signal) page.Row { return page.Row{Key: s.Digest(), Value: appendSignal(nil, s)} }

// DecodeSignal reads the row of a signal. Bytes that EncodeSignal would not have
// written, and a key that is not the signal's Digest, are objstore.ErrCorrupt.
func DecodeSignal(row page.Row) (Signal, error) {
	s, err := decodeSignal(row)
	if err != nil {
		return Signal{}, corrupt(objstore.ID{}, "signal %q: %v", row.Key, err)
	}
	return s, nil
}

func decodeSignal(row page.Row) (s Signal, err error) {
	if err := checkRaw(row.Value); err != nil {
		return Signal{}, err
	}
	m := metadata{rest: row.Value}
	m.name("correlationId")
	s.CorrelationID = nullable(&m, m.str)
	m.name("name")
	s.Name = m.str()
	m.name("payload")
	s.Payload = m.raw()
	m.name("receivedAtMs")
	s.ReceivedAtMs = m.int()
	m.name("receivedBy")
	s.ReceivedBy = nullable(&m, m.str)
	m.name("seq")
	s.Seq = m.int()
	m.close()
	if !m.done("") || !bytes.Equal(appendSignal(nil, s), row.Value) {
		return Signal{}, errNotCanonical
	}
	if err := s.check(); err != nil {
		return Signal{}, err
	}
	if s.Digest() != row.Key {
		return Signal{}, errNotDigest
	}
	return s, nil
}

var errNotDigest = errors.New("the key is not its digest")

func appendSignal(b []byte, s Signal) []byte {
	return append(appendIntMember(appendSignalContent(b, s), "seq", s.Seq), '}')
}

// appendSignalContent appends the members that the digest is of, without the brace at the end.
func appendSignalContent(b []byte, s Signal) []byte {
	b = appendNullable(append(b, '{'), "correlationId", s.CorrelationID, page.AppendString)
	b = appendStringMember(b, "name", s.Name)
	b = appendRaw(b, "payload", s.Payload)
	b = appendIntMember(b, "receivedAtMs", s.ReceivedAtMs)
	return appendNullable(b, "receivedBy", s.ReceivedBy, page.AppendString)
}

// check says what of a signal cannot be stored.
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

// parseSignal reads a signal as engines write it. An empty key is found out.
func parseSignal(key string, value json.RawMessage) (Signal, error) {
	var s Signal
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "seq":
			return field(value, &s.Seq)
		case "name":
			return field(value, &s.Name)
		case "correlationId":
			return field(value, &s.CorrelationID)
		case "payload":
			s.Payload = value
			return nil
		case "receivedAtMs":
			return field(value, &s.ReceivedAtMs)
		case "receivedBy":
			return field(value, &s.ReceivedBy)
		}
		return errUnknownField
	})
	if err == nil {
		err = s.check()
	}
	if err == nil && key != "" && s.Digest() != key {
		err = errNotDigest
	}
	if err != nil {
		return Signal{}, fmt.Errorf("signal %q: %w", cmp.Or(key, s.Name), err)
	}
	return s, nil
}
