package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// FetchRequest describes a fetch.
type FetchRequest struct {
	Remote string   // as in PushRequest
	Runs   []string // whole run ids; empty means all runs of the remote
	// As, if not empty, is the id under which the one named run is stored. The local run with the named id is
	// unaffected.
	As string

	command string // the command that the user typed; "" means fetch
}

// States of a fetched run, in addition to those of a push.
const (
	StateCreated   = "created"   // the run is new in this repository
	StateForwarded = "forwarded" // the local tip moved to the remote's tip
	StateSplit     = "split"     // the run was also continued in this repository: see FetchedRun.Fork
	StateJoined    = "joined"    // the run was also continued in this repository, and has the entries of both sides
	StateAhead     = "ahead"     // this repository has newer entries
	StateInvalid   = "invalid"   // the remote's run fails the checks
	StateBusy      = "busy"      // the run must be split, but a process in this repository executes it
	StateBroken    = "broken"    // a local ref is broken, so the run cannot be compared
)

// FetchedRun is the result of a fetch for one run.
type FetchedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"`            // the local tip after the fetch; zero if this repository lacks the run
	Fork   string      `json:"fork,omitempty"` // id of the fork with the local continuation, or FetchRequest.As
	Frames int         `json:"frames"`         // number of frames that are new in this repository
	Reason string      `json:"reason,omitempty"`
}

// FetchResult is the result of a fetch. Runs is never nil. It omits runs that were not named and did not change.
type FetchResult struct {
	Remote string       `json:"remote"`
	Runs   []FetchedRun `json:"runs"`
	// None means that the remote shows no run and no tombstone: the remote has no runs, or its server hides them.
	None bool `json:"-"`
}

// Fetch fetches runs from a remote, checks them, and moves the local tips forward. If a run was continued both in
// this repository and at the remote, Fetch splits it: the run becomes the remote's run, and the local continuation
// becomes a fork. Frame 0 of the fork is the last common frame, and its other frames are the same commits as
// before.
//
// Fetch leaves a local run unchanged if the remote's run with the same id has another history, or if the run was pruned
// in either repository. If the remote's run fails the checks, only its tracking ref under
// refs/smithers-remote changes.
//
// Error codes: remote_not_found, remote_failed, run_not_found; fetch_refused or broken_ref if git could not fetch;
// invalid_run_id, run_exists or run_pruned if FetchRequest.As is not free for a new run; usage if FetchRequest.As
// is set and not exactly one run is named.
//
// With these codes, FetchResult has the result for each run:
//   - fetch_refused if a run is invalid
//   - broken_ref if a local ref is broken
//   - run_owned if a run must be split while a process in this repository executes it
//   - run_exists if a named run differs from the local run
//   - run_pruned if a named run was pruned
func (s *Sharer) Fetch(ctx context.Context, req FetchRequest) (*FetchResult, error) {
	from, err := remotes.Find(s.store, req.Remote)
	if err != nil {
		return nil, err
	}
	return s.fetch(ctx, from, req)
}

// fetch makes the fetch that Fetch describes. from is the remote or the bundle. If req.As is set and not exactly one
// run is named, the error's code is usage and the result is nil. After any other error, the result has the runs that
// were finished before the error.
func (s *Sharer) fetch(ctx context.Context, from remotes.Place, req FetchRequest) (*FetchResult, error) {
	if req.As != "" && len(req.Runs) != 1 {
		return nil, fault.New(fault.Usage, "--as needs exactly one run, but %d were named", len(req.Runs)).Hint("name one run")
	}
	f := &fetch{Sharer: s, from: from, req: req, verifier: verify.NewEntryVerifier(s.store)}
	s.store.NoteLoans() // git fetches no object that a lender has
	f.out = &FetchResult{Remote: from.Shown(), Runs: []FetchedRun{}}
	if err := f.run(ctx); err != nil {
		return f.out, timeline.Explain(err)
	}
	return f.out, f.refusal(ctx)
}

// fetch is a fetch in progress.
type fetch struct {
	*Sharer

	from remotes.Place
	req  FetchRequest
	out  *FetchResult
	// before and after hold the tracking refs of the remote before and after git fetched.
	before, after atRemote
	budget        *int64 // number of frame refs that may still be created; nil before room counts them
	checked       int    // number of checked entries
	verifier      *verify.EntryVerifier
}

// named reports whether the request names the runs to fetch. If the request names no run, the fetch takes all runs.
func (f *fetch) named() bool { return len(f.req.Runs) > 0 }

// again returns the command line that repeats this fetch for all runs.
func (f *fetch) again() string {
	return "git smithers " + cmp.Or(f.req.command, "fetch") + " " + fault.Word(f.from.Shown())
}

