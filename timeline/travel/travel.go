// Package travel takes runs back: to a frame, to the state before a node, and back from there.
package travel

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// Redefinition is the workflow that a run continues with after a travel or reset. The zero
// value keeps the workflow of the frame.
type Redefinition struct {
	Workflow     *snapshot.Workflow
	WorkflowPath string
	// File is the workflow file, as an absolute path; "" for none. In every working copy, it
	// and the symbolic links that lead to it stay as they are.
	File string
	// Agree is asked, before anything is written, whether the run may continue with its definition;
	// nil: nothing is asked.
	Agree func(*snapshot.Workflow) error
	// Prepare returns the changes that fit a state to the workflow; nil: none.
	Prepare func(*snapshot.State) ([]snapshot.Change, error)
}

// Request asks to go back to before an attempt or, without a node, to a frame.
type Request struct {
	Run       string // its id, or the address of one of its frames
	Node      string // "": to the frame that Run names
	Iteration int
	Attempt   int  // 0: the newest of the iteration, by the frame if Run names one
	NoDeps    bool // reset the node alone, in the state as it is, and leave files alone
	NoFiles   bool // leave the working copy as it is
	Confirm   code.ConfirmRemoval
	Redefinition
}

// Result is the outcome of a travel, reset or undo. No slice but PassedOver is nil.
type Result struct {
	Run       string
	Op        snapshot.Op
	Undone    *snapshot.Op     // of an undo: the op that it took back
	Frame     int64            // the new frame; of the undo of a fork the newest one, since that makes none
	From      int64            // the newest frame before, what was saved of the working copy included
	To        timeline.Address // the frame whose state it went back to; of an ancestor where the attempt is older than the fork
	Reset     []string         // keys of nodes that are pending and were not
	Cancelled []string         // keys of attempts that are marked cancelled and were not
	Dropped   []int64          // numbers of the frames that are dropped and were not
	Files     *code.Restored   // of the working copy; nil if it was left alone
	Worktrees []*code.Restored // of tasks' own worktrees
	Missing   []string         // tasks whose own worktree of then is not here any more
	NoFiles   string           // why, in words, where files were asked for and the frame has none
	// PassedOver are the newer ops that an undo without a run left alone, as they were not done here, the newest first.
	PassedOver []PassedOver
	Status     snapshot.RunStatus
}

// Travel appends a frame in which the state, mailbox included, is as it was just before
// an attempt started: that of the last frame before, with what had arrived since; and so
// is the working copy. Nodes with an attempt at or after it, and what needs the node,
// directly or not, are pending. Attempts from it on are marked cancelled and stay in the
// journal; the frames between are dropped. The run is pending.
//
// What was in progress then is pending; what waited then waits again, for what it waited
// for then. The rendered tree and, unless the request names another, the workflow are those
// of the frame. What is in the working copy and in no frame of the run is saved in one
// first. With NoFiles the frame says of the working copy what the tip does.
//
// With NoDeps the state is the tip's with that node pending, and no frame is dropped.
//
// Without a node, the state and the files are those of the frame that Run names, and the op is a reset to that frame.
//
// attempt_not_found, frame_not_found where there is no frame before it, run_owned, conflict
// where somebody else was first, and whatever Restore refuses: then nothing is changed.
func Travel(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	head, frame, err := unownedAt(ctx, s, req.Run)
	if err != nil {
		return nil, err
	}
	if req.Node == "" {
		return travelToFrame(ctx, s, head, frame, req)
	}
	known := head.Entry()
	if frame != nil {
		known = frame.Entry
	}
	attempt, err := code.FindAttempt(known, code.AttemptName{Node: req.Node, Iteration: req.Iteration, Attempt: req.Attempt})
	if err != nil {
		return nil, err
	}
	key := snapshot.AttemptKey(attempt.NodeID, attempt.Iteration, attempt.Attempt)
	t := newPlan(s, head, snapshot.Op{
		Kind: snapshot.OpTravel, NodeID: attempt.NodeID, Iteration: attempt.Iteration, Attempt: attempt.Attempt, NoDeps: req.NoDeps,
	})
	t.agree = req.Agree
	if req.NoDeps {
		t.subject = snapshot.Key(attempt.NodeID, attempt.Iteration) + " pending again"
		t.out.To = timeline.Address{Run: head.Row().ID, Frame: head.Row().Frame}
		t.turn = func(at int64) (*turn, error) { return t.again(attempt, req.Redefinition, at) }
		return t.do(ctx)
	}
	to, err := beforeAttempt(s, head, key)
	if err != nil {
		return nil, err
	}
	t.out.To, t.op.To = to.address, to.own()
	t.subject = fmt.Sprintf("back to %s, before %s", to.name(head.Row().ID), key)
	t.turn = func(at int64) (*turn, error) {
		return t.back(to, "before "+key, snapshot.Key(attempt.NodeID, attempt.Iteration), req.Redefinition, at)
	}
	t.stays = code.Trail(req.File)
	if t.confirm = req.Confirm; !req.NoFiles {
		if err := t.restores(ctx, to.then, nil); err != nil {
			return nil, err
		}
	}
	return t.do(ctx)
}

// unowned opens the tip of a run that no live process owns.
func unowned(ctx context.Context, s *timeline.Store, run string) (*timeline.Head, error) {
	id, err := s.ResolveRunToChange(ctx, run)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	return head, s.RefuseOwned(head.Row())
}

// back returns the turn of a travel back to a place, which people know as where. The node with the key, and the nodes
// that need it, become pending; "" means no node.
func (t *plan) back(to *destination, where, key string, re Redefinition, at int64) (*turn, error) {
	state, err := to.then.State()
	if err != nil {
		return nil, err
	}
	steps := t.stepOver("the run went back to "+where, at)
	if err := steps.since(to.then, true); err != nil {
		return nil, err
	}
	changes, err := re.prepare(state)
	if err != nil {
		return nil, err
	}
	resets := &backReset{store: t.store, state: state, changes: changes}
	if err := resets.add(resets.unfinished(steps.nodes)); err != nil {
		return nil, err
	}
	if key != "" {
		if err := resets.add(resets.downstream(key)); err != nil {
			return nil, err
		}
	}
	turn := &turn{then: to.then, state: resets.changes, based: &to.based, steps: steps, status: snapshot.RunPending}
	return turn, t.redefine(turn, re)
}

// again is the turn of a travel that makes a node pending in the state as it is.
func (t *plan) again(attempt snapshot.Attempt, re Redefinition, at int64) (*turn, error) {
	key := snapshot.Key(attempt.NodeID, attempt.Iteration)
	steps := t.stepOver(key+" was made pending again", at)
	err := steps.all(func(a snapshot.Attempt) bool {
		return a.NodeID == attempt.NodeID && a.Iteration == attempt.Iteration && a.Attempt >= attempt.Attempt
	})
	if err != nil {
		return nil, err
	}
	changes, err := re.prepare(t.head.State())
	if err != nil {
		return nil, err
	}
	resets := &backReset{store: t.store, state: t.head.State(), changes: changes}
	if err := resets.add(resets.alone(key)); err != nil {
		return nil, err
	}
	turn := &turn{state: resets.changes, steps: steps, status: snapshot.RunPending}
	return turn, t.redefine(turn, re)
}

// prepare are the changes that fit a state to the workflow.
func (re Redefinition) prepare(state *snapshot.State) ([]snapshot.Change, error) {
	if re.Prepare == nil {
		return nil, nil
	}
	return re.Prepare(state)
}
