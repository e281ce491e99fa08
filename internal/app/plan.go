package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	runsummary "github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Plan says what a request to run tasks would do, task by task. It is what a dry run returns, and in JSON the document of --dry-run.
// Nothing is written to make one, and no command of the workflow runs.
type Plan struct {
	Kind         string                `json:"kind"`    // "plan"
	Command      string                `json:"command"` // run, resume, replay or travel
	RunID        *string               `json:"runId"`   // nil if the request would make a run
	From         *string               `json:"from"`    // the frame that a replay forks, or that a travel goes back to; nil otherwise
	WorkflowName string                `json:"workflowName"`
	Tasks        []PlannedTask         `json:"tasks"` // those that have ended first, then the others in the order in which they are decided
	Loops        []engine.PlannedLoop  `json:"loops"` // those that may go on after what Tasks has
	Counts       map[engine.Action]int `json:"counts"`
	Last         *Cost                 `json:"last"`         // the sum of Last of the tasks that run or may run; nil if none has one
	FilesChanged int                   `json:"filesChanged"` // how many files a travel would change
}

// PlannedTask is a task of a plan.
type PlannedTask struct {
	engine.PlannedTask

	Last *Cost `json:"last"` // nil if no attempt of the task has ended
}

// Cost is what attempts of tasks took.
type Cost struct {
	TookMs int64             `json:"tookMs"`
	Usage  *runsummary.Usage `json:"usage"` // nil if no task said what it used

	row json.RawMessage // of the table usage, the last one; nil if there is none
}

// planning makes the plan of a request.
type planning struct {
	*Desk
	Settings

	command  string
	workflow *workflow.Workflow
	named    bool            // the request names the workflow's file
	head     *timeline.Head  // of the run that goes on; nil if the request would make a run
	origin   *snapshot.Entry // the run goes on from there, for the questions about consent; nil for a new run
	past     *snapshot.Entry // whose attempts say what tasks took last time; nil if there is none
	brings   bool            // the request brings files of origin first
	changes  int             // how many files it changes first
	opts     engine.Options
}

// PlanRun returns what Run would do.
func (d *Desk) PlanRun(ctx context.Context, req RunRequest) (*Plan, error) {
	wf, err := d.toRun(ctx, req)
	id := cmp.Or(req.RunID, timeline.NewRunID())
	if err == nil {
		err = timeline.CheckFree(ctx, d.Store, id)
	}
	if err != nil {
		return nil, err
	}
	p := &planning{Desk: d, Settings: req.Settings, command: "run", workflow: wf, named: true}
	draft, err := engine.Initial(id, wf, req.Input, d.Now())
	if err == nil {
		p.past, err = d.newestOf(ctx, wf.Name)
	}
	if err != nil {
		return nil, err
	}
	return p.plan(ctx, nil, engine.FirstOf(snapshot.Run{ID: id}, draft))
}

// newestOf returns the tip of the newest run of a workflow, or nil if there is none.
func (d *Desk) newestOf(ctx context.Context, name string) (*snapshot.Entry, error) {
	runs, err := list.Runs(ctx, d.Store)
	at := slices.IndexFunc(runs, func(run list.RunInfo) bool { return run.WorkflowName == name })
	if err != nil || at < 0 {
		return nil, err
	}
	head, err := list.HeadOf(d.Store, runs[at])
	if err != nil {
		return nil, err
	}
	return head.Entry(), nil
}

// PlanResume returns what Resume would do. It asks nobody about a changed workflow. The other codes are those of Resume.
func (d *Desk) PlanResume(ctx context.Context, req ResumeRequest) (*Plan, error) {
	head, wf, err := d.toResume(ctx, req)
	if err == nil && !req.Force {
		err = head.RefuseExecuted(false)
	}
	if err == nil && wf == nil {
		wf, err = d.workflowOf(ctx, head, req.AcceptChange)
	}
	if err == nil {
		err = d.needWorkDir(wf)
	}
	if err != nil {
		return nil, err
	}
	p := &planning{Desk: d, Settings: req.Settings, command: "resume", workflow: wf, named: req.Workflow != "", head: head, origin: head.Entry(), past: head.Entry(), brings: req.Restore}
	p.opts = engine.Options{AcceptWorkflowChange: req.AcceptChange, Input: req.Input, WorkflowFile: d.workflowFileToType(head.Row(), req.Workflow), Now: d.Now}
	if _, err := engine.Check(head, wf, p.opts); err != nil && fault.CodeOf(err) != fault.RunWaiting {
		return nil, err
	}
	return p.plan(ctx, head.Entry())
}

