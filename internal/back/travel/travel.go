// Package travel takes a run back to a frame, to the state before an attempt, or to its beginning, and undoes such ops.
package travel

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Redefinition is the workflow with which a run continues after a travel or reset. The zero value keeps the
// workflow of the frame.
type Redefinition struct {
	Workflow     *snapshot.Workflow // nil keeps the workflow
	WorkflowPath string             // the path for the run's row; "" keeps the path
	// File is the absolute path of the workflow file, or "". A restore changes neither this file nor the
	// symbolic links that lead to it.
	File string
	// Agree, if not nil, is called before anything is written. It returns an error if the run must not
	// continue with the given definition.
	Agree func(*snapshot.Workflow) error
	// Prepare, if not nil, returns the changes that adapt a state to the workflow. Its second argument gives texts of the
	// state their secrets.
	Prepare func(*snapshot.State, snapshot.Reveal) ([]snapshot.Change, error)
}

// Request asks to go back to the state before an attempt or, without a node, to a frame.
type Request struct {
	Run       string // the run's id, or the address of one of its frames
	Node      string // a node id; "" means the frame that Run names
	Iteration int
	Attempt   int                  // 0 means the newest attempt of the iteration, as of the frame that Run names or of the tip
	NoDeps    bool                 // reset only the node, keep the rest of the tip's state, and restore no files
	NoFiles   bool                 // restore no files
	Signals   bool                 // keep the signals that have come since
	Force     bool                 // go on although a process in another clone may be executing the run
	Confirm   files.ConfirmRemoval // asks about untracked files; nil removes them without a question
	// Effects is asked about effects outside the run that are stepped over. If it returns an error, nothing is changed. nil steps over them.
	Effects timeline.ConfirmEffects
	// DryRun, if not nil, is called in place of all writes, with the draft of the new frame, without its files and its op. The result is then
	// that of the travel so far: without the new frame and the op.
	DryRun func(*snapshot.Draft) error
	Redefinition
}

// Result is the outcome of a travel, reset or undo. No slice but PassedOver is nil.
type Result struct {
	Run       string                 // the run's id
	Op        snapshot.Op            // the recorded op
	Undone    *snapshot.Op           // the op that an undo took back; nil for a travel or reset
	Frame     int64                  // the new frame; after the undo of a fork, the newest frame
	From      int64                  // the newest frame before the op, including a frame of saved files
	To        timeline.Address       // the frame whose state the run has now; it may belong to an ancestor
	Reset     []string               // keys of nodes that became pending
	Cancelled []string               // keys of attempts that became cancelled
	Signals   []string               // names of the signals that the run has no more, in the order in which they came
	Dropped   []int64                // numbers of the frames that became dropped
	Files     *files.RestoreResult   // the restored working copy that the tasks share; nil if it was not restored
	Worktrees []*files.RestoreResult // the restored worktrees of single tasks
	Missing   []string               // tasks whose own worktree no longer exists
	NoFiles   string                 // the reason if the frame has no files to restore; otherwise ""
	// PassedOver are the newer ops, newest first, that an undo without a run left alone, because they were not made in
	// this clone.
	PassedOver []PassedOver
	Status     snapshot.RunStatus
}

