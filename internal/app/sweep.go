package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	runsummary "github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// SweepRequest asks to run the variants of a workflow as a group.
type SweepRequest struct {
	Workflow string // the workflow file; "" for the workflow stored in the frame Plan.From
	Group    string // the id of the group; "" for a generated id
	Plan     workflow.SweepPlan
	// Named has a name for each variant, such as the line of the file that has it; nil: they are named by their numbers.
	Named   []string
	Effects timeline.ConfirmEffects // see timeline.ForkRequest
	Settings
}

// Sweep creates a group and runs its variants. It first checks all variants: if one has a flaw, the error is invalid_input, has every flaw, and nothing
// was made. The result and the other errors are those of Run, for the group.
func (d *Desk) Sweep(ctx context.Context, req SweepRequest) (*Result, error) {
	wf, from, err := d.swept(ctx, &req, d.replayed)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(req.Group, workflow.SweepName+"-"+timeline.NewRunID())
	sweep, err := workflow.NewSweep(workflow.SweepName, wf, req.Workflow, len(req.Plan.Variants))
	if err != nil {
		return nil, err
	}
	input, err := jsontext.Encode(req.Plan)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	draft, err := engine.Initial(id, sweep, input, d.Now())
	if err != nil {
		return nil, err
	}
	e := &execution{Desk: d, Settings: req.Settings, workflow: sweep, ask: Agreed, named: req.Workflow != ""}
	row := snapshot.Run{ID: id, CreatedAtMs: d.Now().UnixMilli()}
	if from != nil || req.Plan.InPlace {
		e.head, err = d.Store.Create(ctx, row, draft)
	} else {
		e.head, err = d.createOn(ctx, files.WorkingCopyOf(d.Store), row, draft)
	}
	if err == nil {
		_, err = d.worksApart(ctx, id, &req.Plan)
	}
	if err != nil {
		return nil, err
	}
	d.Teller.Note(ctx, CreatedNote{id})
	return e.execute(ctx)
}

// checkFree checks that the runs of a sweep may have their ids. A generated id is new.
func (d *Desk) checkFree(ctx context.Context, req *SweepRequest) error {
	if req.Group == "" {
		return nil
	}
	err := timeline.CheckFree(ctx, d.Store, req.Group)
	for i := 0; err == nil && i < len(req.Plan.Variants); i++ {
		err = timeline.CheckFree(ctx, d.Store, req.Group+"."+workflow.VariantTask(i+1))
	}
	return err
}

// A replayer is replayed or toReplay.
type replayer func(context.Context, ReplayRequest) (*timeline.LoadedEntry, *workflow.Workflow, error)

// swept returns the workflow of the variants, and the frame that they fork or nil, after it has checked the request. It sets req.Plan.From to the whole
// address of the frame.
func (d *Desk) swept(ctx context.Context, req *SweepRequest, replayed replayer) (wf *workflow.Workflow, from *timeline.LoadedEntry, err error) {
	if req.Plan.From == "" {
		wf, err = d.toRun(ctx, RunRequest{Workflow: req.Workflow})
	} else {
		from, wf, err = d.sweptFrame(ctx, req, replayed)
	}
	if err == nil {
		err = d.checkVariants(ctx, wf, from, *req)
	}
	if err == nil && from == nil && !req.Plan.InPlace && d.Store.Workspace().Root != "" && d.Store.Settings().Scope == jjbridge.ScopeOff {
		err = noFilesApart("your files are not captured (smithers.worktree is off)")
	}
	if err == nil && from != nil {
		_, err = d.worksApart(ctx, "", &req.Plan)
	}
	if err == nil {
		err = d.checkFree(ctx, req)
	}
	return wf, from, err
}

// sweptFrame is swept for a frame, without the checks.
func (d *Desk) sweptFrame(ctx context.Context, req *SweepRequest, replayed replayer) (*timeline.LoadedEntry, *workflow.Workflow, error) {
	at, wf, err := replayed(ctx, ReplayRequest{From: req.Plan.From, Workflow: req.Workflow, RestoreVCS: !req.Plan.InPlace, Settings: req.Settings})
	if err == nil && at.Entry.Frame == snapshot.NoFrame {
		at, err = d.Store.At(ctx, at.Address)
	}
	if err == nil && wf.Sweep {
		err = fault.New(fault.Usage, "run %s is a sweep itself", at.Address.Run).Hint("name a frame of one of its variants, such as --from %s", fault.Word(at.Address.Run+".1"))
	}
	if err != nil {
		return nil, nil, err
	}
	req.Plan.From = at.Address.String()
	return at, wf, nil
}

