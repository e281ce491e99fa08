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
)

// PushRequest says what to push where.
type PushRequest struct {
	Remote string   // the name of a remote, or a URL; "": smithers.remote, the branch's remote, the only one, origin
	Runs   []string // ids or unique prefixes; none: every run whose tip the remote does not have
	Frames bool     // frame refs, too, as far as the remote's budget goes
	Revive bool     // take the tombstones of the named runs away, there
	DryRun bool     // find out what would be pushed, and move nothing there
	// Confirm is asked, before the first push to a remote, whether the untracked files that
	// captured working copies hold may go there; nil: no. A dry run does not ask.
	Confirm func(remote string, files []UntrackedFile) (bool, error)
}

// UntrackedFile is a file of a captured working copy that no commit of the user's has.
type UntrackedFile struct {
	RunID string `json:"runId"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// What became of a run.
const (
	StatePushed    = "pushed"
	StateCurrent   = "current"   // the remote has it already
	StateDiverged  = "diverged"  // the remote's was continued elsewhere: fetch first
	StateUnrelated = "unrelated" // the remote's run of that id has another beginning
	StatePruned    = "pruned"    // there is a tombstone, here or there
	StateRefused   = "refused"   // by the remote, or by smithers.pushFiles
	StateDamaged   = "damaged"   // an object of it is missing or damaged here
)

// PushedRun is what became of a run.
type PushedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"` // here; zero where only the tombstone is
	Frames int         `json:"frames"`
	Reason string      `json:"reason,omitempty"`
}

// Pushed is what became of a push. Runs is never nil; runs that were not named and are
// current are not in it.
type Pushed struct {
	Remote string      `json:"remote"`
	Runs   []PushedRun `json:"runs"`
}

// rounds is how often a push looks again at a remote that others are pushing to, too.
const rounds = 5

// Push takes runs to a remote, and the tombstones of runs that were pruned here. What is
// there is asked once, by the names of its refs; only runs that were named, or whose tip
// differs, are looked at. A run that was pruned there stays away. Where there is nothing to
// push, a remote that is named is asked all the same.
//
// Codes: remote_not_found, remote_failed; push_refused where a run was not pushed that
// was named, or that was not pruned, with what became of each in Pushed, and
// missing_object or corrupt_object where all of these are damaged here; unconfirmed where
// files would go along that nobody said may.
func (s *Sharer) Push(ctx context.Context, req PushRequest) (*Pushed, error) {
	to, err := s.store.Place(req.Remote)
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

// push is a push under way.
type push struct {
	*Sharer

	to   timeline.Place
	req  PushRequest
	runs []*pushing // in the order of what is printed
	gone map[string]objstore.ID
	// there is what the remote has, tracked what this clone remembers of that.
	there   atRemote
	tracked atRemote

	confirmed bool
	asked     bool // just now: what was looked at before may be long ago
	withheld  []UntrackedFile
}

// pushing is a run that is looked at.
type pushing struct {
	PushedRun

	component string
	named     bool
	done      bool
}

func (r *pushing) end(state, reason string) { r.State, r.Reason, r.done = state, reason, true }

// run looks at the remote and pushes, again while others move what is to be moved.
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
			run.end(StateDiverged, "the remote's tip is being moved by others all the time")
		}
	}
	return p.sendFrames(ctx)
}

// send pushes tips and tombstones. again tells that a run was moved meanwhile.
func (p *push) send(ctx context.Context, open []*pushing) (again bool, err error) {
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

// moves are what to push, and the runs that are moved; a tombstone that is left there is
// nobody's.
func (p *push) moves(open []*pushing) (moves []transport.Move, owner map[refs.Name]*pushing, err error) {
	for _, component := range slices.Sorted(maps.Keys(p.gone)) {
		if p.there.gone[component].IsZero() {
			moves = append(moves, transport.Move{Name: refs.Name(refs.GoneFolder + component), How: transport.Create, New: p.gone[component]})
		}
	}
	owner = make(map[refs.Name]*pushing)
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

// settle notes what became of a move, and tells whether the run is to be looked at again.
func (p *push) settle(run *pushing, outcome transport.Outcome) (again bool) {
	if run == nil {
		if outcome.Status == transport.Refused {
			p.parts.Warn(fmt.Errorf("%s was not pushed: %s", outcome.Name, outcome.Reason))
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

// result is what became of every run that is worth telling of.
func (p *push) result() *Pushed {
	out := &Pushed{Remote: p.to.Shown(), Runs: []PushedRun{}}
	for _, run := range p.runs {
		if run.State != "" && (run.named || run.State != StateCurrent || run.Frames > 0) {
			out.Runs = append(out.Runs, run.PushedRun)
		}
	}
	return out
}

// refusal is the error about the runs that were not pushed; nil where there is none.
func (p *push) refusal() error {
	if len(p.withheld) > 0 {
		return unconfirmed(p.to, p.withheld).Hint("smithers.pushFiles is no: the runs that hold them were not pushed")
	}
	var first, damaged *pushing
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
		err = err.Hint("run %q is damaged here: `git smithers doctor` says what can be done", damaged.RunID)
	}
	if first.State == StateRefused && !p.takesRefs() {
		return err.Hint("where a host takes branches and tags alone, keep runs in another repository: `git config smithers.remote NAME` makes it the one to push to").
			Hint("`git smithers bundle %s -o %s.bundle` writes the run to a file", fault.Word(first.RunID), fault.Word(first.RunID)).Detail("runs", p.result().Runs)
	}
	return err.Hint("%s", first.hint(p.to)).Detail("runs", p.result().Runs)
}

// takesRefs reports whether the remote takes runs, or shows some that it has taken.
func (p *push) takesRefs() bool {
	return len(p.there.tips)+len(p.there.gone) > 0 ||
		slices.ContainsFunc(p.runs, func(r *pushing) bool { return r.State == StatePushed || r.State == StateCurrent })
}

// why says in words what kept a run from being pushed.
func (r *pushing) why() string {
	if r.Reason != "" {
		return r.Reason
	}
	switch r.State {
	case StateDiverged:
		return "it was continued there, too"
	case StateUnrelated:
		return "the run of that id there has another beginning"
	case StatePruned:
		return "it was pruned there"
	}
	return "it was refused there"
}

// hint says what to do about a run that was not pushed.
func (r *pushing) hint(to timeline.Place) string {
	switch r.State {
	case StateDiverged:
		return fmt.Sprintf("`git smithers fetch %s %s` makes what was added here a fork of it; push that",
			fault.Word(to.Shown()), fault.Word(r.RunID))
	case StateUnrelated:
		return fmt.Sprintf("`git smithers fork %s` makes a run of another id of yours; push that", fault.Word(r.RunID))
	case StatePruned:
		if r.Reason == prunedHere {
			return fmt.Sprintf("`git smithers prune --undo %s` brings it back here; push it with --revive then", fault.Word(r.RunID))
		}
		return fmt.Sprintf("`git smithers push %s %s --revive` brings it back there", fault.Word(to.Shown()), fault.Word(r.RunID))
	}
	return "what was pushed before it is there; the rest can be pushed again at any time"
}
