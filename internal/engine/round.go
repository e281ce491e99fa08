package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// round adds every possible change to r.next: tasks start, begin to wait, fail or are skipped, and loops advance or
// end. It starts tasks only while fewer than Options.MaxParallel commands run; the other tasks stay pending. It
// starts nothing once the run has failed or is being cancelled. It returns the jobs to execute after the changes are
// committed.
func (r *runner) round(ctx context.Context) ([]*job, error) {
	var jobs []*job
	r.rest = time.Time{}
	r.noteAftermath()
	for _, t := range r.wf.Tasks {
		key := r.newest(r.wf, t)
		move, err := r.decide(t, key)
		switch {
		case err != nil:
			return nil, err
		case move == moveSkips:
			r.skip(t, key, "")
		case move == moveWaits:
			if err := r.beginWait(t, key); err != nil {
				return nil, err
			}
		case move == moveStarts && len(r.running) < r.opts.MaxParallel:
			j, err := r.admit(ctx, t, key)
			if err != nil {
				return nil, err
			}
			if j != nil {
				jobs = append(jobs, j)
			}
		}
	}
	for _, l := range r.wf.Loops {
		if r.advances(l) {
			if err := r.advance(l); err != nil {
				return nil, err
			}
		}
	}
	return jobs, nil
}

// A move is what a run does next with a task.
type move int

const (
	moveNone   move = iota // nothing yet
	moveFails              // decide has made the node and the run fail
	moveSkips              // the condition does not hold
	moveWaits              // it begins to wait
	moveStarts             // its command or call starts, as soon as there is room
)

// decide returns what the run does next with a task. key is the task's newest node.
func (r *runner) decide(t *workflow.Task, key workflow.NodeKey) (move, error) {
	if !r.mayStart(t) {
		return moveNone, nil
	}
	if _, parked := r.parked[key]; parked {
		return moveNone, nil
	}
	if rests, err := r.rests(t, key); err != nil || rests {
		return moveNone, err
	}
	holds, err := r.holds(t, key)
	switch {
	case err != nil:
		return moveNone, err
	case r.nodes[key].State == snapshot.NodeFailed: // holds has made the node fail
		return moveFails, nil
	case !holds:
		return moveSkips, nil
	case !t.Works():
		return moveWaits, nil
	}
	return moveStarts, nil
}

// noteAftermath notes that the run has failed and nothing else can start, so that tasks that ask for failures start.
func (r *runner) noteAftermath() {
	r.aftermath = r.aftermath || r.failure.text != "" && len(r.running) == 0 && !r.anyMayStart()
}

// mayStart reports whether a task is pending, and neither what it waits for nor a failure keeps it from starting.
func (r *runner) mayStart(t *workflow.Task) bool {
	return !r.stopping && r.nodes[r.newest(r.wf, t)].State == snapshot.NodePending && !r.barred(t) &&
		(r.ready(r.wf, t) || r.aftermath && t.AfterFailure() && r.readyAfter(t))
}

// anyMayStart reports whether a task may start.
func (r *runner) anyMayStart() bool { return slices.ContainsFunc(r.wf.Tasks, r.mayStart) }

// barred reports whether a task must not start, because another has failed. A task that asks for failures starts when nothing else does. A cell
// with fail-fast: false starts if only cells of its matrix have failed.
func (r *runner) barred(t *workflow.Task) bool {
	switch {
	case r.failure.text == "":
		return false
	case t.AfterFailure():
		return !r.aftermath
	}
	return !t.Apart || slices.ContainsFunc(r.failures, func(f failure) bool { return f.task == nil || f.task.CellOf != t.CellOf })
}

// readyAfter reports whether a task that asks for failures can start after one: nothing else can any more, so it waits only for tasks that ask
// for failures, too.
func (r *runner) readyAfter(t *workflow.Task) bool {
	return !slices.ContainsFunc(t.Waits, func(id string) bool {
		need := r.wf.Task(id)
		return need != nil && need.AfterFailure() && !r.over(r.wf, need) && r.nodes[r.newest(r.wf, need)].State != snapshot.NodeFailed
	})
}

// failedBefore returns the tasks that have failed and that t waits for, directly or not, in file order. Of a loop that has failed, it returns the
// loop's id.
func (r *runner) failedBefore(t *workflow.Task) []string {
	failed := []string{}
	for _, other := range r.wf.Tasks {
		if t.Before[other.ID] && !other.Allowed && r.nodes[r.newest(r.wf, other)].State == snapshot.NodeFailed {
			failed = append(failed, other.ID)
		}
	}
	for _, l := range r.wf.Loops {
		if t.Before[l.ID] && slices.Contains(r.failedLoops, l.ID) {
			failed = append(failed, l.ID)
		}
	}
	return failed
}

