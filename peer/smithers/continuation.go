package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// continuation compares a run in a database with the imported part of it.
type continuation struct {
	run    string
	events *dbrun.Events
	stored []snapshot.Event
	had    int64 // number of imported events of Smithers
}

// refuseOther returns import_refused if the run in the database does not continue the imported one: the database is
// an older copy, or the run was continued in both. Smithers never removes an event, even in a rewind. cut means that
// the events were read only from the newest imported one on.
func (c continuation) refuseOther(cut bool) error {
	count := len(c.events.All)
	has := c.events.HasAll
	if cut {
		has = func(stored []snapshot.Event) bool { return c.events.HasOne(stored, int(c.had)-1) }
	}
	switch {
	case int64(count) < c.had && c.events.HasOne(c.stored, count-1):
		return fault.New(fault.ImportRefused, "the database has an older state of run %q: %d events, of which %d were imported", c.run, count, c.had).
			Hint("import the database in which the run continued").Detail("runId", c.run)
	case int64(count) < c.had, !has(c.stored):
		return fault.New(fault.ImportRefused, "run %q continued elsewhere, and in this database too: its events are not those that were imported", c.run).
			Hint("import this database into another clone, and push from there: what was added becomes a fork").Detail("runId", c.run)
	}
	return nil
}

// refuseLacking returns import_refused if the run in the database lacks signals that Smithers had at the last import.
// had has their digests. Smithers removes signals only in a rewind, and a rewind adds an event.
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
		return fault.New(fault.ImportRefused, "run %q continued elsewhere, and in this database too: it lacks %d of %d signals that were imported",
			c.run, len(had)-has, len(had)).
			Hint("import this database into another clone, and push from there: what was added becomes a fork").Detail("runId", c.run)
	}
	return fault.New(fault.ImportRefused, "the database has an older state of run %q: it lacks %d of %d signals that were imported", c.run, len(had)-has, len(had)).
		Hint("import the database in which the run continued").Detail("runId", c.run)
}

// continuation returns the comparison of the run with its imported part.
func (r *runPass) continuation() continuation {
	return continuation{run: r.ID, events: &r.Events, stored: r.stored, had: r.was.Pass.Events}
}

// tellOurs marks the frames that were added here since the last import as unknown to Smithers.
func (r *runPass) tellOurs() {
	if !r.imported {
		return
	}
	for _, f := range r.frames {
		if _, noted := r.now.Frames[f.Number]; !noted && f.Number > r.was.Pass.Frame {
			r.setFrameRow(f.Number, kept.FrameRow{PeerNo: new(int64(tables.NoNumber))})
		}
	}
}