// run fetches the requested refs, applies each fetched run to the local run, and sets the results in f.out. A fault of
// a single run is a state in its result, not an error.
func (f *fetch) run(ctx context.Context) (err error) {
	// git does not fetch objects that exist, even if only a pruned run has them. So keep all objects until the refs
	// have moved.
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
	// The path of a bundle is not stored.
	if f.req.command == "" {
		addressBook{f.store}.note(f.from)
		noteFetch(f.store, f.from.Component, wanted)
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
	if f.named() && f.req.As == "" {
		return f.takeCalled(ctx, wanted)
	}
	return nil
}

// bringAll fetches all tips and tombstones, and deletes the tracking refs of tips and tombstones that the remote no
// longer has. It warns about tracking refs with invalid names.
func (f *fetch) bringAll(ctx context.Context) error {
	if err := f.bring(ctx, []transportSpec{f.tips(), f.stones()}, true); err != nil {
		return err
	}
	return f.tellStrangers(ctx)
}

// bringNamed fetches the named runs and all tombstones. It returns the ref components of the named runs, each once. If
// the remote has neither a tip nor a tombstone of a named run, the error's code is run_not_found.
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

// bringThere fetches those of the named runs that the remote has, and all tombstones. bringNamed calls it if the tip of
// a named run is missing at the remote. components are the ref components of the named runs. If the remote has neither
// a tip nor a tombstone of a named run, bringThere fetches nothing and the error's code is run_not_found.
func (f *fetch) bringThere(ctx context.Context, components []string) error {
	there, err := f.listThere(ctx)
	if err != nil {
		return err
	}
	specs := []transportSpec{f.stones()}
	for _, component := range components {
		spec := f.tip(component)
		switch {
		case there[spec.From]:
			specs = append(specs, spec)
		case !there[refs.GoneFolder+component]:
			at := slices.IndexFunc(f.req.Runs, func(run string) bool {
				escaped, err := refs.EscapeRun(run)
				return err == nil && escaped == component
			})
			run := f.req.Runs[at]
			err := fault.New(fault.RunNotFound, "%s has no run %q", f.from.Shown(), run).Detail("run", run)
			if len(there) == 0 {
				return err.Hint("the remote shows no runs: if the server hides refs/smithers, ask its administrator about transfer.hideRefs")
			}
			return err.Hint("`%s` fetches all runs of the remote", f.again())
		}
	}
	return f.bring(ctx, specs, false)
}

// listThere returns the names of the refs of runs that the remote has.
func (f *fetch) listThere(ctx context.Context) (map[string]bool, error) {
	list, err := f.transport().List(ctx, f.from.Name, refs.Folder)
	if err != nil {
		return nil, f.from.Explain(err)
	}
	there := make(map[string]bool, len(list))
	for _, ref := range list {
		there[string(ref.Name)] = true
	}
	return there, nil
}

// refusal returns the error for the most serious state in f.out.Runs, or nil if no state is an error. The states are,
// the most serious first: invalid, broken, busy, unrelated and pruned. A run is busy if it must be split while a
// process in this repository executes it. The last two states are an error only if the request names runs. If several
// runs have the most serious state, the error is about the last such run.
func (f *fetch) refusal(ctx context.Context) error {
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
			Hint("the run in this repository is unchanged; if a newer git-smithers wrote the remote's run, update git-smithers")
	case broken != nil:
		err = fault.New(fault.BrokenRef, "run %q: %s", broken.RunID, broken.Reason).
			Hint("`git smithers doctor` shows the damage, and `git smithers doctor --repair` repairs the ref if its right value is known")
	case busy != nil:
		err = fault.New(fault.RunOwned, "run %q was also continued in %s, and a process in this repository is executing the run", busy.RunID, f.from.Shown()).
			Hint("the run in this repository is unchanged; fetch again when the process has ended")
	case other != nil && f.named():
		err = fault.New(fault.RunExists, "run %q of %s has another history than the run with that id in this repository", other.RunID, f.from.Shown()).
			Hint("%s", f.takeAs(ctx, other.RunID))
	case pruned != nil && f.named():
		err = f.prunedRun(ctx, pruned)
	default:
		return nil
	}
	return err.Detail("runs", f.out.Runs)
}

// prunedRun returns the error with code run_pruned for a named run that was pruned. Its hints are the commands that
// bring the run back, as far as such commands exist.
func (f *fetch) prunedRun(ctx context.Context, run *FetchedRun) *fault.Error {
	err := fault.New(fault.RunPruned, "run %q was not fetched from %s: %s", run.RunID, f.from.Shown(), run.Reason)
	if run.Reason == prunedHere {
		err = err.Hint("`git smithers prune --undo %s` brings the run back, unless git has already collected its objects", fault.Word(run.RunID))
	}
	if component, _ := refs.EscapeRun(run.RunID); !f.after.tips[component].IsZero() {
		err = err.Hint("%s", f.takeAs(ctx, run.RunID))
	}
	return err
}

// takeAs returns the hint with the command that fetches run, a run id, under another id.
func (f *fetch) takeAs(ctx context.Context, run string) string {
	id := timeline.FreeID(ctx, f.store, run, f.from.Component)
	return fmt.Sprintf("`%s %s --as %s` fetches the run under another id", f.again(), fault.Word(run), fault.Word(id))
}
