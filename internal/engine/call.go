package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/trace"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Call asks for a run of the workflow that a task calls.
type Call struct {
	RunID    string          // of the called run: a new one, or the one that an earlier attempt of the task began
	Caller   snapshot.Caller // the attempt
	File     string          // the path of the called file, relative to the file that has the task
	Workflow *workflow.Workflow
	Named    bool            // a user of the clone named the workflow's file
	Input    json.RawMessage // of a new run; nil if the task gives none
	Files    WorkingCopy     // in which the task works; nil without one
	Lost     <-chan struct{} // see Options

	TraceParent string // the span of the attempt; "" if the run has no trace
}

// Called is what became of a called run.
type Called struct {
	Output  json.RawMessage // of the task that workflow.Result names, with its secrets; nil if it has none
	Waits   string          // what a run that cannot go on waits for, for people; "" if it has ended
	Hints   []string        // how people end these waits
	Status  snapshot.RunStatus
	Trouble error // why the run failed; nil if it did not
}

// calledRun returns the id of the run that an attempt calls: that of the node's last attempt if this run began it and it is still the node's own, so
// that it goes on where it was, and otherwise a new id.
func (r *runner) calledRun(key workflow.NodeKey, number int) (string, error) {
	calledID := calledID
	if r.wf.Sweep {
		calledID = variantID
	}
	if last := r.nodes[key].LastAttempt; last != nil {
		a, ok, err := r.journal.attempt(key, *last)
		if err != nil {
			return "", err
		}
		for n := *last; ok && n > 0; n-- {
			if a.Child == calledID(r.runID, key, n) {
				return a.Child, nil
			}
		}
	}
	return calledID(r.runID, key, number), nil
}

// calledID returns the id of the run that an attempt begins: the caller's, the task's and the attempt's number, such as k7q2.review.1.
func calledID(run string, key workflow.NodeKey, number int) string {
	node := key.ID
	if key.Iteration > 0 || strings.Contains(node, "@@") {
		node = fmt.Sprintf("%s.%d", node, key.Iteration)
	}
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune("@=,", c) {
			return '-'
		}
		return c
	}, node)
	return fmt.Sprintf("%s.%s.%d", run, plain, number)
}

// variantID is calledID for a variant of a sweep, such as k7q2.3. Only further runs of the variant, after a reset, have the attempt's number.
func variantID(run string, key workflow.NodeKey, number int) string {
	if number == 1 {
		return run + "." + key.ID
	}
	return calledID(run, key, number)
}

// courseOf returns the run of the course of a session that t stands for, or "" if t stands for none.
func (r *runner) courseOf(t *workflow.Task) (string, error) {
	if !r.wf.IsCourses() {
		return "", nil
	}
	plan, err := workflow.ReadSweepPlan(r.data.input)
	if err != nil {
		return "", fault.New(fault.InvalidInput, "%w", err)
	}
	return plan.Course(workflow.VariantOf(t.ID)), nil
}

// callOf returns the call of an attempt of t.
func (r *runner) callOf(t *workflow.Task, key workflow.NodeKey, number int) (*Call, error) {
	id, err := r.courseOf(t)
	if err == nil && id == "" {
		id, err = r.calledRun(key, number)
	}
	if err != nil {
		return nil, err
	}
	c := &Call{
		RunID: id, Caller: snapshot.Caller{RunID: r.runID, NodeID: key.ID, Iteration: key.Iteration, Attempt: number},
		File: t.Call.File, Workflow: t.Call.Workflow, Named: r.opts.named, Files: r.files.open[""], Lost: r.opts.Lost, TraceParent: r.spanOf(key, number),
	}
	return c, nil
}

// spanOf returns the span of an attempt as a traceparent, or "" if the run has no trace.
func (r *runner) spanOf(key workflow.NodeKey, number int) string {
	row := r.rec.Row()
	if row.TraceParent == "" {
		row.TraceParent = r.opts.TraceParent // of the draft that begins the run
	}
	if row.TraceParent == "" && !r.opts.Traced {
		return ""
	}
	own, _ := trace.Of(row)
	own.Span = trace.Attempt(r.runID, key.ID, key.Iteration, number)
	return own.String()
}

// inputOf returns the input of the run that t calls, or the reason why it has none.
func (d *dataReader) inputOf(t *workflow.Task, iteration int) (input json.RawMessage, why *reason, err error) {
	if d.wf.Sweep {
		return d.variantInput(t)
	}
	if len(t.Call.With) == 0 {
		return nil, nil, nil
	}
	members, err := d.members()
	if err != nil {
		return nil, nil, timeline.Explain(err)
	}
	out := make(map[string]json.RawMessage, len(t.Call.With))
	for i := range t.Call.With {
		a := &t.Call.With[i]
		outputs, err := d.readRefs(a.Refs, t, iteration)
		if err != nil {
			return nil, nil, err
		}
		if out[a.Name], err = a.Eval(members, outputs, t.Loop != "", iteration); err != nil {
			return nil, &reason{reasonCondition, "with." + a.Name + ": " + err.Error()}, nil //nolint:nilerr // the task fails, and the reason has the error
		}
	}
	text, err := jsontext.Encode(out)
	return text, nil, timeline.Explain(err)
}

