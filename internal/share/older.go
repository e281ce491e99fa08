package share

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// StateOlder is the state of a run that was not pushed or not fetched, because the run is in an older format.
const StateOlder = "older"

// older returns an error that describes a tip in an older format, or nil for every other tip.
func (s *Sharer) older(tip objstore.ID) *snapshot.OlderFormatError {
	return snapshot.OlderFormat(s.store.Objects(), tip)
}

// isOlderTip reports whether a tip is in an older format.
func (s *Sharer) isOlderTip(tip objstore.ID) bool { return s.older(tip) != nil }

// runAt returns the id of the run that an entry belongs to. The entry may be in an older format, if it names its run.
func (s *Sharer) runAt(id objstore.ID) (string, error) {
	entry, err := snapshot.ReadEntry(s.store.Objects(), id)
	if older, ok := errors.AsType[*snapshot.OlderFormatError](err); ok && older.Run != "" {
		return older.Run, nil
	}
	if err != nil {
		return "", err
	}
	return entry.Run, nil
}

// isOlder reports whether the local tip of run is in an older format. If so, it gives run the final state older.
// theirTip is the remote's tip. If an unnamed run has the same tip in this repository and at the remote, isOlder
// returns false without reading the tip.
func (p *push) isOlder(run *outgoingRun, theirTip objstore.ID) bool {
	if theirTip == run.Tip && !run.named {
		return false
	}
	older := p.older(run.Tip)
	if older == nil {
		return false
	}
	run.older = older
	run.end(StateOlder, fmt.Sprintf("the run is in format %d; `%s` moves the run out of the way", older.Format, timeline.DropOlder))
	return true
}

// isOlderThere reports whether err, from the comparison of run with the remote's run, means that the remote's run
// is in an older format. If so, it gives run the final state unrelated, with the format in the reason.
func (p *push) isOlderThere(run *outgoingRun, err error) bool {
	older, ok := errors.AsType[*snapshot.OlderFormatError](err)
	if !ok {
		return false
	}
	run.olderThere = true
	run.end(StateUnrelated, fmt.Sprintf("the remote's run with this id is in format %d", older.Format))
	return true
}

// olderRefusal returns an error with code older_format for the first named run that is in an older format, or
// nil if there is no such run.
func (p *push) olderRefusal() error {
	for _, run := range p.runs {
		if run.older != nil && run.named {
			return timeline.OlderFormat(run.older).Detail("runs", p.result().Runs)
		}
	}
	return nil
}

// hintOlderThere returns the hint for a run that a remote has in an older format. to is the remote. The hint has
// the command that deletes the remote's run. If the run id is invalid, the hint has no command.
func (r *outgoingRun) hintOlderThere(to remotes.Place) string {
	tip, err := refs.Tip(r.RunID)
	if err != nil {
		return "delete the remote's run, or push to another remote"
	}
	return fmt.Sprintf("`git push %s --delete %s` deletes the remote's run; then push again", fault.Word(to.Shown()), fault.Word(string(tip)))
}

// withoutOlderStones returns moves without the tombstones in an older format. Each of moves pushes a tombstone. If
// withoutOlderStones leaves out tombstones, it warns once with their number.
func (p *push) withoutOlderStones(moves []transport.Move) []transport.Move {
	var kept []transport.Move
	for _, move := range moves {
		if p.older(move.New) == nil {
			kept = append(kept, move)
		}
	}
	if count := len(moves) - len(kept); count > 0 {
		p.store.WarnOnce(fmt.Errorf("not pushed: %s in an older format; `%s` moves runs in an older format out of the way",
			plain.Count(count, "tombstone"), timeline.DropOlder))
	}
	return kept
}

// isOlder reports whether run is in an older format at the remote or in this repository. If FetchRequest.As is
// set, the fetch does not change the local run, so the format of the local run does not matter. theirTip is the
// remote's tip.
//
// If run is in an older format, isOlder sets its state to older, with a reason. If the remote's tip has not
// changed since the last fetch, isOlder also sets run.quiet, so that a fetch of all runs does not list the run
// again.
func (f *fetch) isOlder(run *incomingRun, theirTip objstore.ID) bool {
	if older := f.older(theirTip); older != nil {
		run.end(StateOlder, fmt.Sprintf("the run is in format %d, which this version does not read", older.Format))
	} else if older = f.older(run.local); older != nil && f.req.As == "" {
		run.end(StateOlder, fmt.Sprintf("the run in this repository is in format %d; `%s` moves the run out of the way", older.Format, timeline.DropOlder))
	} else {
		return false
	}
	run.quiet = theirTip == f.before.tips[run.component]
	return true
}

// olderRun returns the error with code older_format for a named run that was not fetched. If the local run is in
// an older format, the error is about the local run. Otherwise, it is about the remote's run, and the hints name
// the tracking ref. If the run comes from a bundle, or its format is unknown, no hint names a ref.
func (f *fetch) olderRun(run *FetchedRun) *fault.Error {
	if older := f.older(run.Tip); older != nil {
		return timeline.OlderFormat(older)
	}
	component, _ := refs.EscapeRun(run.RunID)
	older := f.older(f.after.tips[component])
	if older == nil {
		return fault.New(fault.OlderFormat, "run %q was not fetched from %s: %s", run.RunID, f.from.Shown(), run.Reason)
	}
	at := refs.Name(refs.RemoteFolder(f.from.Component) + component)
	if f.req.command != "" { // the tracking refs of a bundle are deleted
		at = ""
	}
	out := timeline.OlderFormatAt(older, at)
	out.Msg = fmt.Sprintf("run %q was not fetched from %s: %s", run.RunID, f.from.Shown(), run.Reason)
	return out
}
