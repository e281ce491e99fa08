package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ending is the end of an attempt, whether the attempt ran a command or waited.
type ending struct {
	output  json.RawMessage  // nil if the attempt has no output
	stored  json.RawMessage  // the output as it is to be stored: with texts of the mailbox as they are there; nil if it has none
	quotes  []snapshot.Quote // these texts
	status  *int             // the command's exit status; nil if the attempt waited or its command did not exit
	failed  *reason          // nil if the attempt finished
	skipped bool             // the attempt finished, and its node becomes skipped
	verb    string           // the end in words; "" means "finished" or "skipped"
	usage   json.RawMessage  // what the command used; nil if it did not say
	log     string           // the text of the attempt's log; "" if empty
	cached  string           // the address of the frame whose result this is; "" if the attempt ran or waited
}

// apply records the outcome of a command's attempt in r.next and removes the attempt from r.running. If the attempt
// opened a worktree, r.files keeps the worktree. apply warns about errors of opening the worktree, of writing the
// live log, and of recording the command's process group.
func (r *runner) apply(out outcome) {
	key, t := out.job.key, out.job.task
	a := r.running[key].Attempt
	delete(r.running, key)
	if out.opened != nil {
		r.files.open[key.ID] = out.opened
	}
	for _, trouble := range []struct {
		what string
		err  error
	}{
		{"the worktree could not be opened", out.trouble},
		{"its log cannot be read before the task ends", out.unlogged},
		{"its processes will keep running if git-smithers is killed", out.unnoted},
		{"tool calls are missing", out.uncalled},
		{"the cache could not be used", out.uncached},
		{"what it used is unknown", out.unused},
	} {
		if trouble.err != nil {
			r.opts.Warn(fmt.Errorf("task %s: %s: %w", key.Name(t), trouble.what, trouble.err))
		}
	}
	r.next.journal = append(r.next.journal, out.job.calls.take()...)
	r.noteLookup(out, a)
	r.conclude(t, a, out.ending)
	r.noteScores(out, a)
	r.parkCall(out)
}

// conclude records the end of an attempt of t in r.next, at the current time, and sets the state of the attempt's
// node:
//   - finished or skipped, if the attempt did not fail;
//   - pending, if the attempt was cancelled or the run will retry it;
//   - failed otherwise. Then the run fails, too.
func (r *runner) conclude(t *workflow.Task, a snapshot.Attempt, end ending) {
	key := workflow.NodeKey{ID: a.NodeID, Iteration: a.Iteration}
	now := r.opts.Now().UnixMilli()
	r.next.atMs = max(r.next.atMs, now)
	a.FinishedAtMs, a.ExitStatus, a.CachedFrom = &now, end.status, end.cached
	if end.cached != "" {
		a.Sandbox = "" // no command ran
	}
	n := r.nodes[key]
	p := payload{NodeID: key.ID, Iteration: &key.Iteration, Attempt: a.Attempt}
	switch {
	case end.failed == nil && end.skipped:
		a.State, n.State = snapshot.AttemptFinished, snapshot.NodeSkipped
		r.next.event("NodeSkipped", p)
		r.next.say(key.Name(t), cmp.Or(end.verb, "skipped"))
	case end.failed == nil:
		a.State, n.State = snapshot.AttemptFinished, snapshot.NodeFinished
		if t.Output != "" {
			value := end.output
			if end.stored != nil {
				value = end.stored
			}
			r.next.setOutput(t.Output, snapshot.Key(key.ID, key.Iteration), value, end.quotes)
		}
		if end.usage != nil {
			r.next.setOutput(usageTable, snapshot.Key(key.ID, key.Iteration), end.usage, nil)
		}
		r.next.event("NodeFinished", p)
		r.next.say(key.Name(t), cmp.Or(end.verb, "finished"))
	case end.failed.code == reasonCancelled:
		a.State, a.Error, n.State = snapshot.AttemptCancelled, end.failed.String(), snapshot.NodePending
		r.next.event("NodeCancelled", p)
		r.next.say(key.Name(t), cmp.Or(end.verb, "cancelled"))
	default:
		a.State, a.Error = snapshot.AttemptFailed, end.failed.String()
		before := len(r.failures)
		if n.State = r.failed(t, key, *end.failed, p); len(r.failures) > before {
			r.failures[before].log = end.log
		}
	}
	state := n.State // the step shows the outcome of the attempt, even if the node is pending again
	switch a.State {
	case snapshot.AttemptFailed: // including an attempt that the run will retry
		state = snapshot.NodeFailed
	case snapshot.AttemptCancelled:
		state = snapshot.NodeCancelled
	}
	r.next.step(key.Name(t), state, a.StartedAtMs, now)
	if !t.Works() {
		r.next.attempt(a) // a waiting attempt changes no files
	} else {
		r.next.end(a) // runner.frame adds the pointer to the attempt's files
	}
	r.next.log(a, end.log)
	r.setNode(r.next, n)
}

// failed records a failed attempt and returns the new state of its node. If the task has a try left, the state is
// pending, so that the run tries the task again. Otherwise the state is failed, and the run fails, too. key names the
// node of t, why is the reason of the failure, and p is the payload of the attempt's events.
func (r *runner) failed(t *workflow.Task, key workflow.NodeKey, why reason, p payload) snapshot.NodeState {
	p.Error = why.String()
	r.next.event("NodeFailed", p)
	spent := r.tries.of(r.next, t, r.nodes[key]) + 1
	r.tries.spent[key] = spent
	verb := "failed"
	if t.Retries > 0 {
		verb += " " + ofTries(t, spent)
	}
	verb += ": " + why.text
	again := spent <= t.Retries && !r.stopping && !r.barred(t) // otherwise this process starts no other attempt
	if rest := r.restAfter(t, key, p.Attempt, spent); rest > 0 && again {
		verb += "; again in " + rest.Round(100*time.Millisecond).String()
	}
	if spent > t.Retries && t.Allowed {
		verb += "; the run goes on"
	}
	r.next.say(key.Name(t), verb)
	if spent <= t.Retries {
		if again {
			// The event is about the next attempt.
			p.Error = ""
			p.Attempt++
			r.next.event("NodeRetrying", p)
		}
		return snapshot.NodePending
	}
	if t.Allowed {
		return snapshot.NodeFailed
	}
	r.fail(t, key.ID, key.Name(t), why.text)
	r.failure.denied = r.failure.denied && why.code == reasonDenied
	return snapshot.NodeFailed
}

// fail records why the run fails. The first reason is that of the run. t is the task that failed, node the id of its node, and name its name
// for people; t is nil for a loop. If name is "", text says what failed.
func (r *runner) fail(t *workflow.Task, node, name, text string) {
	if name != "" {
		text = name + ": " + text
	}
	f := failure{text: text, name: cmp.Or(name, node), task: t, node: node, denied: t != nil && t.Approval != nil}
	r.failures = append(r.failures, f)
	if r.failure.text == "" {
		r.failure = f
	}
}

// whyFailed returns the reason for the run's row: the first failure and, if several tasks failed, the names of all.
func (r *runner) whyFailed() string {
	const most = 10
	if len(r.failures) < 2 {
		return r.failure.text
	}
	var names []string
	for _, f := range r.failures {
		names = append(names, f.name)
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return fmt.Sprintf("%d tasks failed: %s; %s", len(r.failures), strings.Join(names, ", "), r.failure.text)
}

// failLoop records text as the reason why a loop fails, and with it the run.
func (r *runner) failLoop(l *workflow.Loop, text string) {
	r.failedLoops = append(r.failedLoops, l.ID)
	r.fail(nil, l.ID, "", text)
}
