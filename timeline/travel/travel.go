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
	// File is the absolute path of the workflow file, or "". In every working copy, the file
	// and the symbolic links that lead to it stay as they are.
	File string
	// Agree is called before anything is written and returns an error if the run must not continue with its definition;
	// nil to ask nothing.
	Agree func(*snapshot.Workflow) error
	// Prepare returns the changes that fit a state to the workflow; nil for no changes.
	Prepare func(*snapshot.State) ([]snapshot.Change, error)
}

// Request asks to go back to the state before an attempt or, without a node, to a frame.
type Request struct {
	Run       string // its id, or the address of one of its frames
	Node      string // "" to go back to the frame that Run names
	Iteration int
	Attempt   int  // 0 for the newest of the iteration, as of the frame if Run names one
	NoDeps    bool // reset the node alone, in the state as it is, and leave files alone
	NoFiles   bool // leave the working copy as it is
	Confirm   code.ConfirmRemoval
	Redefinition
}

// Result is the outcome of a travel, reset or undo. No slice but PassedOver is nil.
type Result struct {
	Run       string
	Op        snapshot.Op
	Undone    *snapshot.Op     // the op that an undo took back; else nil
	Frame     int64            // the new frame; the undo of a fork makes none, so it is the newest
	From      int64            // the newest frame before, including a frame of saved files
	To        timeline.Address // the frame to whose state the run went back, maybe an ancestor's
	Reset     []string         // keys of nodes that became pending
	Cancelled []string         // keys of attempts that became cancelled
	Dropped   []int64          // numbers of the frames that became dropped
	Files     *code.Restored   // the restored working copy; nil if it was left alone
	Worktrees []*code.Restored // of tasks' own worktrees
	Missing   []string         // tasks whose own worktree no longer exists here
	NoFiles   string           // why no files were restored, if the frame has none
	// PassedOver are the newer ops, newest first, that an undo without a run left alone because they were not done here.
	PassedOver []PassedOver
	Status     snapshot.RunStatus
}

// Travel appends a frame whose state, mailbox included, is the state just before an attempt started: the last frame
// before the attempt, and all that arrived between the two. The working copy goes back likewise. Nodes with an
// attempt at or after that moment become pending, and so do all nodes that need the node, directly or not. Attempts
// from the named one on are marked cancelled and stay in the journal. The frames between are dropped. The run is
// pending.
//
// A node that was in progress then becomes pending. A node that waited then waits again for the same thing. The
// rendered tree and, unless the request names another, the workflow are those of the frame. Files in the working copy
// that no frame of the run has are saved in a frame first. With NoFiles, the frame keeps the tip's record of the
// working copy.
//
// With NoDeps the state is the tip's with that node pending, and no frame is dropped.
//
// Without a node, the state and the files are those of the frame that Run names, and the op is a reset to that frame.
//
// The errors are attempt_not_found, frame_not_found if no frame precedes the attempt, run_owned, conflict if another
// process has changed the run, and every error of Restore. With these errors nothing is changed.
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

// unowned opens the tip of a run. If a live process owns the run, the error is run_owned.
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

// back returns the turn of a travel to a destination, which where names for readers. The node with the key, and the
// nodes that need it, become pending; "" means no node.
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

// again returns the turn of a travel that makes a node pending and keeps the rest of the state.
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

// prepare returns the changes that fit a state to the workflow.
func (re Redefinition) prepare(state *snapshot.State) ([]snapshot.Change, error) {
	if re.Prepare == nil {
		return nil, nil
	}
	return re.Prepare(state)
}
