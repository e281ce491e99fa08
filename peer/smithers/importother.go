package smithers

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// refuseOther refuses a run of the database that is not what goes on from what was imported:
// another one of the same id, an older copy, or one that went on elsewhere. Smithers never takes
// an event back, not in a rewind either.
func (r *runPass) refuseOther() error {
	if !r.imported {
		return nil
	}
	had := r.was.Pass.Events
	switch {
	case r.head.Row().CreatedAtMs != r.run.CreatedAtMs:
		return fault.New(fault.RunExists, "the repository has another run %q, which was begun at another time", r.id).
			Hint("`git smithers prune %s` takes that one away, if it is no longer wanted", fault.Word(r.id)).Detail("runId", r.id)
	case int64(len(r.events)) < had && r.hasEvent(r.stored, len(r.events)-1):
		return fault.New(fault.ImportRefused, "the database has an older state of run %q: %d events, of which %d were imported", r.id, len(r.events), had).
			Hint("import the database that the run went on in").Detail("runId", r.id)
	case int64(len(r.events)) < had, !r.hasImported(r.stored, int(had)):
		return fault.New(fault.ImportRefused, "run %q went on elsewhere, and in this database too: its events are not those that were imported", r.id).
			Hint("import this database into another clone, and push from there: what was added becomes a fork").Detail("runId", r.id)
	}
	return nil
}

// hasEvent reports whether the run has an event of the database, or the newest one before it that a
// run of ours can have.
func (p *peerRun) hasEvent(stored []snapshot.Event, i int) bool {
	for ; i >= 0; i-- {
		e, ok := tables.ReadEvent(p.events[i].row, p.id, p.run.Workflow, nil)
		if !ok {
			continue
		}
		return slices.ContainsFunc(stored, func(has snapshot.Event) bool { return has.Type == e.Type && has.AtMs == e.AtMs })
	}
	return true
}

// hasImported reports whether the database has all events of Smithers' that the run has. It may have others between them:
// in a database that the run was exported to, those that were added here or in another clone.
func (p *peerRun) hasImported(stored []snapshot.Event, had int) bool {
	if p.had != nil {
		return p.hasEvent(stored, had-1) // the watch knows the rest of the database
	}
	type event struct {
		kind string
		atMs int64
	}
	has := make(map[event]int, len(p.events))
	for _, e := range p.events {
		has[event{e.kind, e.atMs}]++
	}
	for _, e := range stored {
		if p.isOurs(e) {
			continue
		}
		if one := (event{e.Type, e.AtMs}); has[one] > 0 {
			has[one]--
		} else {
			return false
		}
	}
	return true
}

// isOurs reports whether an event was added here: of those of Smithers', the run's id is predicted, and not kept.
func (p *peerRun) isOurs(e snapshot.Event) bool {
	if !bytes.Contains(e.Payload, []byte(`"runId"`)) {
		return false
	}
	members, err := jsonobject.Read(e.Payload)
	var run string // spelled as whoever added it spells texts
	return err == nil && json.Unmarshal([]byte(jsonobject.RawOf(members, "runId")), &run) == nil && run == p.id
}

// refuseLacking refuses a run of the database that lacks signals which Smithers had by the last import. It takes signals away
// in a rewind alone, which is an event.
func (r *runPass) refuseLacking(had map[string]bool) error {
	has, wentOn := 0, int64(len(r.events)) > r.was.Pass.Events
	for _, p := range r.mail.signals {
		if had[p.signal.Digest()] {
			has++
		} else {
			wentOn = true
		}
	}
	switch {
	case has == len(had), r.isRewound(r.stored):
		return nil
	case wentOn:
		return fault.New(fault.ImportRefused, "run %q went on elsewhere, and in this database too: it lacks %d of %d signals that were imported",
			r.id, len(had)-has, len(had)).
			Hint("import this database into another clone, and push from there: what was added becomes a fork").Detail("runId", r.id)
	}
	return fault.New(fault.ImportRefused, "the database has an older state of run %q: it lacks %d of %d signals that were imported", r.id, len(had)-has, len(had)).
		Hint("import the database that the run went on in").Detail("runId", r.id)
}

// isRewound reports whether Smithers has gone back in the run since the last import.
func (p *peerRun) isRewound(stored []snapshot.Event) bool {
	return slices.ContainsFunc(p.events, func(e peerEvent) bool { return e.kind == "TimeTravelJumped" && !slices.ContainsFunc(stored, e.is) })
}

// tellOurs notes which frames Smithers does not have: those that were added here since the run was imported.
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
