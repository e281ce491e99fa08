package list

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Cancelled says who has cancelled a run.
type Cancelled struct {
	By          *string `json:"by"`          // the name that was given with the command; nil if there was none
	Interrupted bool    `json:"interrupted"` // nobody typed a command: the process that ran the run was asked to end
	AtMs        int64   `json:"atMs"`
}

// CancelledBy returns who has cancelled a run, as of the entry that row is from. It returns nil if the run is not cancelled, or
// if its events do not tell: another engine may have cancelled it, or an older git-smithers.
func CancelledBy(ctx context.Context, s *timeline.Store, row snapshot.Run) (*Cancelled, error) {
	if row.Status != snapshot.RunCancelled {
		return nil, nil //nolint:nilnil // nobody has
	}
	index, err := s.Details(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	events, err := index.Events(ctx, sqliteindex.EventQuery{RunID: row.ID, Types: []string{eventCancelled, eventStatus}})
	events = slices.DeleteFunc(events, func(e sqliteindex.EventRow) bool { return e.Seq >= row.NextSeq }) // appended meanwhile
	return cancelledBy(events), timeline.Explain(err)
}

// The events that tell.
const (
	eventCancelled = "RunCancelled"
	eventStatus    = "RunStatusChanged"
)

// cancelledBy looks in the events of a run, in order, for who cancelled it last. A process that learns of a cancellation ends with an
// event of its own, which does not say who.
func cancelledBy(events []sqliteindex.EventRow) *Cancelled {
	var out *Cancelled
	for _, e := range slices.Backward(events) {
		var payload struct {
			By          string `json:"by"`
			Interrupted bool   `json:"interrupted"`
			Status      string `json:"status"`
		}
		if json.Unmarshal([]byte(e.Payload), &payload) != nil {
			return out
		}
		if e.Type == eventStatus && payload.Status != string(snapshot.RunCancelled) {
			return out
		}
		if e.Type != eventCancelled {
			continue
		}
		out = &Cancelled{Interrupted: payload.Interrupted, AtMs: e.TimestampMs}
		if payload.By != "" {
			out.By = &payload.By
			return out
		}
		if payload.Interrupted {
			return out
		}
	}
	return out
}