// Travel appends a frame that takes the run back to the moment just before an attempt started. The new state, including
// the mailbox, is the state of the newest entry before the attempt. Travel restores the working copies to the same
// moment. Nodes with an attempt at or after that moment become pending, and so do all nodes that need the attempt's
// node, directly or not. Later attempts are marked cancelled and stay in the journal. The frames between are dropped.
// The run is pending.
//
// A node that was in progress at that moment becomes pending. A node that waited waits again for the same thing. The
// run also gets the rendered tree of that entry and, unless the request names another workflow, the workflow of that
// entry. If the working copy has files that no frame of the run has, Travel saves them in a frame first. With NoFiles,
// the new frame keeps the tip's record of the working copy.
//
// With NoDeps, the new state is the tip's state with the node pending, and no frame is dropped.
//
// Without a node, Travel takes the run back to the frame that Run names, and the op is a reset to that frame.
//
// Error codes: invalid_address if the request names neither a frame nor a node; attempt_not_found; frame_not_found
// if no frame precedes the attempt; run_owned; conflict if another process has changed the run; and every code of
// files.Restore. With these errors, the state of the run and all files are unchanged.
func Travel(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	head, frame, err := unownedAt(ctx, s, req.Run, req.Force)
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
	attempt, err := files.FindAttempt(known, files.AttemptName{Node: req.Node, Iteration: req.Iteration, Attempt: req.Attempt})
	if err != nil {
		return nil, err
	}
	key := snapshot.AttemptKey(attempt.NodeID, attempt.Iteration, attempt.Attempt)
	t := newPlan(s, head, snapshot.Op{
		Kind: snapshot.OpTravel, NodeID: attempt.NodeID, Iteration: attempt.Iteration, Attempt: attempt.Attempt, NoDeps: req.NoDeps,
	})
	t.agree, t.effects, t.keeps = req.Agree, req.Effects, req.Signals
	t.dryRun, t.files.DryRun = req.DryRun, req.DryRun != nil
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
	t.stays = files.Trail(req.File)
	if t.confirm = req.Confirm; !req.NoFiles {
		if err := t.restores(ctx, to.then, nil); err != nil {
			return nil, err
		}
	}
	return t.do(ctx)
}

// unowned opens the run with the whole id run. If a process may be executing the run, unowned
// returns the head with the error run_owned: see [timeline.Head.RefuseExecuted].
func unowned(ctx context.Context, s *timeline.Store, run string, force bool) (*timeline.Head, error) {
	id, err := s.ResolveRunToChange(ctx, run)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	return head, head.RefuseExecuted(force)
}

// back returns the change that gives the run the state of dest. The change cancels every attempt that began after dest
// or was in progress at dest. The nodes of these attempts become pending, unless they wait. If key is not "", the node
// with this key, unless it waits, and all nodes that need it, directly or not, become pending too. where names dest in
// the error of the cancelled attempts. redef has the workflow with which the run continues. at is the time in
// milliseconds since 1970.
func (t *plan) back(dest *destination, where, key string, redef Redefinition, at int64) (*turn, error) {
	state, err := dest.then.State()
	if err != nil {
		return nil, err
	}
	steps := t.stepOver("the run went back to "+where, at)
	if err := steps.since(dest.then, true); err != nil {
		return nil, err
	}
	changes, err := redef.prepare(state, t.head.Reveal)
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
	turn := &turn{then: dest.then, state: resets.changes, based: &dest.based, steps: steps, status: snapshot.RunPending}
	return turn, t.redefine(turn, redef)
}

// again returns the change that makes the node of attempt pending and keeps the rest of the state. It cancels
// attempt and the later attempts of the same iteration. redef has the workflow with which the run continues. at is
// the time in milliseconds since 1970.
func (t *plan) again(attempt snapshot.Attempt, redef Redefinition, at int64) (*turn, error) {
	key := snapshot.Key(attempt.NodeID, attempt.Iteration)
	steps := t.stepOver(key+" was made pending again", at)
	err := steps.all(func(a snapshot.Attempt) bool {
		return a.NodeID == attempt.NodeID && a.Iteration == attempt.Iteration && a.Attempt >= attempt.Attempt
	})
	if err != nil {
		return nil, err
	}
	changes, err := redef.prepare(t.head.State(), t.head.Reveal)
	if err != nil {
		return nil, err
	}
	resets := &backReset{store: t.store, state: t.head.State(), changes: changes}
	if err := resets.add(resets.alone(key)); err != nil {
		return nil, err
	}
	turn := &turn{state: resets.changes, steps: steps, status: snapshot.RunPending}
	return turn, t.redefine(turn, redef)
}

// prepare returns the changes that adapt state to the workflow, or nil if the caller gave no Prepare
// function.
func (re Redefinition) prepare(state *snapshot.State, reveal snapshot.Reveal) ([]snapshot.Change, error) {
	if re.Prepare == nil {
		return nil, nil
	}
	return re.Prepare(state, reveal)
}
