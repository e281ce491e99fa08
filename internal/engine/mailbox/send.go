package mailbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// send records that the run has received a signal from the sender by. If the state already has the signal, send adds nothing.
func (in *Intake) send(ctx context.Context, l Letter, by *string, at time.Time) (Receipt, error) {
	s := snapshot.Signal{Name: l.Signal, CorrelationID: l.CorrelationID, ReceivedBy: by, ReceivedAtMs: at.UnixMilli()}
	payload, err := checkSignal(&s, l.Value)
	if err != nil {
		return Receipt{}, err
	}
	digest, err := storedDigest(in.rec, s)
	if err != nil {
		return Receipt{}, err
	}
	known := false
	err = act(ctx, in.rec, func() (draft *snapshot.Draft, err error) {
		if known, err = in.rec.State().Signals().Has(digest); known || err != nil {
			return nil, timeline.Explain(err)
		}
		if row := in.rec.Row(); row.Status == snapshot.RunFinished {
			return nil, fault.New(fault.RunNotResumable, "run %s is finished; nothing waits for signals", row.ID).
				Hint("`git smithers fork %s:FRAME` makes a fork that takes signals; name a frame at which the run still waited",
					fault.Word(row.ID)).
				Hint("`git smithers timeline %s` lists the frames", fault.Word(row.ID)).
				Detail("status", row.Status)
		}
		if err := in.fits(ctx, s, payload); err != nil {
			return nil, err
		}
		sent := s
		sent.Seq = int64(in.rec.State().Signals().Len())
		return signalDraft(in.rec.Row().ID, digest, sent)
	})
	if err != nil {
		return Receipt{}, err
	}
	// Another process may have sent the same signal first, with another number.
	sent, _, err := ReadRow(in.rec.State().Signals(), digest, snapshot.DecodeSignal)
	return Receipt{Signal: &sent, Known: known}, err
}

// storedDigest returns the key that the signal will have in the state: the digest of the signal without its secrets.
func storedDigest(rec Recorder, s snapshot.Signal) (string, error) {
	row := snapshot.EncodeSignal(s)
	stored, err := rec.Stored(SetRow(snapshot.CollectionSignals, row.Key, row.Value))
	return stored.Key, err
}

// checkSignal checks a signal, sets its payload to the JSON value in text, and returns the decoded payload. The signal must have a name, and
// its texts must be UTF-8. If the signal is invalid, the error's code is invalid_input.
func checkSignal(s *snapshot.Signal, text json.RawMessage) (payload any, err error) {
	if _, err := saidText("the name of the signal", s.Name); err != nil {
		return nil, err
	}
	if s.Name == "" {
		return nil, fault.New(fault.InvalidInput, "a signal needs a name")
	}
	if s.CorrelationID != nil {
		if _, err := saidText("the correlation id", *s.CorrelationID); err != nil {
			return nil, err
		}
	}
	if s.Payload, payload, err = schema.DecodeValue(text); err != nil {
		return nil, fault.New(fault.InvalidInput, "payload: %w", err)
	}
	return payload, nil
}

// signalDraft returns the draft of the entry that adds a signal to run. digest is the signal's digest. It also names
// the operation, so that two processes add the same signal once.
func signalDraft(run, digest string, s snapshot.Signal) (*snapshot.Draft, error) {
	event, err := signalEvent(run, s)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	subject := "signal " + s.Name
	if s.CorrelationID != nil {
		subject += " (" + *s.CorrelationID + ")"
	}
	row := snapshot.EncodeSignal(s)
	return &snapshot.Draft{ // without a time: the store dates the entry, because a sender's clock may be wrong
		Mailbox: []snapshot.Change{SetRow(snapshot.CollectionSignals, row.Key, row.Value)},
		Events:  []snapshot.Event{event}, Subject: subject + " received", Operation: "signal:" + digest,
	}, nil
}

// eventSignal is the type of the event about a received signal.
const eventSignal = "SignalReceived"

// signalEvent returns the event about a signal that run has received.
func signalEvent(run string, s snapshot.Signal) (snapshot.Event, error) {
	return Event{SignalSeq: &s.Seq, SignalName: s.Name, CorrelationID: OrNull(s.CorrelationID)}.Encode(run, eventSignal, s.ReceivedAtMs)
}
