package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/consent"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Settings say how runs are executed.
type Settings struct {
	MaxParallel int       // tasks at work at once
	Wait        bool      // stay while the run waits for people, signals or timers
	Consent     Consenter // for commands that are new to this clone; nil: they are unconfirmed
	// Logs returns the writer for the logs of a run's tasks, which gets whole lines. If Logs is nil, no logs are shown.
	Logs func(run string) io.Writer
}

// Result is how a run ended, or was left.
type Result struct {
	Run         snapshot.Run // its row at the tip
	Tip         objstore.ID
	ContentHash page.Sum
	Waiting     []mailbox.Waiting // its open waits; empty if it does not wait
	Nothing     bool              // the run had already finished
	Took        time.Duration
}

// An execution is a run that is about to be executed by this process.
type execution struct {
	*Desk
	Settings

	head         *timeline.Head
	workflow     *workflow.Workflow
	ask          Consenter
	file         string // the workflow file that the request names; "" for none
	acceptChange bool
	force        bool              // take the run over from a live owner
	input        json.RawMessage   // laid over the run's; nil: nothing
	files        *code.WorkingCopy // nil: the working copy of the request
	captured     bool              // the run's tip has the current files
	resumes      bool              // tell from which frame the run continues
	baseFiles    bool              // new worktrees get the files of their base, not of the frame
	bringFiles   string            // see engine.Options
	back         *filesBack        // restores the files of the newest frame first; nil: the files stay
}

// execute asks for consent to a run's remaining commands, claims the run and runs it. The result is nil unless the run has
// finished, failed, was cancelled or waits.
func (e *execution) execute(ctx context.Context) (*Result, error) {
	started := e.Now()
	opts, err := e.options()
	if err == nil {
		err = e.back.check(ctx, e.head, e.workflow, opts)
	}
	if err != nil {
		return nil, err
	}
	agreed, held, err := e.claimIfLeft(ctx, opts)
	if e.resumes && err == nil {
		e.Teller.Note(ctx, ContinuedNote{e.head})
	}
	if held != nil {
		frame, over := e.Teller.Tasks(ctx, e.workflow)
		opts.Progress = frame
		err = e.executeClaimed(ctx, agreed, held, opts)
		over()
	}
	if code := fault.CodeOf(err); err != nil && code != fault.RunFailed && code != fault.RunCancelled && code != fault.RunWaiting {
		return nil, err
	}
	out, describeErr := resultOf(e.head, e.Now())
	if describeErr != nil {
		return nil, errors.Join(err, describeErr)
	}
	out.Nothing, out.Took = held == nil, e.Now().Sub(started)
	return out, err
}

// maxClaims is how often in a row a claim is tried while other processes append to the run: a signal that arrives meanwhile
// must not stop the claim.
const maxClaims = 32

// claimIfLeft claims a run that has work left, after a person agreed to its commands. The claim is nil if no
// work is left. It asks before it claims, because a claim writes.
func (e *execution) claimIfLeft(ctx context.Context, opts engine.Options) (agreed consent.Workflow, _ *claim.Claim, _ error) {
	for try := 1; ; try++ {
		left, err := engine.Check(e.head, e.workflow, opts)
		if err == nil && left && try == 1 {
			agreed, err = agree(e.Store, e.head, e.workflow, e.ask, opts)
		}
		if err != nil || !left {
			return agreed, nil, err
		}
		held, err := claim.Take(ctx, e.head, claim.Request{Force: e.force})
		if err == nil {
			return agreed, held, nil
		}
		if fault.CodeOf(err) != fault.Conflict || try == maxClaims {
			return agreed, nil, err
		}
		if err := e.head.Refresh(ctx); err != nil {
			return agreed, nil, err
		}
	}
}

// executeClaimed runs the rest of a run as its owner. If nothing ran, the run is unchanged.
func (e *execution) executeClaimed(ctx context.Context, agreed consent.Workflow, held *claim.Claim, opts engine.Options) error {
	opts.Lost = held.Lost()
	_, err := engine.Run(ctx, e.head, agreed, opts)
	if released := held.Release(context.WithoutCancel(ctx)); released != nil {
		e.Teller.Warn(fmt.Errorf("the claim on the run could not be released: %w", released))
	}
	return err
}

// options returns the options with which the engine runs the run.
func (e *execution) options() (engine.Options, error) {
	files := e.files
	if files == nil {
		files = code.WorkingCopyOf(e.Store)
	}
	run := e.head.Row().ID
	opts := engine.Options{
		Now: e.Now, WorkDir: e.workDir(), Env: e.taskEnv(), MaxParallel: e.MaxParallel,
		AcceptWorkflowChange: e.acceptChange, WorkingCopy: files, Captured: e.captured,
		Hurry: e.Hurry, Warn: e.Teller.Warn, Wait: e.Wait, Input: e.input, Logs: claim.LiveLogsOf(e.Store, run),
		Commands: claim.CommandsOf(e.Store, run), BringFiles: e.bringFiles,
		WorkflowFile: e.workflowFileToType(e.head.Row(), e.file),
	}
	if files.Root() != "" {
		opts.Worktree = e.worktree
	}
	if e.back != nil {
		opts.Before = e.back.bring
	}
	if e.files == nil && !e.captured { // a new run has its own worktree only if the workflow asks for one
		own, err := code.OwnWorktreeOf(e.Store, e.head)
		if err != nil {
			return opts, err
		}
		opts.OwnWorktree = own != nil && own.Replay
	}
	if e.Logs != nil {
		opts.Log = e.Logs(run)
	}
	return opts, nil
}

// resultOf describes a run at its tip.
func resultOf(head *timeline.Head, now time.Time) (*Result, error) {
	entry := head.Entry()
	out := &Result{Run: head.Row(), Tip: entry.ID, ContentHash: entry.ContentHash}
	if !out.Run.Status.Waiting() {
		return out, nil
	}
	var err error
	out.Waiting, err = mailbox.WaitsOf(head, now)
	return out, err
}

// taskEnv returns the environment of tasks. Tasks may run in another folder than the request, so taskEnv makes the paths by
// which git finds a repository absolute.
func (d *Desk) taskEnv() []string {
	paths := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"}
	env := slices.Clone(d.Env)
	for i, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && slices.Contains(paths, name) {
			env[i] = name + "=" + d.Folder.Path(value)
		}
	}
	return env
}