// halted reports whether the run has failed or is being cancelled, so that no new task may start.
func (r *runner) halted() bool { return r.failure.text != "" || r.stopping }

// holds reports whether a task's condition is true. It returns true for a task without a condition. If the
// evaluation fails, holds makes the node and the run fail, and returns false without an error.
func (r *runner) holds(t *workflow.Task, key workflow.NodeKey) (bool, error) {
	if t.Condition() == nil {
		return true, nil
	}
	outputs, err := r.data.readRefs(t.Condition().Refs, t, key.Iteration)
	if err != nil {
		return false, err
	}
	holds, trouble := r.data.eval(t.Condition(), outputs, t.Loop != "", key.Iteration, t.AfterFailure() && len(r.failedBefore(t)) > 0)
	if trouble != "" {
		why := reason{reasonCondition, "when: " + trouble}
		n := r.nodes[key]
		n.State = snapshot.NodeFailed
		r.setNode(r.next, n)
		r.next.event("NodeFailed", payload{NodeID: key.ID, Iteration: &key.Iteration, Error: why.String()})
		r.next.say(key.Name(t), "failed: "+why.text)
		r.next.step(key.Name(t), n.State, 0, 0)
		r.fail(t, key.ID, key.Name(t), why.text)
		r.failure.denied = false
		return false, nil
	}
	return holds, nil
}

// admit starts a task as start does, unless Options.Admit says that the task is skipped or that the run fails. The job is then nil.
func (r *runner) admit(ctx context.Context, t *workflow.Task, key workflow.NodeKey) (*job, error) {
	var said Admission
	if r.opts.Admit != nil {
		var err error
		if said, err = r.opts.Admit(ctx, t); err != nil {
			return nil, err
		}
	}
	switch {
	case said.Skip != "":
		r.skip(t, key, ": "+said.Skip)
		return nil, nil
	case said.Fail != "":
		r.fail(nil, key.ID, "", said.Fail)
		return nil, nil
	}
	return r.start(t, key)
}

// skip makes a node skipped, because its condition is false, or for the reason why.
func (r *runner) skip(t *workflow.Task, key workflow.NodeKey, why string) {
	n := r.nodes[key]
	n.State = snapshot.NodeSkipped
	r.setNode(r.next, n)
	r.next.event("NodeSkipped", payload{NodeID: key.ID, Iteration: &key.Iteration})
	r.next.say(key.Name(t), "skipped"+why)
	r.next.step(key.Name(t), n.State, 0, 0)
}

// start begins a new attempt of a node: it changes the node's state to in progress, records the attempt in r.next and
// r.running, and returns the attempt's job. The caller executes the job after the frame is committed.
func (r *runner) start(t *workflow.Task, key workflow.NodeKey) (*job, error) {
	number, previous, err := r.nextAttempt(key)
	if err != nil {
		return nil, err
	}
	given, err := r.data.contextOf(t, key, number, previous)
	if err != nil {
		return nil, err
	}
	if t.AfterFailure() {
		given.Failed = r.failedBefore(t)
	}
	stdin, err := given.line()
	if err != nil {
		return nil, err
	}
	j := &job{
		key: key, task: t, attempt: number, stdin: stdin, schema: r.wf.Schema(t.Output),
		opts: &r.opts, runID: r.runID, live: r.live, input: given.Input, startedAtMs: r.next.atMs,
	}
	j.dir, j.opener = r.files.placeOf(t)
	j.span = r.spanOf(key, number)
	if j.lookup, err = r.lookupOf(t, given, stdin); err != nil {
		return nil, err
	}
	a := &attempt{job: j, Attempt: snapshot.Attempt{
		NodeID: key.ID, Iteration: key.Iteration, Attempt: number,
		State: snapshot.AttemptInProgress, StartedAtMs: r.next.atMs, Worktree: t.OwnWorktree(),
	}}
	if t.Sandbox != nil {
		a.Sandbox = t.Sandbox.String()
	}
	p := payload{NodeID: key.ID, Iteration: &key.Iteration, Attempt: number}
	if t.Call != nil {
		if j.call, err = r.callOf(t, key, number); err != nil {
			return nil, err
		}
		if j.call.Input, j.unfit, err = r.data.inputOf(t, key.Iteration); err != nil {
			return nil, err
		}
		if !r.wf.IsCourses() { // a push of the group would bring their conversations along
			a.Child, p.Child = j.call.RunID, j.call.RunID
		}
	}
	r.running[key] = a
	n := r.nodes[key]
	n.State, n.LastAttempt = snapshot.NodeInProgress, &number
	r.setNode(r.next, n)
	r.next.attempt(a.Attempt)
	r.next.startsIn(j)
	r.next.event("NodeStarted", p)
	verb := "started"
	if spent := r.tries.of(r.next, t, n); spent > 0 {
		verb += " " + ofTries(t, spent+1)
	}
	r.next.say(key.Name(t), verb)
	r.next.step(key.Name(t), n.State, a.StartedAtMs, 0)
	return j, nil
}

