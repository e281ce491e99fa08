package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/place"
	"github.com/git-smithers/git-smithers/timeline/verify"
)

// FetchRequest describes a fetch.
type FetchRequest struct {
	Remote string   // as in PushRequest
	Runs   []string // exact run ids; none means all runs of the remote
	// As stores the one named run under another id. A local run of its own id is unaffected.
	As string

	command string // the command that people typed; "" means fetch
}

// States of a fetched run, in addition to those of a push.
const (
	StateCreated   = "created"
	StateForwarded = "forwarded"
	StateSplit     = "split" // it was continued here, too: see FetchedRun.Fork
	StateAhead     = "ahead" // this repository has newer entries
	StateInvalid   = "invalid"
	StateBusy      = "busy"   // it must be split, and a process here executes it
	StateBroken    = "broken" // a local ref is broken, so it cannot be compared
)

// FetchedRun is the result for one run.
type FetchedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"`            // the run's tip here afterwards; zero if there is none
	Fork   string      `json:"fork,omitempty"` // the fork of the local continuation, or the run named by FetchRequest.As
	Frames int         `json:"frames"`         // frames that are new here
	Reason string      `json:"reason,omitempty"`
}

// Fetched is the result of a fetch. Runs is never nil. It omits unnamed runs without news.
type Fetched struct {
	Remote string       `json:"remote"`
	Runs   []FetchedRun `json:"runs"`
	// None means that the remote shows no run and no tombstone: it has none, or its server hides them.
	None bool `json:"-"`
}

// Fetch brings runs from a remote, checks them, and moves the local tips forward. A run that was
// continued in both places is split: the run becomes the remote's, and the local continuation
// becomes a fork, whose frame 0 is the last common frame and whose frames are the same commits as
// before. A run without common history stays as it is here, and so does a run that was pruned here or
// there. A run that fails the checks stays under refs/smithers-remote and changes nothing else.
//
// Error codes: remote_not_found, remote_failed, run_not_found; fetch_refused if a run is
// invalid, broken_ref if a ref here is broken, run_owned if a run is busy, run_exists if a named
// run differs from the local one, each with the result for each run in Fetched; run_pruned
// if FetchRequest.As was pruned here.
func (s *Sharer) Fetch(ctx context.Context, req FetchRequest) (*Fetched, error) {
	from, err := place.Find(s.store, req.Remote)
	if err != nil {
		return nil, err
	}
	return s.fetch(ctx, from, req)
}

// fetch is Fetch from a resolved place.
func (s *Sharer) fetch(ctx context.Context, from place.Place, req FetchRequest) (*Fetched, error) {
	if req.As != "" && len(req.Runs) != 1 {
		return nil, fault.New(fault.Usage, "--as takes one run, not %d", len(req.Runs)).Hint("name the run")
	}
	f := &fetch{Sharer: s, from: from, req: req, verifier: verify.NewEntryVerifier(s.store)}
	f.out = &Fetched{Remote: from.Shown(), Runs: []FetchedRun{}}
	if err := f.run(ctx); err != nil {
		return f.out, timeline.Explain(err)
	}
	return f.out, f.refusal()
}

// fetch is a fetch in progress.
type fetch struct {
	*Sharer

	from place.Place
	req  FetchRequest
	out  *Fetched
	// before and after are the tracking refs of the remote.
	before, after atRemote
	budget        *int64 // remaining frame refs to create; nil until counted
	checked       int    // number of entries
	verifier      *verify.EntryVerifier
}

func (f *fetch) named() bool { return len(f.req.Runs) > 0 }

// again returns the command that repeats this fetch.
func (f *fetch) again() string {
	return "git smithers " + cmp.Or(f.req.command, "fetch") + " " + fault.Word(f.from.Shown())
}

// run fetches and takes each run.
func (f *fetch) run(ctx context.Context) (err error) {
	// git does not fetch existing objects, even if only a pruned run has them.
	release, err := f.store.Objects().Pin(ctx)
	if err != nil {
		return err
	}
	defer release()
	if f.before, err = f.remembered(ctx, f.from.Component); err != nil {
		return err
	}
	var wanted []string // ref components
	if f.named() {
		wanted, err = f.bringNamed(ctx)
	} else {
		err = f.bringAll(ctx)
	}
	if err != nil {
		return err
	}
	if f.req.command == "" {
		addressBook{f.store}.note(f.from)
	}
	if f.after, err = f.remembered(ctx, f.from.Component); err != nil {
		return err
	}
	if !f.named() {
		both := maps.Clone(f.after.gone)
		maps.Copy(both, f.after.tips)
		wanted = slices.Sorted(maps.Keys(both))
		f.out.None = len(wanted) == 0
	}
	for _, component := range wanted {
		if err := f.take(ctx, component); err != nil {
			return err
		}
	}
	return nil
}

