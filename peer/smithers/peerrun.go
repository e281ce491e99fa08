package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// peerRun is what a database has of one run. A pass reads it once and then only looks at it; knownFirst alone changes
// the order of events, when the events of the repository are known.
type peerRun struct {
	sourceRun

	tx   *source.Tx
	own  map[string]source.Table // Smithers 0.32.0's tables
	left []unowned               // nil for a pass over new frames alone
	all  *workcopy.Finder        // of all runs

	run      snapshot.Run
	at       dbrow.Root
	heads    []source.Head
	rows     map[string][]source.Row // by table: see tables.OfRun
	trees    treeRows
	columns  []tables.OutputColumn
	attempts []attemptRow
	mail     mailRows
	events   eventList
	copies   *workcopy.Run
	had      *knownRows // what comes before the rows that were read; nil if all rows were read
}
