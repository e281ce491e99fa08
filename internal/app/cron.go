package app

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// AddSchedule adds a schedule for the workflow file that the user names, which is consent to run its commands. It sets s.Workflow and
// s.NextAtMs. The codes are those of ReadWorkflow, invalid_input, secrets_found if a text of s has a secret, and those of cron.Table.Add.
func (d *Desk) AddSchedule(ctx context.Context, file string, s *cron.Schedule) error {
	wf, err := d.Folder.ReadWorkflow(ctx, file)
	if err != nil {
		return err
	}
	if s.Workflow = d.storedPath(file); s.Workflow == "" {
		return fault.New(fault.InvalidSchedule, "%s is not in the working copy", file).Hint("a schedule names its workflow from the top of the working copy")
	}
	if s.ID == "" {
		s.ID = wf.Name
	}
	if err := d.checkScheduled(wf, s); err != nil {
		return err
	}
	if _, err := askConsent(d.Store, wf, true, nil, Agreed); err != nil {
		return err
	}
	return cron.Of(d.Store).Add(ctx, s)
}

// checkScheduled checks the texts of a schedule of a workflow.
func (d *Desk) checkScheduled(wf *workflow.Workflow, s *cron.Schedule) error {
	finder, err := timeline.SecretFinder(d.Store)
	if err != nil {
		return err
	}
	for what, text := range map[string]string{"name": s.ID, "workflow's path": s.Workflow} {
		if len(finder.Find([]byte(text))) > 0 {
			return fault.New(fault.SecretsFound, "the schedule's %s has a secret, which the schedule would keep in the repository", what)
		}
	}
	if len(finder.Find(s.Input)) > 0 {
		return fault.New(fault.SecretsFound, "the input has a secret, which a schedule would keep in the repository").
			Hint("let the workflow read it from the environment of `git smithers supervise`")
	}
	return wf.ValidateInput(s.Input)
}

// EnableSchedule enables a schedule after ask has agreed to the commands of its workflow, unless they were run or confirmed in this clone
// before. The codes are those of cron.Table.Find and Enable, of ReadWorkflow, and unconfirmed.
func (d *Desk) EnableSchedule(ctx context.Context, id string, ask Consenter) (*cron.Schedule, error) {
	s, err := cron.Of(d.Store).Find(ctx, id)
	if err != nil {
		return nil, err
	}
	wf, err := d.scheduled(ctx, s)
	if err == nil {
		err = d.checkScheduled(wf, s)
	}
	if err != nil {
		return nil, err
	}
	if _, err := askConsent(d.Store, wf, false, s.Input, ask); err != nil {
		return nil, err
	}
	return cron.Of(d.Store).Enable(ctx, s.ID)
}

// RunScheduled runs the workflow of a schedule now, whether or not the schedule is enabled, and records the run as its last one. The
// time at which it fires next stays. Results and codes are those of Run.
func (d *Desk) RunScheduled(ctx context.Context, id string, settings Settings) (*Result, error) {
	s, err := cron.Of(d.Store).Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.runNamed(ctx, s, "", settings)
}

// runNamed runs the workflow of a schedule now. run is the id of the run, or "" for one that follows from the time.
func (d *Desk) runNamed(ctx context.Context, s *cron.Schedule, run string, settings Settings) (*Result, error) {
	table := cron.Of(d.Store)
	_, run, err := d.nameScheduled(ctx, s, run, settings.Consent)
	if err != nil {
		return nil, err
	}
	result, err := d.Run(ctx, RunRequest{Workflow: d.scheduledFile(s), RunID: run, Input: s.Input, Settings: settings, scheduled: true})
	if result == nil { // there may be no run
		d.warnIf(d.withdrawUnborn(context.WithoutCancel(ctx), s, run, 0, false))
	}
	if code := fault.CodeOf(err); err != nil && code != fault.RunWaiting && code != fault.RunExists { // another process has the time
		d.warnIf(table.Failed(context.WithoutCancel(ctx), s.ID, err.Error()))
	}
	return result, err
}

