package snapshot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// eventShared is the type of the event that says with whom the run shared the working copy whose changed files an entry has.
const eventShared = "FilesShared"

// shareFiles adds the event FilesShared to the draft if its files have changed since prev, and other runs or sessions worked in
// the same working copy.
func (a *appender) shareFiles() error {
	v := a.draft.VCS
	if v == nil || len(v.With) == 0 || v.Tree.IsZero() {
		return nil
	}
	if a.prev != nil {
		before, err := a.prev.VCSRevision()
		if err != nil || before != nil && before.Tree == v.Tree {
			return err
		}
	}
	a.shared = v.With
	a.draft.Events = append(slices.Clip(a.draft.Events),
		Event{Type: eventShared, AtMs: a.draft.AtMs, Payload: sharedPayload(v.With)})
	return nil
}

// subject returns the subject of the entry: the draft's subject, and the runs and sessions that shared the working copy.
func (a *appender) subject() string {
	if len(a.shared) == 0 {
		return a.stored.subject
	}
	with := strings.Join(a.shared, ", ")
	if len(with) > maxSubject/2 {
		with = fmt.Sprintf("%d other runs and sessions", len(a.shared))
	}
	with = "; " + with + " worked here, too"
	return shortened(cleanSubject(a.stored.subject), maxSubject-len(with)) + with
}

// sharedPayload returns the payload of the event FilesShared.
func sharedPayload(with []string) json.RawMessage {
	payload := []byte(`{"with":[`)
	for i, id := range with {
		if i > 0 {
			payload = append(payload, ',')
		}
		payload = page.AppendString(payload, id)
	}
	return append(payload, "]}"...)
}

// SharedWith returns the sorted ids of the runs and sessions that were at work in the same working copy while the changed
// files of this entry were made: the changes may be theirs. It returns nil if the run was alone there, or no file has
// changed. If the event has another form than Append gives it, the error wraps objstore.ErrCorrupt.
func (e *Entry) SharedWith() ([]string, error) {
	events, err := e.Stored().Events()
	if err != nil {
		return nil, err
	}
	var with []string
	for _, event := range events {
		if event.Type != eventShared {
			continue
		}
		var payload struct{ With []string }
		valid := json.Unmarshal(event.Payload, &payload) == nil && with == nil && len(payload.With) > 0 && slices.IsSorted(payload.With)
		for _, id := range payload.With {
			valid = valid && id != "" && utf8.ValidString(id)
		}
		if !valid || string(sharedPayload(payload.With)) != string(event.Payload) {
			return nil, corrupt(e.ID, "event %d: not a list of runs and sessions", event.Seq)
		}
		with = slices.Compact(payload.With) // 0.1.1 could name a run twice
	}
	return with, nil
}
