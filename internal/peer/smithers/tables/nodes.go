package tables

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waitsForStart reports whether the run is a fork that was never started. Smithers has the state of such a run only
// in the run's snapshot, and not in the tables of nodes, loops, outputs and input.
func (f *Facts) waitsForStart() bool { return f.Run.Parent != nil && f.Run.StartedAtMs == nil }

// predictNodes returns the predicted rows of _smithers_nodes, or nil if waitsForStart returns true. updated_at_ms is
// the latest end of the node's own attempts or, if the run was created later, the creation of the run.
func (f *Facts) predictNodes() []source.Row {
	if f.waitsForStart() {
		return nil
	}
	ended := make(map[string]int64)
	for _, a := range f.ownAttempts() {
		key := snapshot.Key(a.NodeID, a.Iteration)
		if a.FinishedAtMs != nil {
			ended[key] = max(ended[key], *a.FinishedAtMs)
		}
	}
	var rows []source.Row
	for _, n := range f.Whole.Nodes {
		row := source.Row{
			"node_id": dbrow.Text(n.NodeID), "iteration": dbrow.Int(int64(n.Iteration)), "state": dbrow.Text(string(n.State)),
			"output_table": dbrow.Text(n.OutputTable), "label": dbrow.NullableText(n.Label),
			"updated_at_ms": dbrow.Int(max(f.Run.CreatedAtMs, ended[snapshot.Key(n.NodeID, n.Iteration)])),
		}
		if n.LastAttempt != nil {
			row["last_attempt"] = dbrow.Int(int64(*n.LastAttempt))
		}
		rows = append(rows, row)
	}
	return rows
}

// predictLoops returns the predicted rows of _smithers_ralph, or nil if waitsForStart returns true. updated_at_ms is
// the time at which the run was created.
func (f *Facts) predictLoops() []source.Row {
	if f.waitsForStart() {
		return nil
	}
	var rows []source.Row
	for _, l := range f.Whole.Loops {
		rows = append(rows, source.Row{
			"ralph_id": dbrow.Text(l.RalphID), "iteration": dbrow.Int(int64(l.Iteration)),
			"done": dbrow.Bool(l.Done), "updated_at_ms": dbrow.Int(f.Run.CreatedAtMs),
		})
	}
	return rows
}