// withdrawUnborn calls Table.Withdraw unless the run exists: a run that was created although its creation returned an error stays the schedule's
// last run, and the next supervisor executes it. run may be "".
func (d *Desk) withdrawUnborn(ctx context.Context, s *cron.Schedule, run string, at int64, again bool) error {
	if run != "" {
		if _, _, err := d.Store.FindRunExactly(ctx, run); fault.CodeOf(err) != fault.RunNotFound {
			return err
		}
	}
	return cron.Of(d.Store).Withdraw(ctx, s, run, at, again)
}

// warnIf passes an error to the teller.
func (d *Desk) warnIf(err error) {
	if err != nil {
		d.Teller.Warn(err)
	}
}

// scheduledFile returns the path of the workflow file of a schedule.
func (d *Desk) scheduledFile(s *cron.Schedule) string {
	return filepath.Join(d.workDir(), filepath.FromSlash(s.Workflow))
}

// scheduled reads the workflow of a schedule.
func (d *Desk) scheduled(ctx context.Context, s *cron.Schedule) (*workflow.Workflow, error) {
	if !filepath.IsLocal(filepath.FromSlash(s.Workflow)) {
		return nil, fault.New(fault.InvalidSchedule, "schedule %s names a workflow file outside of the working copy: %q", s.ID, s.Workflow).
			Hint("`git smithers cron add` makes a schedule for a file in it")
	}
	wf, err := d.Folder.ReadWorkflow(ctx, d.scheduledFile(s))
	if fault.CodeOf(err) == fault.WorkflowNotFound { // the schedule keeps the error, which must not name folders of the machine
		return nil, fault.New(fault.WorkflowNotFound, "there is no workflow file %s", s.Workflow).Detail("file", s.Workflow)
	}
	return wf, err
}

// runStamp is the time in the id of the run of a schedule, in UTC.
const runStamp = "20060102-150405"

// scheduledRun returns the id of the run that a schedule starts now.
func (d *Desk) scheduledRun(ctx context.Context, s *cron.Schedule) (string, error) {
	at := s.ID + "-" + d.Now().UTC().Format(runStamp)
	for n, id := 2, at; ; n++ {
		_, _, err := d.Store.FindRunExactly(ctx, id)
		if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
			return id, nil
		}
		if err != nil {
			return "", err
		}
		id = fmt.Sprintf("%s-%d", at, n)
	}
}

// nameScheduled reads the workflow of a schedule, asks for consent to its commands, and records the id of the run that the schedule starts now: named, or if it is "", scheduledRun.
// The code is unconfirmed if ask is nil and the commands were not confirmed before.
func (d *Desk) nameScheduled(ctx context.Context, s *cron.Schedule, named string, ask Consenter) (wf *workflow.Workflow, run string, err error) {
	if wf, err = d.scheduled(ctx, s); err != nil {
		return nil, "", err
	}
	if _, err = askConsent(d.Store, wf, false, s.Input, ask); err != nil {
		return nil, "", err
	}
	if run = named; run == "" {
		if run, err = d.scheduledRun(ctx, s); err != nil {
			return nil, "", err
		}
	}
	return wf, run, cron.Of(d.Store).Started(ctx, s.ID, run)
}

// createScheduled creates the run of a schedule. Code: those of needWorkDir and needPrograms.
func (d *Desk) createScheduled(ctx context.Context, s *cron.Schedule, wf *workflow.Workflow, run string) (*timeline.Head, error) {
	if err := d.needWorkDir(wf); err != nil {
		return nil, err
	}
	if err := d.needPrograms(ctx, wf); err != nil {
		return nil, err
	}
	now := d.Now()
	draft, err := engine.Initial(run, wf, s.Input, now)
	if err != nil {
		return nil, err
	}
	return d.create(ctx, wf, snapshot.Run{ID: run, WorkflowPath: s.Workflow, CreatedAtMs: now.UnixMilli()}, draft)
}
