// Package dbrun has what a database of Smithers has of one run: its rows, and what follows from them alone, as ours. It knows
// the run of the repository only by what it is handed.
package dbrun

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Run is what a database has of one run. A pass reads it once, and then only looks at it. Only Events.PutKnownFirst changes
// the order of events, before the pass drafts anything, and Seen takes the run over at the end.
type Run struct {
	RunRow

	Tx   *source.Tx
	Own  map[string]source.Table // Smithers 0.32.0's tables
	Left []Unowned               // nil for a pass over new frames alone
	All  *workcopy.Finder        // of all runs

	Ours     snapshot.Run // as the row of the run says, without parent, frame and seq
	At       dbrow.Root
	Heads    []source.Head
	Rows     map[string][]source.Row // by table: see tables.OfRun
	Trees    Trees
	columns  []tables.OutputColumn
	Attempts []Attempt
	Mail     Mail
	Events   Events
	Copies   *workcopy.Run
	Had      *Seen // what comes before the rows that were read; nil if all rows were read
}
