package dbrun

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Snapshot returns the snapshot of the frame with Smithers' number no. In the result, AtMs is limited to the
// times that runs of git-smithers can have (see dbrow.OurTime), but Row has Smithers' time. If the snapshot is
// missing or unreadable, the error wraps source.ErrDamaged.
func (p *Run) Snapshot(no int64) (*source.Snapshot, error) {
	s, err := p.Tx.Snapshot(p.ID, no)
	if err == nil {
		s.AtMs = dbrow.OurTime(s.AtMs)
	}
	return s, err
}

// PlaceByTime sets Needs of each node in w. w is the state of a frame without a rendered tree, and atMs is the
// frame's time. PlaceByTime derives the needs from the times of the attempts that began by atMs: see
// tree.NeedsByTime.
func (p *Run) PlaceByTime(w *snapshot.Whole, atMs int64) {
	var begun []snapshot.Attempt
	for _, row := range p.Attempts {
		if a, ok := row.Then(atMs); ok {
			begun = append(begun, a)
		}
	}
	needs := tree.NeedsByTime(begun)
	for i := range w.Nodes {
		w.Nodes[i].Needs = needs[w.Nodes[i].NodeID]
	}
}

// During returns a function that sets the row of the run to its state while Smithers executed the run. The
// function does the same as Ended, and then sets the status to running and removes the end time and the error. If
// the run never ran, the function only does the same as Ended.
//
// pointer is the revision at which Smithers' process started. If pointer is a valid revision and the row has a
// VCSType, the function sets the row's revision to pointer.
func (p *Run) During(pointer string) func(*snapshot.Run) {
	return func(row *snapshot.Run) {
		p.Ended(row)
		if p.neverRan() {
			return
		}
		row.Status, row.FinishedAtMs, row.Error = snapshot.RunRunning, nil, ""
		if row.VCSType != "" && pointer != "" && tables.IsRevision(pointer) {
			row.VCSRevision = pointer
		}
	}
}

// Ended sets row to the run's present state in the database. It keeps row's parent, epoch, number of the newest
// frame and number of the next event.
func (p *Run) Ended(row *snapshot.Run) {
	is := p.Ours
	is.Parent, is.Epoch = row.Parent, row.Epoch
	is.Frame, is.NextSeq = row.Frame, row.NextSeq
	*row = is
}

// togetherMs is the greatest difference in milliseconds between the times of a frame and of the newest frame at
// which the frame gets the newest frame's files. The files captured before the frame lack the work of the
// frame's tasks, so the newest frame's files are closer to the truth.
const togetherMs = 250

// IsTogether reports whether a frame at atMs is at most togetherMs older than the newest frame. Such a frame gets the
// newest frame's files.
func (p *Run) IsTogether(atMs int64) bool {
	return p.Heads[len(p.Heads)-1].AtMs-atMs <= togetherMs
}
