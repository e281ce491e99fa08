package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An Action is what a run would do with a task.
type Action string

// The actions of a plan. A plan knows no failure ahead: it says what the run does if every command succeeds.
const (
	ActionRuns    Action = "runs"    // its command runs, or its called run goes on
	ActionMayRun  Action = "may-run" // nobody can know yet whether it runs; the reason says on what that depends
	ActionCached  Action = "cached"  // its result is in the cache
	ActionKept    Action = "kept"    // it has ended before, and its result stays
	ActionSkipped Action = "skipped" // its condition does not hold
	ActionWaits   Action = "waits"   // it waits for a person, a signal, a time, or a called run that does
	ActionEnds    Action = "ends"    // it has waited, and its wait is over
	ActionFails   Action = "fails"   // it cannot run, and the run fails with it
	ActionPending Action = "pending" // it does not start: it needs a task that waits or fails
)

// Actions returns all actions, in the order in which people read their numbers.
func Actions() []Action {
	return []Action{ActionRuns, ActionMayRun, ActionCached, ActionKept, ActionSkipped, ActionWaits, ActionEnds, ActionFails, ActionPending}
}

// Words returns the action in words, as in "it may run".
func (a Action) Words() string { return strings.ReplaceAll(string(a), "-", " ") }

// PlannedTask is what a run would do with a task at one iteration.
type PlannedTask struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Action    Action `json:"action"`
	Reason    string `json:"reason"` // why, for people, without secrets
	// CalledRunID is the run that the task calls, and CalledTasks are that run's tasks. Both are left out if the task calls none, and CalledTasks
	// also if the input of the called run is not known yet.
	CalledRunID string        `json:"calledRunId,omitempty"`
	CalledTasks []PlannedTask `json:"calledTasks,omitempty"`

	Name string `json:"-"` // the id and, in a loop, the iteration
}

// PlannedLoop is a loop of which nobody can know yet whether it has another iteration. The plan has its tasks once.
type PlannedLoop struct {
	ID        string `json:"id"`
	Until     string `json:"until"`
	Iteration int    `json:"iteration"` // the last that the plan has
	Max       int    `json:"max"`
	DependsOn string `json:"dependsOn"` // the task whose output decides
	// CalledRunID is the called run that has the loop; left out for a loop of the run itself.
	CalledRunID string `json:"calledRunId,omitempty"`
}

// unknownError says that a value depends on the output of a task that has not run yet. Only a plan meets it.
type unknownError string

func (u unknownError) Error() string {
	return "depends on the output of " + string(u) + ", which is not known yet"
}

// planner plans a run: it is a runner that executes nothing.
type planner struct {
	*runner

	sketch *Sketch
	before *model // the nodes before the run goes on
	files  *plannedFiles
	tasks  []*PlannedTask // in the order in which they are decided
	by     map[workflow.NodeKey]*PlannedTask
	open   []PlannedLoop
}

// Plan returns what Run would do with each task of the run, and the loops that may go on, and does none of it. It takes the decisions with the
// code of Run, on a sketch that it appends to. Tasks that have ended come first, then the others in the order in which they are decided.
//
// The workflow must be one to whose commands a person agreed: Plan evaluates its expressions. Of opts, Plan uses Now, MaxParallel, WorkingCopy,
// Cache, NoCache, Secrets, Input and AcceptWorkflowChange. WorkingCopy is only captured. Codes: invalid_input, schema_conflict, secret_missing.
func Plan(ctx context.Context, sketch *Sketch, wf *workflow.Workflow, opts Options) ([]PlannedTask, []PlannedLoop, error) {
	if err := CheckInput(sketch, wf, opts); err != nil {
		return nil, nil, err
	}
	files, err := readPlanned(ctx, sketch, wf, opts)
	if err != nil {
		return nil, nil, err
	}
	return plan(ctx, sketch, wf, opts, files)
}

