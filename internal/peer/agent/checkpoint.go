package agent

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline"
)

// MakeCheckpoint appends a frame with the files of now to a session, under a label, and returns its address. run is the id of the session's
// run, label can be "". Retention keeps a session with a checkpoint. Codes: those of Head; invalid_input if the run is not a session.
func MakeCheckpoint(ctx context.Context, s *timeline.Store, run, label string) (timeline.Address, error) {
	head, mem, err := openSession(ctx, s, run)
	if err != nil {
		return timeline.Address{}, err
	}
	ev := dialect.Event{
		Kind: dialect.Labelled, Session: mem.session(), Agent: mem.Agent, Label: label, Transcript: notesOf(s, mem.session()).read(fileName),
	}
	if _, err := Record(ctx, s, dialect.For(mem.Agent), ev); err != nil {
		return timeline.Address{}, err
	}
	if err := head.Refresh(ctx); err != nil {
		return timeline.Address{}, err
	}
	return timeline.Address{Run: run, Frame: head.Row().Frame}, nil
}