// bringAll fetches all tips and tombstones, and deletes tracking refs of vanished ones.
func (f *fetch) bringAll(ctx context.Context) error {
	if err := f.bring(ctx, []transportSpec{f.tips(), f.stones()}, true); err != nil {
		return err
	}
	return f.tellStrangers(ctx)
}

// bringNamed fetches the named runs and all tombstones. It returns the runs' components.
func (f *fetch) bringNamed(ctx context.Context) ([]string, error) {
	var specs []transportSpec
	var components []string
	for _, run := range f.req.Runs {
		component, err := refs.EscapeRun(run)
		if err != nil {
			return nil, err
		}
		if slices.Contains(components, component) {
			continue
		}
		components = append(components, component)
		specs = append(specs, f.tip(component))
	}
	err := f.bring(ctx, append(specs, f.stones()), false)
	if !errors.Is(err, refs.ErrNotFound) {
		return components, err
	}
	return components, f.bringThere(ctx, components)
}

// bringThere is bringNamed if the remote lacks a tip: for runs that were pruned there, it fetches
// the tombstones. For a run that was never there, the error's code is run_not_found.
func (f *fetch) bringThere(ctx context.Context, components []string) error {
	list, err := f.transport().List(ctx, f.from.Name, refs.Folder)
	if err != nil {
		return f.from.Explain(err)
	}
	there := make(map[string]bool)
	for _, ref := range list {
		there[string(ref.Name)] = true
	}
	specs := []transportSpec{f.stones()}
	for i, component := range components {
		spec := f.tip(component)
		switch {
		case there[spec.From]:
			specs = append(specs, spec)
		case !there[refs.GoneFolder+component]:
			err := fault.New(fault.RunNotFound, "%s has no run %q", f.from.Shown(), f.req.Runs[i]).Detail("run", f.req.Runs[i])
			if len(list) == 0 {
				return err.Hint("it shows no runs; the server may hide refs/smithers: ask its administrator about transfer.hideRefs")
			}
			return err.Hint("`%s` fetches all of its runs", f.again())
		}
	}
	return f.bring(ctx, specs, false)
}

// refusal returns the error about the runs that were not taken; nil if all were.
func (f *fetch) refusal() error {
	var invalid, broken, busy, other, pruned *FetchedRun
	for i := range f.out.Runs {
		switch run := &f.out.Runs[i]; run.State {
		case StateInvalid:
			invalid = run
		case StateBroken:
			broken = run
		case StateBusy:
			busy = run
		case StateUnrelated:
			other = run
		case StatePruned:
			pruned = run
		}
	}
	var err *fault.Error
	switch {
	case invalid != nil:
		err = fault.New(fault.FetchRefused, "run %q of %s does not pass the checks: %s", invalid.RunID, f.from.Shown(), invalid.Reason).
			Hint("the run here is unchanged; a damaged, foreign or newer git-smithers wrote the remote's")
	case broken != nil:
		err = fault.New(fault.BrokenRef, "run %q: %s", broken.RunID, broken.Reason).
			Hint("`git smithers doctor` shows the right value, and repairs it")
	case busy != nil:
		err = fault.New(fault.RunOwned, "run %q was continued in %s, too, and a process here is running it", busy.RunID, f.from.Shown()).
			Hint("the run here is unchanged; fetch again when the process has ended")
	case other != nil && f.named():
		err = fault.New(fault.RunExists, "run %q of %s has another history than the one here", other.RunID, f.from.Shown()).
			Hint("%s", f.takeAs(other.RunID))
	case pruned != nil && f.named():
		err = f.prunedRun(pruned)
	default:
		return nil
	}
	return err.Detail("runs", f.out.Runs)
}

// prunedRun returns run_pruned for a named run, with hints to get it back.
func (f *fetch) prunedRun(run *FetchedRun) *fault.Error {
	err := fault.New(fault.RunPruned, "run %q was not taken from %s: %s", run.RunID, f.from.Shown(), run.Reason)
	if run.Reason == prunedHere {
		err = err.Hint("`git smithers prune --undo %s` brings it back, unless it was collected", fault.Word(run.RunID))
	}
	if component, _ := refs.EscapeRun(run.RunID); !f.after.tips[component].IsZero() {
		err = err.Hint("%s", f.takeAs(run.RunID))
	}
	return err
}

// takeAs returns the hint to fetch a run under another id.
func (f *fetch) takeAs(run string) string {
	return fmt.Sprintf("`%s %s --as NEWID` fetches it under another id", f.again(), fault.Word(run))
}