// plan is Plan for a run whose tasks share files.
func plan(ctx context.Context, sketch *Sketch, wf *workflow.Workflow, opts Options, files *plannedFiles) ([]PlannedTask, []PlannedLoop, error) {
	before, err := loadModel(sketch.State())
	if err != nil {
		return nil, nil, err
	}
	p := &planner{runner: newRunner(sketch, wf, opts.withDefaults()), sketch: sketch, before: before, files: files, by: make(map[workflow.NodeKey]*PlannedTask)}
	p.tries.anew = true // a plan rests between no tries
	if err := p.prepare(); err != nil {
		return nil, nil, err
	}
	p.data.unknown = make(map[workflow.NodeKey]bool)
	p.runner.files.open[""] = files
	p.keep()
	for went := true; went; {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := p.settle(ctx); err != nil {
			return nil, nil, err
		}
		if err := p.planRound(ctx); err != nil {
			return nil, nil, err
		}
		went = p.next.said()
		if err := p.commitPlanned(ctx); err != nil {
			return nil, nil, err
		}
	}
	p.settleActions()
	out := make([]PlannedTask, len(p.tasks))
	for i, task := range p.tasks {
		task.Reason = p.opts.masked(task.Reason)
		out[i] = *task
	}
	return out, p.open, nil
}

// commitPlanned appends the draft of the next frame to the sketch.
func (p *planner) commitPlanned(ctx context.Context) error {
	d, err := p.next.snapshot()
	if err == nil {
		err = p.rec.Append(ctx, d)
	}
	p.tip.accept()
	p.begun, p.next = true, newDraft(p.runID, p.opts.Now())
	return err
}

// add notes what the run does with a node.
func (p *planner) add(t *workflow.Task, key workflow.NodeKey, do Action, reason string) *PlannedTask {
	task := p.by[key]
	if task == nil {
		task = &PlannedTask{NodeID: key.ID, Iteration: key.Iteration, Name: key.Name(t)}
		p.tasks, p.by[key] = append(p.tasks, task), task
	}
	task.Action, task.Reason = do, reason
	return task
}

// keep adds the nodes that need no work any more, and those that wait already.
func (p *planner) keep() {
	keys := p.keys()
	for _, t := range p.wf.Tasks {
		for _, key := range keys {
			if p.wf.Task(key.ID) != t {
				continue
			}
			switch state := p.nodes[key].State; {
			case over(state):
				p.add(t, key, ActionKept, string(state)+" before")
			case state == snapshot.NodeFailed:
				p.add(t, key, ActionKept, "failed before, and the run goes on without it")
			case state.Waiting():
				p.add(t, key, ActionWaits, waitFor(t))
			}
		}
	}
}

// waitFor returns what a task waits for, for people.
func waitFor(t *workflow.Task) string {
	for _, k := range kindsOfWaits {
		if string(k.status) == string(t.WaitState()) {
			return "waits for " + k.what
		}
	}
	return "waits"
}

// planRound decides about the tasks that are ready now, as round does, and then about loops.
func (p *planner) planRound(ctx context.Context) error {
	p.noteAftermath()
	ready := slices.DeleteFunc(slices.Clone(p.wf.Tasks), func(t *workflow.Task) bool { return !p.mayStart(t) })
	p.files.begin(len(ready) > p.opts.MaxParallel)
	for _, t := range ready {
		key := p.newest(p.wf, t)
		move, err := p.decide(t, key)
		if unknown, ok := errors.AsType[unknownError](err); ok {
			p.doubt(t, key, "when: "+unknown.Error())
			continue
		}
		if err == nil {
			err = p.move(ctx, move, t, key)
		}
		if err != nil {
			return err
		}
	}
	for _, l := range p.wf.Loops {
		if !p.advances(l) {
			continue
		}
		if err := p.advance(l); err != nil {
			unknown, ok := errors.AsType[unknownError](err)
			if !ok {
				return err
			}
			p.leaveLoop(l, string(unknown))
		}
	}
	return nil
}

// move plans the move that decide has chosen for a task.
func (p *planner) move(ctx context.Context, move move, t *workflow.Task, key workflow.NodeKey) error {
	switch move {
	case moveFails:
		p.add(t, key, ActionFails, p.failures[len(p.failures)-1].text)
	case moveSkips:
		if t.AfterFailure() && p.works() {
			p.doubt(t, key, "when: "+t.When+": depends on whether a task fails")
			return nil
		}
		p.add(t, key, ActionSkipped, "when: "+t.When+": does not hold")
		p.skip(t, key, "")
	case moveWaits:
		p.add(t, key, ActionWaits, waitFor(t))
		err := p.beginWait(t, key)
		if _, ok := errors.AsType[unknownError](err); ok {
			p.parked[key], err = parkedCall{}, nil // its text is not known yet, and it waits all the same
		}
		return err
	case moveStarts:
		return p.planStart(ctx, t, key)
	case moveNone:
	}
	return nil
}

// works reports whether the plan has a task that may fail.
func (p *planner) works() bool {
	return len(p.data.unknown) > 0 || len(p.waiting(p.wf)) > 0 || len(p.parked) > 0
}