// nextAttempt returns the number of a node's next attempt. previous is the error of the node's last attempt, or nil
// if that attempt has no error. A number is never reused: after a reset, the numbers continue after the journal's
// attempts. nextAttempt cancels attempts in the journal that have not ended.
func (r *runner) nextAttempt(key workflow.NodeKey) (number int, previous *string, err error) {
	if n := r.nodes[key]; n.LastAttempt != nil {
		number = *n.LastAttempt
		if previous, err = r.journal.errorOf(key, number); err != nil {
			return 0, nil, err
		}
	}
	for {
		number++
		a, taken, err := r.journal.attempt(key, number)
		if err != nil || !taken {
			return number, previous, err
		}
		if a.FinishedAtMs == nil {
			r.next.cancel(a, "the task was reset")
		}
	}
}

// advances reports whether the newest iteration of a loop is over, so that the loop goes on or ends.
func (r *runner) advances(l *workflow.Loop) bool {
	return !r.halted() && !r.loops[r.newestLoop(r.wf, l)].Done && r.idle(r.wf, l)
}

// advance ends the newest iteration of a loop.
//   - If the loop's condition holds, the loop is done.
//   - If the condition cannot be evaluated, the run fails.
//   - If the loop has had its maximum of iterations, the workflow's on_max decides: with on_max: finish, the loop is
//     done; otherwise the run fails.
//   - Otherwise the next iteration begins.
func (r *runner) advance(l *workflow.Loop) error {
	id := r.newestLoop(r.wf, l)
	loop := r.loops[id]
	outputs, err := r.data.readRefs(l.Condition().Refs, nil, loop.Iteration)
	if err != nil {
		return err
	}
	done, trouble := r.data.eval(l.Condition(), outputs, true, loop.Iteration, false)
	switch {
	case trouble != "":
		r.failLoop(l, id+": until: "+trouble)
		r.next.say(id, "failed: until: "+trouble)
		return nil
	case done:
		r.next.say(id, "done "+iterations(loop))
	case loop.Iteration+1 >= l.Max && l.Finish:
		r.next.say(id, "ended "+iterations(loop)+", its max")
	case loop.Iteration+1 >= l.Max:
		r.failLoop(l, fmt.Sprintf("%s: until did not hold %s, its max", id, iterations(loop)))
		r.next.say(id, "reached its max of "+strconv.Itoa(l.Max))
		return nil
	default:
		r.iterate(l, loop)
		return nil
	}
	loop.Done = true
	r.setLoop(r.next, loop)
	r.next.render(r.wf, r.doneIn(r.wf))
	return nil
}

// iterate begins the next iteration of a loop.
func (r *runner) iterate(l *workflow.Loop, loop snapshot.Loop) {
	loop.Iteration++
	r.setLoop(r.next, loop)
	r.enter(l)
	r.next.say(loop.RalphID, fmt.Sprintf("begins iteration %d", loop.Iteration))
}

// enter begins the newest iteration of a loop: each task of the loop gets a pending node, and each loop in it begins. A node or a loop that the
// iteration already has keeps its state.
func (r *runner) enter(l *workflow.Loop) {
	for _, t := range l.Tasks {
		key := r.newest(r.wf, t)
		if _, ok := r.nodes[key]; ok { // kept by reopen
			continue
		}
		r.setNode(r.next, r.wf.Node(key))
		r.next.event("NodePending", payload{NodeID: key.ID, Iteration: &key.Iteration})
	}
	for _, inner := range l.Loops {
		if id := r.newestLoop(r.wf, inner); r.loops[id].RalphID == "" {
			r.setLoop(r.next, snapshot.Loop{RalphID: id})
		}
		r.enter(inner)
	}
}

// iterations returns the number of a loop's iterations in words, for example "after 2 iterations".
func iterations(loop snapshot.Loop) string {
	if loop.Iteration == 0 {
		return "after 1 iteration"
	}
	return fmt.Sprintf("after %d iterations", loop.Iteration+1)
}