// variantInput is inputOf for a variant of a sweep.
func (d *dataReader) variantInput(t *workflow.Task) (json.RawMessage, *reason, error) {
	plan, err := workflow.ReadSweepPlan(d.input)
	var input json.RawMessage
	if err == nil {
		input, _, err = plan.Variant(workflow.VariantOf(t.ID))
	}
	if err != nil {
		return nil, &reason{reasonCondition, err.Error()}, nil //nolint:nilerr // the task fails, and the reason has the error
	}
	return input, nil, nil
}

// callWorkflow runs the called workflow and returns the outcome of the attempt.
func (j *job) callWorkflow(ctx context.Context) outcome {
	out := outcome{job: j}
	if j.unfit != nil {
		out.failed = j.unfit
		return out
	}
	if j.opts.Call == nil {
		out.failed = &reason{reasonNotStarted, "workflows cannot be called here"}
		return out
	}
	ctx, over := j.limited(ctx)
	defer over()
	end, err := j.opts.Call(ctx, *j.call)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeout) && (err != nil || end.Status != snapshot.RunFinished):
		out.failed = &reason{reasonTimeout, "no result within " + j.task.Timeout.String()}
	case err != nil && cause != nil:
		out.failed = &reason{reasonCancelled, "the run was cancelled"}
	case err != nil:
		out.failed = &reason{reasonCall, whyNotCalled(j.call.RunID, err)}
		out.trouble = err
	case end.Waits != "":
		out.failed, out.waits = &reason{reasonCancelled, "run " + j.call.RunID + " waits for " + end.Waits}, end.Waits
		out.waitStatus, out.waitHints, out.verb = end.Status, end.Hints, "waits for run "+j.call.RunID
	case end.Status == snapshot.RunCancelled:
		out.failed = &reason{reasonCancelled, "run " + j.call.RunID + " was cancelled"}
		if cause == nil { // by a person, and not because this run ends
			out.failed.code = reasonCall
		}
	case end.Status != snapshot.RunFinished:
		out.failed = &reason{reasonCall, fmt.Sprintf("run %s: %s", j.call.RunID, end.Trouble)}
	case j.schema != nil:
		value := end.Output
		if value == nil {
			value = json.RawMessage("null")
		}
		if output, err := j.schema.CheckOutput(j.task.Output, value); err != nil {
			out.failed = &reason{reasonOutput, err.Error()}
		} else {
			out.output = output
		}
	}
	return out
}

// whyNotCalled returns the text of err, the error of executing the called run with the given id. The text is only the code if err may name a path of
// this machine, because the journal must not.
func whyNotCalled(run string, err error) string {
	code := fault.CodeOf(err)
	pathless := []fault.Code{fault.InvalidInput, fault.RunExists, fault.SecretMissing, fault.SchemaConflict, fault.LimitExceeded}
	if slices.Contains(pathless, code) {
		return fmt.Sprintf("run %s: %s", run, err)
	}
	return fmt.Sprintf("run %s: %s", run, code)
}

// OpenCalls returns the ids of the runs that pending tasks of a run have called. If they wait, so does the run; a resume continues them.
func OpenCalls(rec mailbox.Recorder) ([]string, error) {
	var runs []string
	for n, err := range rec.State().AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if n.State != snapshot.NodePending || n.LastAttempt == nil {
			continue
		}
		a, _, err := rec.Entry().Attempt(n.NodeID, n.Iteration, *n.LastAttempt)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if a.Child != "" {
			runs = append(runs, a.Child)
		}
	}
	return runs, nil
}

// Output returns the output of the task that workflow.Result names, at its newest finished iteration, with its secrets. It returns nil if there is
// none. Code: secret_missing if this clone does not have one of the secrets.
func Output(rec Recorder, wf *workflow.Workflow) (json.RawMessage, error) {
	result := wf.Result()
	if result == nil {
		return nil, nil
	}
	m, err := loadModel(rec.State())
	if err != nil {
		return nil, err
	}
	return (&dataReader{model: m, rec: rec, wf: wf, runID: rec.Row().ID}).value(result, math.MaxInt)
}

// parkedCall is a called run that waits, so that its task can go on only in another resume of this run.
type parkedCall struct {
	run, waits string
	status     snapshot.RunStatus
	hints      []string // how people end its waits
}

// parkCall notes that the run that an attempt called waits.
func (r *runner) parkCall(out outcome) {
	if out.waits != "" {
		r.parked[out.job.key] = parkedCall{out.job.call.RunID, out.waits, out.waitStatus, out.waitHints}
	}
}

// parkedCalls returns the parked calls in the order of the file.
func (r *runner) parkedCalls() []parkedCall {
	var all []parkedCall
	for _, t := range r.wf.Tasks {
		if p, ok := r.parked[r.newest(r.wf, t)]; ok {
			all = append(all, p)
		}
	}
	return all
}