// checkVariants returns invalid_input with the flaws of all variants and expressions, or nil if there are none.
func (d *Desk) checkVariants(ctx context.Context, wf *workflow.Workflow, from *timeline.LoadedEntry, req SweepRequest) error {
	var flaws []string
	note := func(where string, err error) {
		if err != nil && !slices.Contains(flaws, where+err.Error()) {
			flaws = append(flaws, where+err.Error())
		}
	}
	known, err := knownOutputs(wf, from)
	if err != nil {
		return err
	}
	check := func(flag, text string, compile func(flag, text string) (*stateexpr.Expression, error)) {
		if text == "" {
			return
		}
		var doubt error
		e, err := compile(flag, text)
		if err == nil {
			doubt, err = e.CheckOutputs(known)
		}
		if note("", err); doubt != nil {
			d.Teller.Warn(doubt)
		}
	}
	check("stop-when", req.Plan.StopWhen, stateexpr.CompileTest)
	check("by", req.Plan.By, stateexpr.Compile)
	if n := len(req.Plan.Variants); n == 0 || n > workflow.MaxVariants {
		note("", fmt.Errorf("the sweep has %s; it can have 1 to %d", plain.Count(n, "variant"), workflow.MaxVariants))
	}
	for i := range req.Plan.Variants {
		if len(req.Plan.Variants) > workflow.MaxVariants {
			break
		}
		where := fmt.Sprintf("variant %d: ", i+1)
		if i < len(req.Named) {
			where = req.Named[i] + ": "
		}
		err := d.checkVariant(ctx, wf, from, &req, i+1)
		if fault.CodeOf(err) == fault.EffectsAhead {
			return err
		}
		note(where, err)
	}
	if len(flaws) == 0 {
		return ctx.Err()
	}
	out := fault.New(fault.InvalidInput, "%s of the sweep; nothing was started", plain.Count(len(flaws), "flaw")).Detail("flaws", flaws)
	for _, flaw := range bothEnds(flaws) {
		out = out.Hint("%s", flaw)
	}
	return out
}

// knownOutputs returns the outputs that variants can have, for Expression.CheckOutputs.
func knownOutputs(wf *workflow.Workflow, from *timeline.LoadedEntry) (map[string][]string, error) {
	known := wf.OutputMembers()
	kept := []string{runsummary.UsageTable}
	if from != nil {
		state, err := from.Entry.State()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		kept = append(kept, state.Tables()...)
	}
	for _, table := range kept {
		if _, ok := known[table]; !ok {
			known[table] = nil
		}
	}
	return known, nil
}

// checkVariant checks the input and the edits of a variant.
func (d *Desk) checkVariant(ctx context.Context, wf *workflow.Workflow, from *timeline.LoadedEntry, req *SweepRequest, number int) error {
	if text := req.Plan.Variants[number-1]; !jsontext.Valid(text) || !jsontext.IsObject(text) {
		return fmt.Errorf("%s is not a JSON object", plain.Cut(string(text), 60))
	}
	input, edits, err := req.Plan.Variant(number)
	if err != nil || from == nil {
		if err == nil {
			err = wf.ValidateInput(input)
		}
		return err
	}
	fork := d.variantFork(wf, from.Address, "", !req.Plan.InPlace, input, edits)
	fork.DryRun = func(*timeline.LoadedEntry, snapshot.Draft) error { return nil }
	fork.Effects = req.Effects
	_, err = d.Store.Fork(ctx, fork)
	req.Effects = nil // asked once
	return err
}

// variantFork returns the request to fork a frame for a variant.
func (d *Desk) variantFork(wf *workflow.Workflow, from timeline.Address, id string, apart bool, input json.RawMessage, edits []timeline.Edit) timeline.ForkRequest {
	fork := d.replayFork(wf, from, id, ReplayRequest{Resets: Resets{Input: input, Edits: edits}, RestoreVCS: apart})
	fork.KeepsWorkflow = true
	return fork
}

