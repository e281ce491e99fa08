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
)

// FetchRequest says what to fetch from where.
type FetchRequest struct {
	Remote string   // as in PushRequest
	Runs   []string // exact run ids; none: all that the remote has
	// As takes the one named run under another id, whatever is here under its own.
	As string

	command string // what people call for this; "" is fetch
}

// What became of a fetched run, beside the states of a push.
const (
	StateCreated   = "created"
	StateForwarded = "forwarded"
	StateSplit     = "split" // it was continued here, too: see FetchedRun.Fork
	StateAhead     = "ahead" // this repository has more
	StateInvalid   = "invalid"
	StateBusy      = "busy"   // it would have to be split, and a process here is running it
	StateBroken    = "broken" // a ref of it here holds no id, so that it cannot be compared
)

// FetchedRun is what became of a run.
type FetchedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"`            // of the run here, afterwards; zero where there is none
	Fork   string      `json:"fork,omitempty"` // what was added here, or what FetchRequest.As made of the run
	Frames int         `json:"frames"`         // frames that are new here
	Reason string      `json:"reason,omitempty"`
}

// Fetched is what became of a fetch. Runs is never nil; runs that were not named and of
// which nothing is to be taken, or told that was not before, are not in it.
type Fetched struct {
	Remote string       `json:"remote"`
	Runs   []FetchedRun `json:"runs"`
	// None reports that the remote shows no run and no tombstone: it has none, or its server hides them.
	None bool `json:"-"`
}

// Fetch brings runs from a remote, checks them, and takes the local tips forward. What
// was continued in both places is split: the run is the remote's from then on, and what
// was added here becomes a fork of it, whose frame 0 is the last common frame and whose
// frames are the very commits that were added here. A run whose histories have nothing in
// common stays as it is here, and so does one that was pruned, here or there. What does
// not pass the checks stays under refs/smithers-remote and touches nothing else.
//
// Codes: remote_not_found, remote_failed, run_not_found; fetch_refused where a run was
// invalid, broken_ref where one is broken here, run_owned where one was busy, run_exists
// where one that was named is another here, with what became of each in Fetched; run_pruned
// where FetchRequest.As was pruned here.
func (s *Sharer) Fetch(ctx context.Context, req FetchRequest) (*Fetched, error) {
	from, err := s.store.Place(req.Remote)
	if err != nil {
		return nil, err
	}
	return s.fetch(ctx, from, req)
}

// fetch is Fetch from a place.
func (s *Sharer) fetch(ctx context.Context, from timeline.Place, req FetchRequest) (*Fetched, error) {
	if req.As != "" && len(req.Runs) != 1 {
		return nil, fault.New(fault.Usage, "one run can be taken under another id, not %d", len(req.Runs)).Hint("name the run")
	}
	f := &fetch{Sharer: s, from: from, req: req, verifier: s.store.NewEntryVerifier()}
	f.out = &Fetched{Remote: from.Shown(), Runs: []FetchedRun{}}
	if err := f.run(ctx); err != nil {
		return f.out, timeline.Explain(err)
	}
	return f.out, f.refusal()
}

// fetch is a fetch under way.
type fetch struct {
	*Sharer

	from timeline.Place
	req  FetchRequest
	out  *Fetched
	// before and after are what was remembered of the remote.
	before, after atRemote
	budget        *int64 // how many frame refs may still be made; nil: not counted yet
	checked       int    // entries
	verifier      *timeline.EntryVerifier
}

func (f *fetch) named() bool { return len(f.req.Runs) > 0 }

// again is what people call to fetch from the same place.
func (f *fetch) again() string {
	return "git smithers " + cmp.Or(f.req.command, "fetch") + " " + fault.Word(f.from.Shown())
}

// run brings what is there and takes each run.
func (f *fetch) run(ctx context.Context) (err error) {
	// What git finds here already it does not bring, also where only a pruned run has it.
	release, err := f.parts.Objects.Pin(ctx)
	if err != nil {
		return err
	}
	defer release()
	if f.before, err = f.remembered(ctx, f.from.Component); err != nil {
		return err
	}
	var wanted []string // components
	if f.named() {
		wanted, err = f.bringNamed(ctx)
	} else {
		err = f.bringAll(ctx)
	}
	if err != nil {
		return err
	}
	if f.req.command == "" {
		f.noteAddress(f.from)
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

// bringAll brings all tips and tombstones, and forgets those that are not there any more.
func (f *fetch) bringAll(ctx context.Context) error {
	if err := f.bring(ctx, []transportSpec{f.tips(), f.stones()}, true); err != nil {
		return err
	}
	return f.tellStrangers(ctx)
}

// bringNamed brings the named runs, and all tombstones. It returns their components.
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

// bringThere is bringNamed where the remote lacks a tip: of runs that were pruned there,
// it brings the tombstones. A run that never was there is run_not_found.
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
				return err.Hint("it shows no run at all; a server may hide refs/smithers: ask whoever keeps it about transfer.hideRefs")
			}
			return err.Hint("`%s` brings all that it has", f.again())
		}
	}
	return f.bring(ctx, specs, false)
}

// refusal is the error about the runs that were not taken; nil where there is none.
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
			Hint("nothing of it was taken; it was written by a damaged, a foreign or a newer git-smithers")
	case broken != nil:
		err = fault.New(fault.BrokenRef, "run %q: %s", broken.RunID, broken.Reason).
			Hint("`git smithers doctor` says what it should be, and mends it")
	case busy != nil:
		err = fault.New(fault.RunOwned, "run %q was continued in %s, too, and a process here is running it", busy.RunID, f.from.Shown()).
			Hint("nothing of it was taken; fetch again when it has ended")
	case other != nil && f.named():
		err = fault.New(fault.RunExists, "run %q of %s has another beginning than the one here", other.RunID, f.from.Shown()).
			Hint("%s", f.takeAs(other.RunID))
	case pruned != nil && f.named():
		err = f.prunedRun(pruned)
	default:
		return nil
	}
	return err.Detail("runs", f.out.Runs)
}

// prunedRun is run_pruned for a run that was named, with the ways to have it.
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

// takeAs says how to have a run beside another one of its id.
func (f *fetch) takeAs(run string) string {
	return fmt.Sprintf("`%s %s --as NEWID` takes it under another id", f.again(), fault.Word(run))
}