// PlanReplay returns what Replay would do.
func (d *Desk) PlanReplay(ctx context.Context, req ReplayRequest) (out *Plan, err error) {
	id, err := newID(ctx, d.Store, req.RunID)
	if err != nil {
		return nil, err
	}
	at, wf, err := d.toReplay(ctx, req)
	if err != nil {
		return nil, err
	}
	parent, err := d.Store.Head(ctx, at.Address.Run)
	if err != nil {
		return nil, err
	}
	p := &planning{Desk: d, Settings: req.Settings, command: "replay", workflow: wf, named: req.Workflow != "", origin: at.Entry, past: parent.Entry(), brings: req.RestoreVCS}
	fork := d.replayFork(wf, at.Address, id, req)
	fork.DryRun = func(from *timeline.LoadedEntry, draft snapshot.Draft) error {
		if out, err = p.plan(ctx, from.Entry, draft); err == nil {
			out.From = new(from.Address.String())
		}
		return err
	}
	_, err = d.Store.Fork(ctx, fork)
	return out, err
}

// PlanTravel returns what Travel would do, and what a resume would do after it.
func (d *Desk) PlanTravel(ctx context.Context, req TravelRequest) (out *Plan, err error) {
	head, file, err := d.beforeSequel(ctx, req.Run, req.Sequel)
	if err == nil {
		err = refuseForeign(head)
	}
	if err != nil {
		return nil, err
	}
	req.Redefinition = d.redefinition(head, req.Sequel, req.fit(file), false)
	req.Agree, req.Confirm, req.Request.Effects = nil, nil, req.Sequel.Effects
	var frame snapshot.Draft
	req.DryRun = func(draft *snapshot.Draft) error {
		frame = *draft
		return nil
	}
	back, err := travel.Travel(ctx, d.Store, req.Request)
	if err != nil {
		return nil, err
	}
	p := &planning{Desk: d, Settings: req.Settings, command: "travel", workflow: file, named: file != nil, head: head, origin: head.Entry(), past: head.Entry()}
	for _, one := range append(back.Worktrees, back.Files) {
		if one != nil {
			p.changes += len(one.Changes)
		}
	}
	if out, err = p.plan(ctx, head.Entry(), frame); err == nil {
		out.From = new(back.To.String())
	}
	return out, err
}

// plan returns the plan of the run whose newest entry is tip, with the entries that drafts make. If p has no workflow, the run's own counts.
func (p *planning) plan(ctx context.Context, tip *snapshot.Entry, drafts ...snapshot.Draft) (*Plan, error) {
	sketch, err := engine.NewSketch(ctx, p.Store, tip, drafts...)
	if err == nil && p.workflow == nil {
		p.workflow, err = frameWorkflow(&timeline.LoadedEntry{Address: timeline.Address{Run: sketch.Row().ID, Frame: sketch.Row().Frame}, Entry: sketch.Entry()})
	}
	if err == nil {
		err = p.agree()
	}
	if err == nil && !p.brings && p.changes == 0 {
		err = p.workIn(ctx, sketch.Row())
	}
	if err != nil {
		return nil, err
	}
	row := sketch.Row()
	p.opts.Now, p.opts.MaxParallel, p.opts.Cache, p.opts.NoCache = p.Now, p.MaxParallel, cache.Of(p.Store), p.NoCache
	p.opts.Secrets = vault.Unrecorded{Book: p.Store.Secrets(row)}
	tasks, loops, err := engine.Plan(ctx, sketch, p.workflow, p.opts)
	if err != nil {
		return nil, err
	}
	out := &Plan{Kind: "plan", Command: p.command, WorkflowName: p.workflow.Name, Tasks: []PlannedTask{}, Loops: append([]engine.PlannedLoop{}, loops...), Counts: make(map[engine.Action]int), FilesChanged: p.changes}
	if p.head != nil {
		out.RunID = &row.ID
	}
	costs, err := costsOf(p.past)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, task := range tasks {
		last := costs[snapshot.Key(task.NodeID, task.Iteration)]
		out.Tasks, out.Counts[task.Action] = append(out.Tasks, PlannedTask{task, last}), out.Counts[task.Action]+1
		if last != nil && (task.Action == engine.ActionRuns || task.Action == engine.ActionMayRun) {
			if out.Last == nil {
				out.Last = new(Cost)
			}
			out.Last.add(last.TookMs, last.row)
		}
	}
	return out, nil
}

