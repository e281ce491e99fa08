// Package dbrun reads the rows of one run from a database of Smithers, and converts them to git-smithers' types. The
// package does not read the repository.
package dbrun

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Run is one run in a database. A pass reads the Run once and then does not change the Run, with one exception:
// Events.PutKnownFirst reorders the events before the pass drafts anything.
type Run struct {
	RunRow

	Tx   *source.Tx
	Own  map[string]source.Table // the tables of Smithers 0.32.0
	Left []UnownedTable          // the rows that belong to no single run; nil in a pass over new frames
	All  *workcopy.Finder        // the working copies of all runs

	Ours     snapshot.Run            // the run's row as a run of git-smithers, without parent, frame and event numbers
	At       dbrow.Root              // the folder of the paths in the rows
	Heads    []source.Head           // the snapshots without contents, sorted by frame
	Rows     map[string][]source.Row // the run's rows by table: see tables.OfRun
	Trees    Trees
	columns  []tables.OutputColumn // of all output tables; nil unless Read has read the run
	Attempts []Attempt
	Calls    []snapshot.ToolCall
	Scores   []snapshot.Score
	Mail     Mail
	Events   Events
	Copies   *workcopy.Run
}
