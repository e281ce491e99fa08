package engine

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// round makes every change that is possible now: tasks start, begin to wait or are
// skipped, loops advance or end. It returns the jobs to execute once the changes are
// committed.
func (r *runner) round() ([]*job, error) {
	var jobs []*job
	for _, t := range r.wf.Tasks {
		key := workflow.NodeKey{ID: t.ID, Iteration: r.iteration(t)}
		if r.halted() || r.nodes[key].State != snapshot.NodePending || !r.ready(r.wf, t) {
			continue
		}
		holds, err := r.holds(t, key)
		switch {
		case err != nil:
			return nil, err
		case r.nodes[key].State == snapshot.NodeFailed:
		case !holds:
			r.skip(t, key)
		case t.Run == "":
			if err := r.beginWait(t, key); err != nil {
				return nil, err
			}
		case len(r.running) < r.opts.MaxParallel:
			j, err := r.start(t, key)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
	}
	for _, l := range r.wf.Loops {
		if !r.halted() && !r.loops[l.ID].Done && r.idle(l) {
			if err := r.advance(l); err != nil {
				return nil, err
			}
		}
	}
	return jobs, nil
}

// halted reports whether no new task may start.
func (r *runner) halted() bool { return r.failure.text != "" || r.stopping }

// holds evaluates a task's condition. If the evaluation fails, the node fails.
func (r *runner) holds(t *workflow.Task, key workflow.NodeKey) (bool, error) {
	if t.Condition() == nil {
		return true, nil
	}
	outputs, err := r.data.readRefs(t.Condition().Refs, t, key.Iteration)
	if err != nil {
		return false, err
	}
	holds, trouble := r.data.eval(t.Condition(), outputs, t.Loop != "", key.Iteration)
	if trouble != "" {
		why := reason{reasonCondition, "when: " + trouble}
		n := r.nodes[key]
		n.State = snapshot.NodeFailed
		r.setNode(r.next, n)
		r.next.event("NodeFailed", payload{NodeID: key.ID, Iteration: &key.Iteration, Error: why.String()})
		r.next.say(key.Name(t), "failed: "+why.text)
		r.next.step(key.Name(t), n.State, 0, 0)
		r.fail(t, key, key.Name(t)+": "+why.text)
		return false, nil
	}
	return holds, nil
}

// skip makes a node skipped.
func (r *runner) skip(t *workflow.Task, key workflow.NodeKey) {
	n := r.nodes[key]
	n.State = snapshot.NodeSkipped
	r.setNode(r.next, n)
	r.next.event("NodeSkipped", payload{NodeID: key.ID, Iteration: &key.Iteration})
	r.next.say(key.Name(t), "skipped")
	r.next.step(key.Name(t), n.State, 0, 0)
}

// start creates the next attempt of a node, and its job.
func (r *runner) start(t *workflow.Task, key workflow.NodeKey) (*job, error) {
	number, previous, err := r.nextAttempt(key)
	if err != nil {
		return nil, err
	}
	stdin, err := r.data.contextOf(t, key, number, previous)
	if err != nil {
		return nil, err
	}
	j := &job{
		key: key, task: t, attempt: number, stdin: stdin, schema: r.wf.Schema(t.Output),
		opts: &r.opts, runID: r.runID, live: r.live,
	}
	j.dir, j.opener = r.files.placeOf(t)
	a := &attempt{job: j, Attempt: snapshot.Attempt{
		NodeID: key.ID, Iteration: key.Iteration, Attempt: number,
		State: snapshot.AttemptInProgress, StartedAtMs: r.next.atMs, Worktree: t.OwnWorktree(),
	}}
	r.running[key], r.began[key] = a, r.rec.Row().Frame
	n := r.nodes[key]
	n.State, n.LastAttempt = snapshot.NodeInProgress, &number
	r.setNode(r.next, n)
	r.next.attempt(a.Attempt)
	r.next.event("NodeStarted", payload{NodeID: key.ID, Iteration: &key.Iteration, Attempt: number})
	verb := "started"
	if spent := r.tries.of(r.next, t, n); spent > 0 {
		verb += " " + ofTries(t, spent+1)
	}
	r.next.say(key.Name(t), verb)
	r.next.step(key.Name(t), n.State, a.StartedAtMs, 0)
	return j, nil
}

// nextAttempt returns the number of a node's next attempt, and the error of the previous one or
// nil. Numbers are never reused: after a reset they continue after the journal's attempts, and
// attempts that had not ended are ended here.
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

// advance ends an iteration of a loop: the loop ends or begins its next iteration.
func (r *runner) advance(l *workflow.Loop) error {
	loop := r.loops[l.ID]
	outputs, err := r.data.readRefs(l.Condition().Refs, nil, loop.Iteration)
	if err != nil {
		return err
	}
	done, trouble := r.data.eval(l.Condition(), outputs, true, loop.Iteration)
	switch {
	case trouble != "":
		r.fail(nil, workflow.NodeKey{}, l.ID+": until: "+trouble)
		r.next.say(l.ID, "failed: until: "+trouble)
		return nil
	case done:
		r.next.say(l.ID, "done "+iterations(loop))
	case loop.Iteration+1 >= l.Max && l.Finish:
		r.next.say(l.ID, "ended "+iterations(loop)+", its max")
	case loop.Iteration+1 >= l.Max:
		r.fail(nil, workflow.NodeKey{}, fmt.Sprintf("%s: until did not hold %s, its max", l.ID, iterations(loop)))
		r.next.say(l.ID, "reached its max of "+strconv.Itoa(l.Max))
		return nil
	default:
		r.iterate(l, loop)
		return nil
	}
	loop.Done = true
	r.setLoop(r.next, loop)
	r.next.render(r.wf, r.done)
	return nil
}

// iterate begins the next iteration of a loop. Nodes that a reset kept in that iteration stay as they are.
func (r *runner) iterate(l *workflow.Loop, loop snapshot.Loop) {
	loop.Iteration++
	r.setLoop(r.next, loop)
	for _, t := range l.Tasks {
		if _, ok := r.nodes[workflow.NodeKey{ID: t.ID, Iteration: loop.Iteration}]; ok { // kept when the loop went back
			continue
		}
		r.setNode(r.next, r.wf.Node(t, loop.Iteration))
		r.next.event("NodePending", payload{NodeID: t.ID, Iteration: &loop.Iteration})
	}
	r.next.say(l.ID, fmt.Sprintf("begins iteration %d", loop.Iteration))
}

func iterations(loop snapshot.Loop) string {
	if loop.Iteration == 0 {
		return "after 1 iteration"
	}
	return fmt.Sprintf("after %d iterations", loop.Iteration+1)
}