// workIn sets the working copy in which the tasks of the run with the row work. It sets none if they work in one that is not there yet.
func (p *planning) workIn(ctx context.Context, row snapshot.Run) error {
	var own *files.OwnWorktree
	var err error
	if p.head != nil {
		own, err = files.OwnWorktreeOf(p.Store, p.head)
	}
	at := files.WorkingCopyOf(p.Store)
	switch {
	case err != nil || own != nil && own.Path == "" || own == nil && p.workflow.Worktree != nil:
		return err
	case own != nil:
		if at, err = files.WorkingCopyAt(ctx, p.Store, own.Path); err != nil {
			return err
		}
	}
	p.opts.WorkingCopy = at.For(row.ID, callerOf(row))
	return nil
}

// agree returns the error with which the request would be refused if nobody could be asked about the workflow's commands and files. It notes
// nothing: the plan evaluates expressions of the workflow, and runs no command.
func (p *planning) agree() error {
	if p.origin == nil {
		return nil
	}
	files := &filesCheck{Desk: p.Desk, FilesTrust: FilesTrust{TrustFiles: p.TrustFiles}, entry: p.origin, brought: p.brings}
	known, err := consent.Knows(p.Store, p.workflow.Snapshot().Hash())
	if err == nil && p.head != nil && !p.brings {
		files.brought, err = p.Desk.brings(p.head, p.workflow)
	}
	if err == nil && !known && !p.named {
		var input []byte
		if input, err = files.input(); err == nil {
			err = p.Consent.decide(Commands{Workflow: p.workflow, Input: input})
		}
	}
	if err == nil {
		err = files.check(commandsOf(p.workflow))
	}
	return timeline.Explain(err)
}

// costsOf returns what the newest attempts took that ended at the entry, by the keys of their nodes. entry may be nil.
func costsOf(entry *snapshot.Entry) (map[string]*Cost, error) {
	costs, newest := make(map[string]*Cost), make(map[string]int)
	if entry == nil {
		return costs, nil
	}
	state, err := entry.State()
	if err != nil {
		return nil, err
	}
	for a, err := range entry.AllAttempts() {
		key := snapshot.Key(a.NodeID, a.Iteration)
		wait := false
		if err == nil {
			wait, err = runsummary.IsWait(state, a)
		}
		if err != nil {
			return nil, err
		}
		if a.FinishedAtMs != nil && a.CachedFrom == "" && !wait && a.Attempt > newest[key] {
			newest[key], costs[key] = a.Attempt, &Cost{TookMs: *a.FinishedAtMs - a.StartedAtMs}
		}
	}
	for row, err := range state.Outputs(runsummary.UsageTable).Rows() {
		if err != nil {
			return nil, err
		}
		if c := costs[row.Key]; c != nil {
			c.add(0, row.Value)
		}
	}
	return costs, nil
}

// add adds a time and, unless it is nil, a row of the table usage.
func (c *Cost) add(tookMs int64, usage json.RawMessage) {
	if c.TookMs += tookMs; usage == nil {
		return
	}
	if c.Usage == nil {
		c.Usage = new(runsummary.Usage)
	}
	c.Usage.Add(usage)
	c.row = usage
}