// A sweepRun is a group whose variants this process runs.
type sweepRun struct {
	*execution
	plan    *workflow.SweepPlan // with its secrets
	stop    *stateexpr.Expression
	started time.Time
	group   *group.Group // as it was when a variant was about to start; nil before

	lift   string       // the input with which a resume goes on, if the budget or the condition has failed the run; "" otherwise
	held   int          // the number of the variant for which plan.StopWhen held; 0: none
	tested map[int]bool // the variants for which it did not hold

	lenient func(error) error // see stateexpr.Lenient
}

// sweepOptions changes opts for the run of a sweep.
func (e *execution) sweepOptions(opts *engine.Options) error {
	stored, err := e.head.State().Input()
	if err != nil {
		return timeline.Explain(err)
	}
	input, err := timeline.WholeInput(e.head.Reveal, stored, e.input)
	if err != nil {
		return err
	}
	s := &sweepRun{execution: e, started: e.Now(), tested: make(map[int]bool), lenient: stateexpr.Lenient(e.Teller.Warn)}
	if s.plan, err = workflow.ReadSweepPlan(input); err != nil {
		return fault.New(fault.InvalidInput, "run %s: %w", e.head.Row().ID, err)
	}
	if e.workflow.IsCourses() {
		return e.courseOptions(opts, s.plan)
	}
	if s.plan.StopWhen != "" {
		if s.stop, err = stateexpr.CompileTest("stop-when", s.plan.StopWhen); err != nil {
			return err
		}
	}
	e.sweep = s
	opts.WorkingCopy, opts.MaxParallel, opts.Admit = nil, s.plan.Parallel, s.admit // the variants have the files
	return nil
}

// admit says whether a variant may start: see engine.Options.Admit.
func (s *sweepRun) admit(ctx context.Context, _ *workflow.Task) (out engine.Admission, err error) {
	if s.stop == nil && s.plan.Budget == nil {
		return out, nil
	}
	if s.group, err = group.Read(ctx, s.Store, s.head, s.group, s.Now()); err != nil {
		return out, err
	}
	err = s.testEnded()
	switch spent := s.spent(); {
	case err != nil: // of the expression, for the state of this variant
		out.Fail, s.lift = err.Error(), `{"stopWhen":""}`
	case s.held > 0:
		out.Skip = fmt.Sprintf("--stop-when held for variant %d", s.held)
	case spent != "":
		out.Fail, s.lift = "the budget is used up: "+spent, `{"budget":null}`
	}
	return out, ctx.Err()
}

// explain returns the error of the run of the sweep. If the budget or the condition has failed it, the hint is the command that goes on without them.
func (s *sweepRun) explain(err error) error {
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok || failed.Code != fault.RunFailed {
		return err
	}
	id := s.head.Row().ID
	failed = failed.Detail(engine.DetailFailed, []engine.FailedTask{})
	if s.lift == "" { // each variant has failed
		return failed.Hint("`%s` says why", fault.CommandLine(fault.Program, "timeline", id))
	}
	failed.Hints = nil
	return failed.Hint("`%s` goes on without it; put another one in its place", fault.CommandLine(fault.Program, "resume", id, "--input", s.lift))
}

// testEnded sets s.held if plan.StopWhen holds for a variant that has ended.
func (s *sweepRun) testEnded() error {
	for _, v := range s.group.Variants {
		if s.stop == nil || s.held > 0 || s.tested[v.Number] || !v.Ended() {
			continue
		}
		values, err := v.Values()
		if err != nil {
			return err
		}
		holds, err := s.stop.Holds(values)
		if err = s.lenient(err); err != nil {
			return err
		}
		if s.tested[v.Number] = true; holds {
			s.held = v.Number
		}
	}
	return nil
}

// spent returns which limit of the budget is reached, in words, or "".
func (s *sweepRun) spent() string {
	b, used := s.plan.Budget, s.group.Usage
	switch {
	case b == nil:
	case b.TimeMs > 0 && s.Now().Sub(s.started).Milliseconds() >= b.TimeMs:
		return (time.Duration(b.TimeMs) * time.Millisecond).String() + " have passed"
	case used == nil:
	case b.Tokens > 0 && used.Tokens() >= b.Tokens:
		return fmt.Sprintf("%d of %d tokens", used.Tokens(), b.Tokens)
	case b.CostUSD > 0 && used.CostUSD >= b.CostUSD:
		return fmt.Sprintf("%s of %s", plain.Cost(used.CostUSD), plain.Cost(b.CostUSD))
	}
	return ""
}
