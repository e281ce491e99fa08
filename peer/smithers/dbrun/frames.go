package dbrun

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Snapshot reads a snapshot. Its time is limited to the times that our runs can have; its row has Smithers' time.
func (p *Run) Snapshot(no int64) (*source.Snapshot, error) {
	s, err := p.Tx.Snapshot(p.ID, no)
	if err == nil {
		s.AtMs = dbrow.OurTime(s.AtMs)
	}
	return s, err
}

// PlaceByTime sets the needs of the nodes of a state without a rendered tree.
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

// During returns a function that sets a run's row to its state while Smithers executed the run. pointer is the revision at
// which the process of Smithers started. The row of a run that was never executed keeps its final state.
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

// Ended changes our row of a run to its present state.
func (p *Run) Ended(row *snapshot.Run) {
	is := p.Ours
	is.Parent, is.Epoch = row.Parent, row.Epoch
	is.Frame, is.NextSeq = row.Frame, row.NextSeq
	*row = is
}

// togetherMs is the maximum age of a frame, relative to the newest one, at which the frame gets the newest frame's
// files. These files are closer to the frame's own than the files captured before it, which lack the work of its
// tasks.
const togetherMs = 250

// IsTogether reports whether a frame is so close to the newest one that both were found together.
func (p *Run) IsTogether(atMs int64) bool {
	return p.Heads[len(p.Heads)-1].AtMs-atMs <= togetherMs
}
