package share

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// PushRequest describes a push.
type PushRequest struct {
	// Remote is the name of a remote, or a URL. "" means the first of these that exists: smithers.remote, the branch's
	// pushRemote, remote.pushDefault, the branch's remote, the only remote, origin.
	Remote string
	Runs   []string // ids or unique prefixes, which bring the runs along that they have called; empty means every run whose tip the remote lacks
	Except []string // whole ids of runs that a push without names leaves here
	Frames bool     // also push frame refs, up to smithers.remoteFrameRefs
	Revive bool     // delete the remote's tombstones of the named runs
	DryRun bool     // report the runs that a push would send, and change nothing at the remote
	Allow  []string // digests of secrets that may go to the remote this time; see secretscan.Finding
	// Confirm reports whether the untracked files of captured working copies may be pushed to a remote. A push calls
	// Confirm if there are files at paths that no stored answer for the remote permits. nil means no. A dry run does not
	// call Confirm.
	Confirm func(Question) (bool, error)
}

// Question asks whether files may be pushed to a remote.
type Question struct {
	Remote string
	Files  []UntrackedFile // those that no earlier answer permits
	First  bool            // no answer for the remote is stored
}

// UntrackedFile is a captured file that is in none of the user's commits.
type UntrackedFile struct {
	RunID string `json:"runId"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// States of a pushed run.
const (
	StatePushed    = "pushed"    // the remote's tip was moved; in a dry run, it would be moved
	StateCurrent   = "current"   // the remote is up to date, or has newer entries
	StateDiverged  = "diverged"  // the remote's run was continued elsewhere: fetch first
	StateUnrelated = "unrelated" // the remote's run with this id has another history
	StatePruned    = "pruned"    // this repository or the remote has a tombstone of the run
	StateRefused   = "refused"   // the remote or smithers.pushFiles refused the run, or the run cannot be read
	StateDamaged   = "damaged"   // an object of the run is missing or damaged in this repository
)

// PushedRun is the result of a push for one run.
type PushedRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Tip    objstore.ID `json:"tip"`    // the local tip; zero if this repository has only a tombstone
	Frames int         `json:"frames"` // number of frame refs created at the remote
	Reason string      `json:"reason,omitempty"`
}

// PushResult is the result of a push. Runs is never nil. It omits runs that are current and were not named.
type PushResult struct {
	Remote string      `json:"remote"`
	Runs   []PushedRun `json:"runs"`
	LFS    *LFSObjects `json:"lfs,omitempty"` // nil if the remote lacks none, or smithers.secrets is off
	// Submodules have commits that none of the submodule's own remotes was seen to have, sorted by path; none if smithers.secrets is off.
	Submodules []UnsentModule `json:"submodules,omitempty"`
}

// rounds is the maximum number of attempts if other processes keep moving the same refs.
const rounds = 5

// Push pushes runs to a remote, and the tombstones of runs that were pruned in this repository. It lists the
// remote's refs, and considers only runs that were named or whose tip differs. It pushes a run that was pruned at the remote only if PushRequest.Revive is set. If req.Remote is set,
// Push contacts the remote even if there is nothing to push.
//
// Unless smithers.secrets is off, Push first searches what the remote lacks for secrets. If it finds one that is not allowed, or
// the search cannot finish, it pushes nothing.
//
// Error codes: usage; secrets_found, with the findings as the detail "findings"; remote_not_found; remote_failed; run_not_found if a named run does not exist; unconfirmed if
// the user has not agreed to push untracked files. The following codes come with the result for each run in
// PushResult. If several apply, Push returns the first of them:
//   - push_refused if a run was refused, except an unnamed run that was pruned
//   - missing_object or corrupt_object if a run is damaged in this repository
func (s *Sharer) Push(ctx context.Context, req PushRequest) (*PushResult, error) {
	to, err := remotes.FindForPush(s.store, req.Remote)
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

	to   remotes.Place
	req  PushRequest
	runs []*outgoingRun         // in the order of the output
	gone map[string]objstore.ID // the local tombstones to push, by ref component
	// there holds the remote's refs; tracked holds the local tracking refs of the remote.
	there   atRemote
	tracked atRemote

	confirmed bool             // untracked files may be pushed
	asked     bool             // a person has just answered, so the remote must be listed again
	searched  []secretscan.Run // the tips that were searched for secrets
	withheld  []UntrackedFile  // the files that smithers.pushFiles does not allow
	lfs       *LFSObjects      // those of the runs that were searched
	modules   []UnsentModule
}

// outgoingRun is a run in a push, with its result so far.
type outgoingRun struct {
	PushedRun

	component string // the run's ref component
	named     bool   // the request names the run
	done      bool   // the run has its final state
}

// end sets the final state of the run and the reason. The push then skips the run.
func (r *outgoingRun) end(state, reason string) { r.State, r.Reason, r.done = state, reason, true }

// run lists the remote's refs, pushes the runs, and creates frame refs at the remote. If another process has moved
// a ref of a run first, run starts again. It also starts again after a person was asked about untracked files.
// After at most rounds attempts, it gives each unfinished run the final state diverged.
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
		if p.asked { // the answer may have taken long, so look at the remote and the tombstones again
			p.asked = false
			if err := p.readTombstones(ctx); err != nil {
				return timeline.Explain(err)
			}
			continue
		}
		if err := p.searchSecrets(ctx, open); err != nil {
			return err
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

// send pushes the tips of the runs in open, and the tombstones, and records the outcomes. again is true if another
// process moved the remote's ref of a run first, so that the run must be compared again. In a dry run, and if
// there is nothing to move, send pushes nothing and gives the runs in open the final state pushed.
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

// moves returns the updates of refs that the push sends: the creation of each tombstone that the remote lacks, and
// the fast-forward of the tip of each run in open. If the remote has a
// tombstone of a run in open, moves adds the deletion of this tombstone. owner has the run of each ref of a tip and
// of each deleted tombstone.
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

// settle records the outcome of a move in run. run is nil if the move creates a tombstone. settle then only warns
// if the remote refuses the move.
// A run whose tip was moved is pushed. A run whose tip already had the value is current. A refused move makes the
// run refused, and an unreadable object makes the run damaged. again is true if another process moved the ref
// first and the run has no final state: the run must then be compared again.
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
			run.done = outcome.How == transport.FastForward // a deleted tombstone is not the last move
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

// result returns the results of the runs that have a state. It leaves out a run that is current, was not named,
// and got no new frame refs.
func (p *push) result() *PushResult {
	out := &PushResult{Remote: p.to.Shown(), Runs: []PushedRun{}, LFS: p.lfs, Submodules: p.modules}
	for _, run := range p.runs {
		if run.State != "" && (run.named || run.State != StateCurrent || run.Frames > 0) {
			out.Runs = append(out.Runs, run.PushedRun)
		}
	}
	return out
}

// refusal returns the error about runs that were not pushed, or nil if no run is at fault. It looks for these faults in
// this order: untracked files that smithers.pushFiles forbids; runs that are diverged, unrelated or refused, or pruned
// and named; damaged runs.
func (p *push) refusal() error {
	if len(p.withheld) > 0 {
		return unconfirmed(p.to, p.withheld).Hint("the runs with untracked files were not pushed, because smithers.pushFiles is no")
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
		err = fault.New(fault.PushRefused, "%d runs were not pushed to %s; the first is run %q: %s",
			count, p.to.Shown(), first.RunID, first.why())
	}
	if damaged != nil {
		err = err.Hint("run %q is damaged in this repository: `git smithers doctor` shows how to repair the run", damaged.RunID)
	}
	if advice := transport.AdviceOn(first.Reason); first.State == StateRefused && advice != "" {
		err = err.Hint("%s", advice)
	}
	if first.State == StateRefused && !p.takesRefs() { // the host probably refuses every ref of a run
		return err.Hint("if the host accepts only branches and tags, keep runs in another repository: `git config smithers.remote NAME` selects it").
			Hint("`git smithers bundle %s -o %s.bundle` writes the run to a file", fault.Word(first.RunID), fault.Word(first.RunID)).Detail("runs", p.result().Runs)
	}
	return err.Hint("%s", first.hint(p.to)).Detail("runs", p.result().Runs)
}

// takesRefs reports whether the remote has a run or a tombstone, or accepted a run in this push.
func (p *push) takesRefs() bool {
	return len(p.there.tips)+len(p.there.gone) > 0 ||
		slices.ContainsFunc(p.runs, func(r *outgoingRun) bool { return r.State == StatePushed || r.State == StateCurrent })
}

// continuedThere and otherHistory are reasons why a run was not pushed.
const (
	continuedThere = "the run was also continued at the remote"
	otherHistory   = "the remote's run with this id has another history"
)

// why returns the reason why the run was not pushed, for people. If the run has no Reason, the state of the run
// gives the reason.
func (r *outgoingRun) why() string {
	if r.Reason != "" {
		return r.Reason
	}
	switch r.State {
	case StateDiverged:
		return continuedThere
	case StateUnrelated:
		return otherHistory
	case StatePruned:
		return prunedThere
	}
	return "the remote refused the run"
}

// hint returns the hint for a run that was not pushed. to is the remote. For a diverged, unrelated or pruned run,
// the hint has the command that solves the problem. For every other run, the hint says how to push the other runs.
func (r *outgoingRun) hint(to remotes.Place) string {
	switch r.State {
	case StateDiverged:
		return fmt.Sprintf("`git smithers fetch %s %s` joins decisions, or turns your continuation into a fork; then push again",
			fault.Word(to.Shown()), fault.Word(r.RunID))
	case StateUnrelated:
		return fmt.Sprintf("`git smithers fork %s` forks your run under another id; then push the fork", fault.Word(r.RunID))
	case StatePruned:
		if r.Reason == prunedHere {
			return fmt.Sprintf("`git smithers prune --undo %s` brings the run back; then push the run with --revive", fault.Word(r.RunID))
		}
		return fmt.Sprintf("`git smithers push %s %s --revive` brings the run back at the remote", fault.Word(to.Shown()), fault.Word(r.RunID))
	}
	return "the runs before this run were pushed; push again to send the others"
}
