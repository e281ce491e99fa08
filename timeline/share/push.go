package share

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/place"
)

// PushRequest describes a push.
type PushRequest struct {
	Remote string   // the name of a remote, or a URL; "": smithers.remote, the branch's remote, the only one, origin
	Runs   []string // ids or unique prefixes; none means every run whose tip the remote lacks
	Frames bool     // push frame refs, too, within the remote's budget
	Revive bool     // delete the tombstones of the named runs there
	DryRun bool     // report what would be pushed, and change nothing there
	// Confirm is called before the first push to a remote: may the untracked files of captured
	// working copies go there? nil means no. A dry run does not call it.
	Confirm func(remote string, files []UntrackedFile) (bool, error)
}

// UntrackedFile is a captured file that is in none of the user's commits.
type UntrackedFile struct {
	RunID string `json:"runId"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// States of a run.
const (
	StatePushed    = "pushed"
	StateCurrent   = "current"   // the remote is up to date
	StateDiverged  = "diverged"  // the remote's run was continued elsewhere: fetch first
	StateUnrelated = "unrelated" // the remote's run of that id has another history
	StatePruned    = "pruned"    // there is a tombstone here or there
	StateRefused   = "refused"   // by the remote, or by smithers.pushFiles
	StateDamaged   = "damaged"   // an object is missing or damaged here
)

// PushedRun is the result for one run.
type PushedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"` // the local tip; zero if there is only a tombstone
	Frames int         `json:"frames"`
	Reason string      `json:"reason,omitempty"`
}

// Pushed is the result of a push. Runs is never nil; it omits unnamed runs that are current.
type Pushed struct {
	Remote string      `json:"remote"`
	Runs   []PushedRun `json:"runs"`
}

// rounds is the maximum number of attempts while others push to the same remote.
const rounds = 5

// Push pushes runs to a remote, and the tombstones of runs that were pruned here. It lists the
// remote's refs once, and considers only runs that were named or whose tip differs. A run that
// was pruned there stays away. A named remote is contacted even if there is nothing to push.
//
// Error codes: remote_not_found, remote_failed; push_refused if a run was refused, unless
// it was unnamed and pruned, with the result for each run in Pushed; missing_object or
// corrupt_object if all refused runs are damaged here; unconfirmed if the user has not agreed to push
// untracked files.
func (s *Sharer) Push(ctx context.Context, req PushRequest) (*Pushed, error) {
	to, err := place.Find(s.store, req.Remote)
	if err != nil {
		return nil, err
	}
	p := &push{Sharer: s, to: to, req: req}
	if err := p.collect(ctx); err != nil {
		return nil, timeline.Explain(err)
	}
	if len(p.runs) > 0 || len(p.gone) > 0 || req.Remote != "" {
		if err := p.run(ctx); err != nil {
			return p.result(), err
		}
	}
	return p.result(), p.refusal()
}

// push is a push in progress.
type push struct {
	*Sharer

	to   place.Place
	req  PushRequest
	runs []*outgoingRun // in the order of the output
	gone map[string]objstore.ID
	// there is the remote's refs, tracked the local tracking refs.
	there   atRemote
	tracked atRemote

	confirmed bool
	asked     bool // the remote was listed just now
	withheld  []UntrackedFile
}

// outgoingRun is a run in a push.
type outgoingRun struct {
	PushedRun

	component string
	named     bool
	done      bool
}

func (r *outgoingRun) end(state, reason string) { r.State, r.Reason, r.done = state, reason, true }

// run lists the remote's refs and pushes, again if others move the refs first.
func (p *push) run(ctx context.Context) error {
	for range rounds {
		if err := p.look(ctx); err != nil {
			return err
		}
		open, err := p.judge(ctx)
		if err != nil {
			return timeline.Explain(err)
		}
		if open, err = p.confirmFiles(ctx, open); err != nil {
			return timeline.Explain(err)
		}
		if p.asked {
			p.asked = false
			if err := p.readTombstones(ctx); err != nil {
				return timeline.Explain(err)
			}
			continue
		}
		again, err := p.send(ctx, open)
		if err != nil {
			return err
		}
		if !again {
			return p.sendFrames(ctx)
		}
	}
	for _, run := range p.runs {
		if !run.done {
			run.end(StateDiverged, "other pushes keep moving the remote's tip")
		}
	}
	return p.sendFrames(ctx)
}

// send pushes tips and tombstones. again means that another push moved a run first.
func (p *push) send(ctx context.Context, open []*outgoingRun) (again bool, err error) {
	moves, owner, err := p.moves(open)
	if err != nil {
		return false, timeline.Explain(err)
	}
	if p.req.DryRun || len(moves) == 0 {
		for _, run := range open {
			run.end(StatePushed, run.Reason)
		}
		return false, nil
	}
	outcomes, err := p.transport().Push(ctx, p.to.Name, moves)
	for _, outcome := range outcomes {
		if p.settle(owner[outcome.Name], outcome) {
			again = true
		}
	}
	p.remember(ctx, outcomes)
	return again, p.to.Explain(err)
}