// doubt plans a task of which nobody can know yet whether it runs.
func (p *planner) doubt(t *workflow.Task, key workflow.NodeKey, reason string) {
	p.add(t, key, ActionMayRun, reason)
	p.finish(t, key, nil, false)
}

// finish lets the run go on after a task. known means that the task leaves the given output; otherwise its output is not known yet.
func (p *planner) finish(t *workflow.Task, key workflow.NodeKey, output json.RawMessage, known bool) {
	n := p.nodes[key]
	n.State = snapshot.NodeFinished
	p.setNode(p.next, n)
	p.next.say(key.Name(t), "planned")
	switch {
	case !known:
		p.data.unknown[key] = true
		if t.Works() && t.ChangesFiles() && t.OwnWorktree() == "" {
			p.files.will = append(p.files.will, key.Name(t))
		}
	case t.Output != "":
		p.next.setOutput(t.Output, snapshot.Key(key.ID, key.Iteration), output, nil)
	}
}

// leaveLoop ends a loop of which nobody can know yet whether it has another iteration. decider is the task whose output decides.
func (p *planner) leaveLoop(l *workflow.Loop, decider string) {
	row := p.loops[p.newestLoop(p.wf, l)]
	p.open = append(p.open, PlannedLoop{ID: row.RalphID, Until: l.Until, Iteration: row.Iteration, Max: l.Max, DependsOn: decider})
	for _, t := range l.AllTasks() {
		p.data.unknown[p.newest(p.wf, t)] = true
	}
	row.Done = true
	p.setLoop(p.next, row)
	p.next.say(row.RalphID, "planned")
}

// planStart plans the start of a task: whether its result is in the cache, and what the run does that it calls.
func (p *planner) planStart(ctx context.Context, t *workflow.Task, key workflow.NodeKey) error {
	task := p.add(t, key, ActionRuns, p.why(t, key))
	j, err := p.start(t, key)
	delete(p.running, key)
	unknown, ok := errors.AsType[unknownError](err)
	switch {
	case ok && t.Cache != nil && p.opts.Cache != nil:
		task.Action, task.Reason = ActionMayRun, task.Reason+"; its key in the cache "+unknown.Error()
	case ok && t.Call != nil:
		task.Reason += "; the input of the run that it calls " + unknown.Error()
	case ok:
	case err != nil:
		return err
	case t.Call != nil:
		return p.planCall(ctx, task, t, j)
	case j.lookup != nil && p.lookUp(ctx, task, j):
		return nil
	}
	p.finish(t, key, nil, false)
	return nil
}

// lookUp looks for the result of a task in the cache, and reports whether it is there.
func (p *planner) lookUp(ctx context.Context, task *PlannedTask, j *job) bool {
	l := j.lookup
	l.cache, l.files, l.copy = p.files.cache, p.files.captured, p.files
	doubt := p.files.doubt(j.task)
	if doubt == "" {
		output, err := l.find(ctx, j)
		if l.hit != nil {
			task.Action, task.Reason = ActionCached, "its result is in the cache, from "+l.hit.From().String()
			p.finish(j.task, j.key, output, true)
			return true
		}
		if l.miss != missUnfit || !p.files.unsure {
			task.Reason += "; not in the cache: " + errors.Join(errors.New(l.miss), err).Error()
			return false
		}
		doubt = "the files that other tasks leave"
	}
	task.Action, task.Reason = ActionMayRun, task.Reason+"; whether the cache has its result depends on "+doubt
	return false
}

// planCall plans the run that a task calls.
func (p *planner) planCall(ctx context.Context, task *PlannedTask, t *workflow.Task, j *job) error {
	task.CalledRunID = j.call.RunID
	failed := j.unfit
	if failed == nil {
		files := p.files
		if t.Call.Workflow.Worktree != nil || t.Worktree != nil { // the run that it calls works elsewhere
			files = &plannedFiles{cache: files.cache}
		}
		child, err := p.called(ctx, j.call)
		var loops []PlannedLoop
		if err == nil {
			task.CalledTasks, loops, err = plan(ctx, child, t.Call.Workflow, p.opts, files)
		}
		for _, l := range loops {
			l.CalledRunID = cmp.Or(l.CalledRunID, j.call.RunID)
			p.open = append(p.open, l)
		}
		if err != nil {
			failed = &reason{reasonCall, whyNotCalled(j.call.RunID, err)}
		}
	}
	end := ActionRuns
	for _, c := range task.CalledTasks {
		if c.Action == ActionFails || c.Action == ActionWaits && end != ActionFails {
			end = c.Action
		}
	}
	switch {
	case failed == nil && end == ActionFails:
		failed = &reason{reasonCall, "run " + j.call.RunID + " fails"}
	case failed == nil && end == ActionWaits:
		task.Action, task.Reason = ActionWaits, task.Reason+"; run "+j.call.RunID+" waits"
		p.parked[j.key] = parkedCall{run: j.call.RunID}
	}
	if failed != nil {
		task.Action, task.Reason = ActionFails, failed.text
		p.fail(t, j.key.ID, task.Name, failed.text)
	}
	if task.Action == ActionRuns {
		p.finish(t, j.key, nil, false)
	}
	return nil
}

