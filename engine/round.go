package engine

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// round makes every change that can be made now: tasks start or are skipped, loops
// advance or end. It returns the attempts to execute once the changes are committed.
func (r *runner) round() ([]*job, error) {
	var jobs []*job
	for _, t := range r.wf.Tasks {
		key := nodeKey{t.ID, r.iteration(t)}
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

// halted tells whether nothing new may start.
func (r *runner) halted() bool { return r.failure != "" || r.stopping }

// holds evaluates a task's condition. One that cannot be evaluated fails the node.
func (r *runner) holds(t *Task, key nodeKey) (bool, error) {
	if t.when == nil {
		return true, nil
	}
	outputs, err := r.readRefs(t.when, t, key.iteration)
	if err != nil {
		return false, err
	}
	holds, trouble := r.eval(t.when, outputs, t.Loop != "", key.iteration)
	if trouble != "" {
		why := reason{reasonCondition, "when: " + trouble}
		n := r.nodes[key]
		n.State = snapshot.NodeFailed
		r.setNode(r.next, n)
		r.next.event("NodeFailed", payload{NodeID: key.id, Iteration: &key.iteration, Error: why.String()})
		r.next.say(key.name(t), "failed: "+why.text)
		r.failure = key.name(t) + ": " + why.text
		return false, nil
	}
	return holds, nil
}

func (r *runner) skip(t *Task, key nodeKey) {
	n := r.nodes[key]
	n.State = snapshot.NodeSkipped
	r.setNode(r.next, n)
	r.next.event("NodeSkipped", payload{NodeID: key.id, Iteration: &key.iteration})
	r.next.say(key.name(t), "skipped")
}

// start makes the next attempt of a node and the job that executes it.
func (r *runner) start(t *Task, key nodeKey) (*job, error) {
	number, previous, err := r.nextAttempt(key)
	if err != nil {
		return nil, err
	}
	stdin, err := r.contextOf(t, key, number, previous)
	if err != nil {
		return nil, err
	}
	j := &job{
		key: key, task: t, attempt: number, stdin: stdin, schema: r.wf.outputs[t.Output],
		opts: &r.opts, runID: r.runID, live: r.live,
	}
	j.dir, j.opening = r.placeOf(t)
	a := &attempt{job: j, Attempt: snapshot.Attempt{
		NodeID: key.id, Iteration: key.iteration, Attempt: number,
		State: snapshot.AttemptInProgress, StartedAtMs: r.next.atMs, Worktree: t.ownWorktree(),
	}}
	r.running[key] = a
	n := r.nodes[key]
	n.State, n.LastAttempt = snapshot.NodeInProgress, &number
	r.setNode(r.next, n)
	r.next.attempt(a.Attempt)
	r.next.event("NodeStarted", payload{NodeID: key.id, Iteration: &key.iteration, Attempt: number})
	verb := "started"
	if r.tries(key, number) > 1 {
		verb += " " + r.ofTries(t, key, number)
	}
	r.next.say(key.name(t), verb)
	return j, nil
}

// nextAttempt is the number of a node's next attempt and the error of the one
// before it, nil for none. Numbers are never used twice: a node that was reset goes
// on after the attempts that the journal has.
func (r *runner) nextAttempt(key nodeKey) (number int, previous *string, err error) {
	last := 0
	if n := r.nodes[key]; n.LastAttempt != nil {
		last = *n.LastAttempt
		if previous, err = r.errorOf(key, last); err != nil {
			return 0, nil, err
		}
	}
	if r.first[key] == 0 {
		for taken := true; taken; last++ {
			if _, taken, err = r.pastAttempt(key, last+1); err != nil {
				return 0, nil, err
			}
		}
		r.first[key] = last
		return last, previous, nil
	}
	return last + 1, previous, nil
}

// errorOf is why an attempt failed, nil when it did not.
func (r *runner) errorOf(key nodeKey, number int) (*string, error) {
	a, ok, err := r.pastAttempt(key, number)
	if err != nil || !ok || a.Error == "" {
		return nil, err
	}
	return &a.Error, nil
}

func pageRow(key string, value []byte) page.Row { return page.Row{Key: key, Value: value} }

// tries is the how manieth attempt of this process a number is.
func (r *runner) tries(key nodeKey, number int) int { return number - r.first[key] + 1 }

func (r *runner) ofTries(t *Task, key nodeKey, number int) string {
	return fmt.Sprintf("(attempt %d of %d)", r.tries(key, number), t.Retries+1)
}

// advance ends an iteration of a loop: the loop is done, or begins the next one.
func (r *runner) advance(l *Loop) error {
	loop := r.loops[l.ID]
	outputs, err := r.readRefs(l.until, nil, loop.Iteration)
	if err != nil {
		return err
	}
	done, trouble := r.eval(l.until, outputs, true, loop.Iteration)
	switch {
	case trouble != "":
		r.failure = l.ID + ": until: " + trouble
		r.next.say(l.ID, "failed: until: "+trouble)
		return nil
	case done:
		r.next.say(l.ID, "done "+iterations(loop))
	case loop.Iteration+1 >= l.Max && l.Finish:
		r.next.say(l.ID, "ended "+iterations(loop)+", its max")
	case loop.Iteration+1 >= l.Max:
		r.failure = fmt.Sprintf("%s: until did not hold %s, its max", l.ID, iterations(loop))
		r.next.say(l.ID, "reached its max of "+strconv.Itoa(l.Max))
		return nil
	default:
		r.iterate(l, loop)
		return nil
	}
	loop.Done = true
	r.setLoop(r.next, loop)
	r.render()
	return nil
}

func (r *runner) iterate(l *Loop, loop snapshot.Loop) {
	loop.Iteration++
	r.setLoop(r.next, loop)
	for _, t := range l.Tasks {
		if _, ok := r.nodes[nodeKey{t.ID, loop.Iteration}]; ok { // it was not reset when the loop went back
			continue
		}
		r.setNode(r.next, r.wf.node(t, loop.Iteration))
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

// apply records what became of an attempt.
func (r *runner) apply(out outcome) {
	key, t := out.job.key, out.job.task
	a := r.running[key].Attempt
	delete(r.running, key)
	if out.opened != nil {
		r.copies[key.id] = out.opened
	}
	if out.trouble != nil {
		r.opts.Warn(fmt.Errorf("task %s: the worktree could not be opened: %w", key.name(t), out.trouble))
	}
	now := r.opts.Now().UnixMilli()
	r.next.atMs = max(r.next.atMs, now)
	a.FinishedAtMs, a.ExitStatus = &now, out.status
	n := r.nodes[key]
	p := payload{NodeID: key.id, Iteration: &key.iteration, Attempt: a.Attempt}
	switch {
	case out.failed == nil:
		a.State, n.State = snapshot.AttemptFinished, snapshot.NodeFinished
		if t.Output != "" {
			r.next.setOutput(t.Output, snapshot.Key(key.id, key.iteration), out.output)
		}
		r.next.event("NodeFinished", p)
		r.next.say(key.name(t), "finished")
	case out.failed.code == reasonCancelled:
		a.State, a.Error, n.State = snapshot.AttemptCancelled, out.failed.String(), snapshot.NodePending
		r.next.event("NodeCancelled", p)
		r.next.say(key.name(t), "cancelled")
	default:
		a.State, a.Error = snapshot.AttemptFailed, out.failed.String()
		n.State = r.failed(out, p)
	}
	r.next.end(a)
	r.next.log(a, out.log)
	r.setNode(r.next, n)
}

// failed records a failed attempt and says what state its node is in after it.
func (r *runner) failed(out outcome, p payload) snapshot.NodeState {
	key, t := out.job.key, out.job.task
	p.Error = out.failed.String()
	r.next.event("NodeFailed", p)
	verb := "failed"
	if t.Retries > 0 {
		verb += " " + r.ofTries(t, key, out.job.attempt)
	}
	r.next.say(key.name(t), verb+": "+out.failed.text)
	if r.tries(key, out.job.attempt) <= t.Retries {
		if !r.halted() {
			p.Error = ""
			p.Attempt++
			r.next.event("NodeRetrying", p)
		}
		return snapshot.NodePending
	}
	if r.failure == "" {
		r.failure = key.name(t) + ": " + out.failed.text
	}
	return snapshot.NodeFailed
}
