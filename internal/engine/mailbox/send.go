package mailbox

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// send records that the run has received a signal. It returns the signal with its Seq. If the state already has the
// signal, send adds nothing, and known is true. A failed or cancelled run keeps the signal for its resume.
//
// If the run is finished, the error's code is run_not_resumable. If checkSignal refuses a text or the payload, the
// code is invalid_input. Before each attempt to append, send calls wanted with the signal and its decoded payload. If
// wanted returns an error, send appends nothing and returns this error.
func send(ctx context.Context, rec Recorder, s snapshot.Signal,
	wanted func(s snapshot.Signal, payload any) error,
) (sent snapshot.Signal, known bool, err error) {
	payload, err := checkSignal(&s)
	if err != nil {
		return s, false, err
	}
	digest, err := storedDigest(rec, s)
	if err != nil {
		return s, false, err
	}
	err = act(ctx, rec, func() (*snapshot.Draft, error) {
		had, ok, err := ReadRow(rec.State().Signals(), digest, snapshot.DecodeSignal)
		if err != nil {
			return nil, err
		}
		if ok {
			sent, known = had, true
			return nil, nil
		}
		if row := rec.Row(); row.Status == snapshot.RunFinished {
			return nil, fault.New(fault.RunNotResumable, "run %s is finished; nothing waits for signals", row.ID).
				Hint("`git smithers fork %s:FRAME` makes a fork that takes signals; name a frame at which the run still waited",
					fault.Word(row.ID)).
				Hint("`git smithers timeline %s` lists the frames", fault.Word(row.ID)).
				Detail("status", row.Status)
		}
		if err := wanted(s, payload); err != nil {
			return nil, err
		}
		sent = s
		sent.Seq = int64(rec.State().Signals().Len())
		return signalDraft(rec.Row().ID, digest, sent)
	})
	if err != nil || known {
		return sent, known, err
	}
	// Another process may have sent the same signal first, with another number.
	sent, _, err = ReadRow(rec.State().Signals(), digest, snapshot.DecodeSignal)
	return sent, false, err
}

// storedDigest returns the key that the signal will have in the state: the digest of the signal without its secrets.
func storedDigest(rec Recorder, s snapshot.Signal) (string, error) {
	row := snapshot.EncodeSignal(s)
	stored, err := rec.Stored(SetRow(snapshot.CollectionSignals, row.Key, row.Value))
	return stored.Key, err
}

// checkSignal checks a signal and returns its decoded payload. The signal must have a name, its texts must be UTF-8,
// and its payload must be one JSON value. checkSignal trims white space around s.Payload. If the signal is invalid,
// the error's code is invalid_input.
func checkSignal(s *snapshot.Signal) (payload any, err error) {
	if _, err := saidText("the name of the signal", s.Name); err != nil {
		return nil, err
	}
	if s.Name == "" {
		return nil, fault.New(fault.InvalidInput, "a signal needs a name")
	}
	for what, text := range map[string]*string{"the correlation id": s.CorrelationID, "the sender's name": s.ReceivedBy} {
		if text == nil {
			continue
		}
		if _, err := saidText(what, *text); err != nil {
			return nil, err
		}
	}
	text, payload, err := schema.DecodeValue(s.Payload)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "payload: %w", err)
	}
	s.Payload = text
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
