package dbrun

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Snapshot reads a snapshot. Its time is one that a run of ours can have; its row has the time of Smithers.
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

// During returns a function that edits the row of a run of ours to what it was while the run went on. pointer is the revision
// at which its process had started.
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

// Ended edits the row of a run of ours to what it is now.
func (p *Run) Ended(row *snapshot.Run) {
	is := p.Ours
	is.Parent, is.Epoch = row.Parent, row.Epoch
	is.Frame, is.NextSeq = row.Frame, row.NextSeq
	*row = is
}

// togetherMs is how much older than the newest frame one may be to have its files: they are nearer to those that were
// there at that frame than what was captured before it, which lacks what its tasks have written.
const togetherMs = 250

// IsTogether reports whether a frame came so shortly before the newest one that it was found with it.
func (p *Run) IsTogether(atMs int64) bool {
	return p.Heads[len(p.Heads)-1].AtMs-atMs <= togetherMs
}
