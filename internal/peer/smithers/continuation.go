package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// continuation compares a run in a database with the imported part of the run.
type continuation struct {
	run    string           // the run's id
	events *dbrun.Events    // the events in the database
	stored []snapshot.Event // the events in the repository
	had    int64            // the number of imported events of Smithers
}

// refuseOther returns the error import_refused if the database lacks an imported event, and otherwise nil.
// Smithers never removes an event, even in a rewind. So a database that lacks an event does not continue the
// imported run. If the database has fewer events than were imported, and its newest event is in the repository,
// the error says that the database is older. Otherwise it says that the run continued in two databases.
func (c continuation) refuseOther() error {
	count := len(c.events.All)
	switch {
	// The newest event of the database is also in the repository: the database is an older copy.
	case int64(count) < c.had && c.events.HasOne(c.stored, count-1):
		return fault.New(fault.ImportRefused, "the database has an older state of run %q, with only %d of the %d imported events", c.run, count, c.had).
			Hint("import the newest copy of the database").Detail("runId", c.run)
	case int64(count) < c.had, !c.events.HasAll(c.stored):
		return fault.New(fault.ImportRefused, "run %q continued in two databases: this database lacks imported events", c.run).
			Hint("import this database into another clone").
			Hint("then push the run from that clone: its continuation becomes a fork").Detail("runId", c.run)
	}
	return nil
}

// refuseLacking returns the error import_refused if the database lacks a signal that Smithers had at the last
// import, and otherwise nil. signals has the run's signals in the database, and had has the digests of the
// signals at the last import. If the events show that Smithers has rewound the run, a missing signal is not an
// error, because Smithers removes signals in a rewind. If the database has a new event or signal, the error
// says that the run continued in two databases. Otherwise it says that the database is older.
func (c continuation) refuseLacking(signals []dbrun.Signal, had map[string]bool) error {
	has, wentOn := 0, int64(len(c.events.All)) > c.had
	for _, p := range signals {
		if had[p.Signal.Digest()] {
			has++
		} else {
			wentOn = true
		}
	}
	switch {
	case has == len(had), c.events.IsRewound(c.stored):
		return nil
	case wentOn:
		return fault.New(fault.ImportRefused, "run %q continued in two databases: this database lacks %d of %d imported signals",
			c.run, len(had)-has, len(had)).
			Hint("import this database into another clone").
			Hint("then push the run from that clone: its continuation becomes a fork").Detail("runId", c.run)
	}
	return fault.New(fault.ImportRefused, "the database has an older state of run %q: %d of %d imported signals are missing", c.run, len(had)-has, len(had)).
		Hint("import the newest copy of the database").Detail("runId", c.run)
}

// continuation returns a value that compares two states of the run: its rows in the database, and the rows that
// the last import read.
func (r *runPass) continuation() continuation {
	return continuation{run: r.ID, events: &r.Events, stored: r.stored, had: r.was.Pass.Events}
}

// tellOurs records in ext/smithers that Smithers does not have the frames that git-smithers added since the
// last import. It does not change frames that already have a row in ext/smithers. If the run was never
// imported, it does nothing.
func (r *runPass) tellOurs() {
	if !r.imported {
		return
	}
	for _, f := range r.frames {
		if _, noted := r.now.Frames[f.Number]; !noted && f.Number > r.was.Pass.Frame {
			r.setFrameRow(f.Number, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
		}
	}
}
