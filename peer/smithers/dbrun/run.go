// Package dbrun reads one run from a database of Smithers: its rows, and their meaning in our form. It knows the run
// in the repository only through its arguments.
package dbrun

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Run is one run in a database. A pass reads it once and then does not change it, with two exceptions:
// Events.PutKnownFirst reorders the events before the pass drafts anything, and Seen takes the run over at the end.
type Run struct {
	RunRow

	Tx   *source.Tx
	Own  map[string]source.Table // the tables of Smithers 0.32.0
	Left []Unowned               // nil in a pass over new frames
	All  *workcopy.Finder        // shared by all runs

	Ours     snapshot.Run // the run's row in our form, without parent, frame and event numbers
	At       dbrow.Root
	Heads    []source.Head
	Rows     map[string][]source.Row // by table: see tables.OfRun
	Trees    Trees
	columns  []tables.OutputColumn
	Attempts []Attempt
	Mail     Mail
	Events   Events
	Copies   *workcopy.Run
	Had      *Seen // the rows before those that were read; nil if all rows were read
}