// moves returns the refs to push, with their runs; a tombstone that stays there belongs to none.
func (p *push) moves(open []*outgoingRun) (moves []transport.Move, owner map[refs.Name]*outgoingRun, err error) {
	for _, component := range slices.Sorted(maps.Keys(p.gone)) {
		if p.there.gone[component].IsZero() {
			moves = append(moves, transport.Move{Name: refs.Name(refs.GoneFolder + component), How: transport.Create, New: p.gone[component]})
		}
	}
	owner = make(map[refs.Name]*outgoingRun)
	for _, run := range open {
		tip, err := refs.Tip(run.RunID)
		if err != nil {
			return nil, nil, err
		}
		if stone := p.there.gone[run.component]; !stone.IsZero() {
			name := refs.Name(refs.GoneFolder + run.component)
			moves, owner[name] = append(moves, transport.Move{Name: name, How: transport.Delete, Old: stone}), run
		}
		moves, owner[tip] = append(moves, transport.Move{Name: tip, How: transport.FastForward, New: run.Tip}), run
	}
	return moves, owner, nil
}

// settle records the outcome of a move, and reports whether the run must be tried again.
func (p *push) settle(run *outgoingRun, outcome transport.Outcome) (again bool) {
	if run == nil {
		if outcome.Status == transport.Refused {
			p.store.Warn(fmt.Errorf("%s was not pushed: %s", outcome.Name, outcome.Reason))
		}
		return false
	}
	switch outcome.Status {
	case transport.Moved:
		if !run.done {
			run.State = StatePushed
			run.done = outcome.How == transport.FastForward
		}
	case transport.UpToDate:
		run.end(StateCurrent, "")
	case transport.Refused:
		run.end(StateRefused, outcome.Reason)
	case transport.Unreadable:
		run.end(StateDamaged, outcome.Reason)
	case transport.Stale:
		return !run.done
	}
	return false
}

// result returns the runs worth reporting.
func (p *push) result() *Pushed {
	out := &Pushed{Remote: p.to.Shown(), Runs: []PushedRun{}}
	for _, run := range p.runs {
		if run.State != "" && (run.named || run.State != StateCurrent || run.Frames > 0) {
			out.Runs = append(out.Runs, run.PushedRun)
		}
	}
	return out
}

// refusal returns the error about the runs that were not pushed; nil if there are none.
func (p *push) refusal() error {
	if len(p.withheld) > 0 {
		return unconfirmed(p.to, p.withheld).Hint("smithers.pushFiles is no: the runs that hold them were not pushed")
	}
	var first, damaged *outgoingRun
	count := 0
	for _, run := range p.runs {
		switch run.State {
		case StatePruned:
			if !run.named {
				continue
			}
		case StateDiverged, StateUnrelated, StateRefused:
		case StateDamaged:
			damaged = cmp.Or(damaged, run)
			continue
		default:
			continue
		}
		if count++; first == nil {
			first = run
		}
	}
	if first == nil {
		return p.damage(damaged)
	}
	err := fault.New(fault.PushRefused, "run %q was not pushed to %s: %s", first.RunID, p.to.Shown(), first.why())
	if count > 1 {
		err = fault.New(fault.PushRefused, "%d runs were not pushed to %s, the first of them %q: %s",
			count, p.to.Shown(), first.RunID, first.why())
	}
	if damaged != nil {
		err = err.Hint("run %q is damaged here: `git smithers doctor` shows how to repair it", damaged.RunID)
	}
	if first.State == StateRefused && !p.takesRefs() {
		return err.Hint("if the host accepts only branches and tags, keep runs in another repository: `git config smithers.remote NAME` selects it").
			Hint("`git smithers bundle %s -o %s.bundle` writes the run to a file", fault.Word(first.RunID), fault.Word(first.RunID)).Detail("runs", p.result().Runs)
	}
	return err.Hint("%s", first.hint(p.to)).Detail("runs", p.result().Runs)
}

// takesRefs reports whether the remote accepts runs, or has some already.
func (p *push) takesRefs() bool {
	return len(p.there.tips)+len(p.there.gone) > 0 ||
		slices.ContainsFunc(p.runs, func(r *outgoingRun) bool { return r.State == StatePushed || r.State == StateCurrent })
}

// why describes, for people, why a run was not pushed.
func (r *outgoingRun) why() string {
	if r.Reason != "" {
		return r.Reason
	}
	switch r.State {
	case StateDiverged:
		return "it was continued there, too"
	case StateUnrelated:
		return "the remote's run of that id has another history"
	case StatePruned:
		return "it was pruned there"
	}
	return "it was refused there"
}

// hint returns the hint for a run that was not pushed.
func (r *outgoingRun) hint(to place.Place) string {
	switch r.State {
	case StateDiverged:
		return fmt.Sprintf("`git smithers fetch %s %s` turns your continuation into a fork; push that",
			fault.Word(to.Shown()), fault.Word(r.RunID))
	case StateUnrelated:
		return fmt.Sprintf("`git smithers fork %s` forks yours under another id; push that", fault.Word(r.RunID))
	case StatePruned:
		if r.Reason == prunedHere {
			return fmt.Sprintf("`git smithers prune --undo %s` brings it back here; then push it with --revive", fault.Word(r.RunID))
		}
		return fmt.Sprintf("`git smithers push %s %s --revive` brings it back there", fault.Word(to.Shown()), fault.Word(r.RunID))
	}
	return "the runs before it were pushed; push again for the rest"
}
