package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// Signal is a message that a run has received. The key of its row in the collection "signals" is its Digest, so
// identical signals are stored once. Seq is the number of earlier signals in the state: 0, 1, 2, … without
// gaps.
type Signal struct {
	Seq           int64           `json:"seq"`
	Name          string          `json:"name"`
	CorrelationID *string         `json:"correlationId"` // nil if the signal has no correlation id
	Payload       json.RawMessage `json:"payload"`       // any JSON value, byte for byte
	ReceivedAtMs  int64           `json:"receivedAtMs"`
	ReceivedBy    *string         `json:"receivedBy"` // the sender; nil if unknown
}

// Digest returns the SHA-256 of the name, correlation id, payload, time and sender, in lower-case hex, as
// docs/format.md defines it. The digest does not cover Seq.
func (s Signal) Digest() string {
	text := append(make([]byte, 0, 512), "smithers signal 1\n"...)
	text = append(row.AppendObject(text, signalContent, &s), '\n')
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// signalKind declares the rows of the collection "signals".
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

// signalContent declares the members that a signal's digest covers.
var signalContent = []row.Field[Signal]{
	row.NullText("correlationId", func(s *Signal) **string { return &s.CorrelationID }),
	row.Text("name", func(s *Signal) *string { return &s.Name }),
	row.JSON("payload", func(s *Signal) *json.RawMessage { return &s.Payload }),
	row.Int("receivedAtMs", func(s *Signal) *int64 { return &s.ReceivedAtMs }),
	row.NullText("receivedBy", func(s *Signal) **string { return &s.ReceivedBy }),
}

// EncodeSignal returns the row of a signal, without checking the signal.
func EncodeSignal(s Signal) page.Row { return signalKind.Encode(s) }

// DecodeSignal decodes the row of a signal. If EncodeSignal would not have written the row, or the key is not
// the signal's Digest, or the signal is invalid, the error wraps objstore.ErrCorrupt.
func DecodeSignal(r page.Row) (Signal, error) { return signalKind.Decode(r) }

// check returns an error if the signal cannot be stored: if the name or the payload is missing, Seq or the time is out
// of range, or a text is not valid UTF-8.
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

// signalRows returns the description of the collection of signals. It makes the collection check that the Seqs of its
// signals are 0, 1, 2, … without gaps.
func signalRows() *collection {
	c := rowsOf(CollectionSignals, inMailbox, &signalKind, "payload", "receivedBy")
	c.edited, c.together, c.dump = checkSeqs, verifySeqs, dumpSignals
	return c
}

// checkSeqs returns an error that wraps ErrInvalid unless the Seqs in the collection after are 0, 1, 2, … without
// gaps. The collection before must be valid, and the collection after must be the result of applying changes to it.
// checkSeqs reads only the changed signals or, if a change removes a signal, all signals.
func checkSeqs(before, after *page.Collection, changes []page.Change) error {
	if len(changes) == 0 {
		return nil
	}
	news := make(map[string]page.Change, len(changes))
	for _, c := range changes {
		news[c.Key] = c
		if c.Value == nil {
			return checkAllSeqs(after)
		}
	}
	// No signal is removed, so the new signals must have the next Seqs. The key of a signal is the digest of all its
	// members but Seq. So a changed row of a known signal has another Seq, which is an error.
	counts := seqCounter{from: int64(before.Len()), to: int64(after.Len())}
	for _, c := range news {
		signal, err := DecodeSignal(page.Row(c))
		if err != nil {
			return err
		}
		value, known, err := before.Get(c.Key)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", CollectionSignals, err)
		case known && string(value) != string(c.Value) || !known && !counts.add(signal.Seq):
			return invalid("signal %q: seq %d: must be the number of earlier signals", c.Key, signal.Seq)
		}
	}
	return nil
}

// checkAllSeqs returns an error that wraps ErrInvalid unless the Seqs of signals are 0, 1, 2, … without gaps.
// It reads all signals.
func checkAllSeqs(signals *page.Collection) error {
	counts := seqCounter{to: int64(signals.Len())}
	for signal, err := range decoded(signals, DecodeSignal) {
		if err != nil {
			return fmt.Errorf("%s: %w", CollectionSignals, err)
		}
		if !counts.add(signal.Seq) {
			return invalid("signal %q: seq %d: must be the number of earlier signals", signal.Digest(), signal.Seq)
		}
	}
	return nil
}

// verifySeqs returns an error that wraps objstore.ErrCorrupt unless the Seqs of signals, a collection of stored
// signals, are 0, 1, 2, … without gaps. known is an earlier collection whose Seqs were verified. verifySeqs reads
// only the signals that differ between both collections.
func verifySeqs(known, signals *page.Collection) error {
	removed := make(map[int64]bool)
	var added []Signal
	for delta, err := range page.Diff(known, signals) {
		if err == nil && delta.From != nil {
			var signal Signal
			signal, err = DecodeSignal(page.Row{Key: delta.Key, Value: delta.From})
			removed[signal.Seq] = true
		}
		if err == nil && delta.To != nil {
			var signal Signal
			signal, err = DecodeSignal(page.Row{Key: delta.Key, Value: delta.To})
			added = append(added, signal)
		}
		if err != nil {
			return err
		}
	}
	// The collection known has n signals, with the Seqs 0 to n-1; n is the variable before. So an added Seq less
	// than n must replace a removed Seq, and each Seq that is now too large must have been removed.
	before := int64(known.Len())
	counts := seqCounter{to: int64(signals.Len())}
	for _, signal := range added {
		if !counts.add(signal.Seq) || signal.Seq < before && !removed[signal.Seq] {
			return corrupt(objstore.ID{}, "signal %q: seq %d: the seqs must be 0, 1, 2, … without gaps", signal.Digest(), signal.Seq)
		}
	}
	for seq := counts.to; seq < before; seq++ {
		if !removed[seq] {
			return corrupt(signals.ID(), "one of %d signals has the seq %d: the seqs must be 0, 1, 2, … without gaps", counts.to, seq)
		}
	}
	return nil
}

// seqCounter checks that the Seqs of signals are exactly the numbers of a range: at least the field from, and less
// than to. The range has as many numbers as there are signals. So it is enough that every Seq is in the range and
// occurs once.
type seqCounter struct {
	from, to int64
	seen     map[int64]bool
}

// add reports whether seq is at least c.from, less than c.to, and was not added before. If so, add remembers seq.
func (c *seqCounter) add(seq int64) bool {
	if seq < c.from || seq >= c.to || c.seen[seq] {
		return false
	}
	if c.seen == nil {
		c.seen = make(map[int64]bool)
	}
	c.seen[seq] = true
	return true
}
