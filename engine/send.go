package engine

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Send gives a run a signal and returns it with its Seq. One that the state has
// already is not added again: known is true. A run that has ended is an error of code
// run_not_resumable.
func Send(ctx context.Context, rec Recorder, s snapshot.Signal) (sent snapshot.Signal, known bool, err error) {
	if err := checkSignal(&s); err != nil {
		return s, false, err
	}
	digest := s.Digest()
	err = act(ctx, rec, func() (*snapshot.Draft, error) {
		had, ok, err := readMail(rec.State().Signals(), digest, snapshot.DecodeSignal)
		if err != nil {
			return nil, err
		}
		if ok {
			sent, known = had, true
			return nil, nil
		}
		if row := rec.Row(); row.Status.Ended() {
			return nil, fault.New(fault.RunNotResumable, "run %s is %s; nothing waits for signals", row.ID, row.Status).
				Detail("status", row.Status)
		}
		sent = s
		sent.Seq = int64(rec.State().Signals().Len())
		return signalDraft(rec.Row().ID, digest, sent)
	})
	if err != nil || known {
		return sent, known, err
	}
	// Another process may have sent it meanwhile, and under another number.
	sent, _, err = readMail(rec.State().Signals(), digest, snapshot.DecodeSignal)
	return sent, false, err
}

// checkSignal refuses what cannot be a signal, and takes the white space from around its payload.
func checkSignal(s *snapshot.Signal) error {
	if _, err := saidText("the name of the signal", s.Name); err != nil {
		return err
	}
	if s.Name == "" {
		return fault.New(fault.InvalidInput, "a signal has a name")
	}
	for what, text := range map[string]*string{"the correlation id": s.CorrelationID, "the name of who sends": s.ReceivedBy} {
		if text == nil {
			continue
		}
		if _, err := saidText(what, *text); err != nil {
			return err
		}
	}
	payload, _, err := decodeValue(s.Payload)
	if err != nil {
		return fault.New(fault.InvalidInput, "payload: %w", err)
	}
	s.Payload = payload
	return nil
}

func signalDraft(run, digest string, s snapshot.Signal) (*snapshot.Draft, error) {
	event, err := mailEvent{SignalSeq: &s.Seq, SignalName: s.Name, CorrelationID: orNull(s.CorrelationID)}.
		event(run, "SignalReceived", s.ReceivedAtMs)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	subject := "signal " + s.Name
	if s.CorrelationID != nil {
		subject += " (" + *s.CorrelationID + ")"
	}
	row := snapshot.EncodeSignal(s)
	return &snapshot.Draft{ // its time is the store's: the sender's may be any
		State:  []snapshot.Change{mailChange(snapshot.CollectionSignals, row.Key, row.Value)},
		Events: []snapshot.Event{event}, Subject: subject + " received", Operation: "signal:" + digest,
	}, nil
}