// called returns a sketch of the run that a task calls. Code: workflow_changed if an earlier attempt began it with another definition.
func (p *planner) called(ctx context.Context, c *Call) (*Sketch, error) {
	store := p.sketch.store
	head, err := store.Head(ctx, c.RunID)
	if fault.CodeOf(err) == fault.RunNotFound {
		draft, err := Initial(c.RunID, c.Workflow, c.Input, p.opts.Now())
		if err != nil {
			return nil, err
		}
		return NewSketch(ctx, store, nil, FirstOf(snapshot.Run{ID: c.RunID, Caller: &c.Caller}, draft))
	}
	if err == nil {
		_, err = Check(head, c.Workflow, p.opts)
	}
	if err != nil && fault.CodeOf(err) != fault.RunWaiting {
		return nil, err
	}
	return NewSketch(ctx, store, head.Entry())
}

// FirstOf returns the draft of the first entry of a new run with the row, as timeline.Store.Create makes it.
func FirstOf(run snapshot.Run, draft snapshot.Draft) snapshot.Draft {
	edit := draft.Run
	draft.Run = func(row *snapshot.Run) {
		*row = run
		edit(row)
	}
	return draft
}

// why returns why a task runs.
func (p *planner) why(t *workflow.Task, key workflow.NodeKey) string {
	if n := p.before.nodes[key]; n.LastAttempt != nil {
		a, _, _ := p.journal.attempt(key, *n.LastAttempt) // a plan without this reason is a plan, too
		switch _, text, _ := strings.Cut(a.Error, ": "); {
		case n.State == snapshot.NodeInProgress:
			return fmt.Sprintf("attempt %d was interrupted", *n.LastAttempt)
		case a.Error != "":
			return fmt.Sprintf("%s in attempt %d: %s", a.State, a.Attempt, text)
		}
	}
	before, again := "has not run yet", " first"
	if _, ran, _ := p.journal.attempt(key, 1); ran {
		before, again = "was reset", " again"
	}
	for _, id := range t.Waits {
		for _, task := range p.tasks {
			if at := p.wf.Task(task.NodeID); (task.Action == ActionRuns || task.Action == ActionMayRun) && (at.ID == id || at.Loop == id) {
				return "needs " + id + ", which " + task.Action.Words() + again
			}
		}
	}
	return before
}

// settleActions corrects the actions of tasks whose waits are over, and adds the tasks that do not start.
func (p *planner) settleActions() {
	for _, task := range p.tasks {
		n := p.nodes[workflow.NodeKey{ID: task.NodeID, Iteration: task.Iteration}]
		switch {
		case task.Action != ActionWaits:
		case over(n.State):
			task.Action, task.Reason = ActionEnds, "its wait is over"
		case n.State == snapshot.NodeFailed:
			task.Action, task.Reason = ActionFails, "its wait is over, and it fails"
		}
	}
	for _, t := range p.wf.Tasks {
		switch key := p.newest(p.wf, t); {
		case p.by[key] != nil:
		case t.AfterFailure() && p.failure.text == "" && p.works():
			p.add(t, key, ActionMayRun, "when: "+t.When+": depends on whether a task fails")
		default:
			p.add(t, key, ActionPending, p.whyPending(t))
		}
	}
}

// whyPending returns why a task does not start.
func (p *planner) whyPending(t *workflow.Task) string {
	if p.failure.text != "" {
		return "the run fails before: " + p.failure.text
	}
	for _, id := range t.Waits {
		need := p.wf.Task(id)
		if need == nil && !p.loops[p.newestLoop(p.wf, p.wf.Loop(id))].Done || need != nil && !p.over(p.wf, need) {
			return "needs " + id + ", which does not end yet"
		}
	}
	return "does not start yet"
}
