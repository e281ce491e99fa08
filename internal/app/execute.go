package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/courses"
	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/trace"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Settings has the options with which runs are executed.
type Settings struct {
	MaxParallel int       // how many tasks may work at once
	NoCache     bool      // take no results from the cache
	Wait        bool      // stay while the run waits for people, signals or timers
	Consent     Consenter // asked about commands that are new to this clone; nil refuses them
	FilesTrust            // about the files of runs that came from elsewhere
	Secrets     Provider  // asked for secrets that this clone does not have; nil refuses to go on without them
	// Logs returns the writer for the logs of a run's tasks, which gets whole lines. If Logs is nil, no logs are shown.
	Logs func(run string) io.Writer
	// Colour tells tasks by FORCE_COLOR that what they print is shown in colour, unless their output is stored.
	Colour bool
}

// Result describes a run that has ended or was left.
type Result struct {
	Run         snapshot.Run // the row of the run at its tip
	Tip         objstore.ID
	ContentHash page.Sum
	Waiting     []mailbox.Waiting // the open waits of the run; empty if it does not wait
	Nothing     bool              // no task ran: the run had already finished, or still waits
	Took        time.Duration     // how long this process worked on the run
	Worktree    *string           // see OwnWorktree
}

// An execution executes a run in this process.
type execution struct {
	*Desk
	Settings

	head         *timeline.Head
	workflow     *workflow.Workflow
	ask          Consenter // asked for consent to the workflow
	file         string    // the workflow file that the request names; "" for none
	scheduled    bool      // a schedule names the file, and not the user
	acceptChange bool
	change       ChangeConsenter    // asked if the workflow differs from the run's own; nil refuses
	force        bool               // take the run over from a process that is running it
	input        json.RawMessage    // changes members of the run's input; nil: none
	files        *files.WorkingCopy // nil: the working copy of the request
	captured     bool               // the run's tip has the current files
	resumes      bool               // execute passes a ContinuedNote to the teller
	baseFiles    bool               // new worktrees of tasks get the files of their base, not of the frame
	confined     bool               // the commands of the workflow must run in sandboxes
	bringFiles   string             // tells people how to replay on the files of the frame, see engine.Options
	span         string             // the span of the attempt that calls the run, as a traceparent; "" if there is none
	sweep        *sweepRun          // set if the run is a group
	told         func(courses.Made) // is told of each course of a session, if the run is a group of these; may be nil
	named        bool               // the user named the file of the workflow that a sweep calls
	apart        bool               // the run is a variant with a worktree of its own
	back         *filesBack         // restores the files of the newest frame first; nil: the files stay
}

// execute checks the run, asks for consent to the workflow's commands, claims the run, and runs its remaining tasks. If
// engine.Check finds no work left, for example because the run has finished or still waits, execute runs nothing, and
// the result has Nothing set. If e.back is not nil, execute first checks that the files can be restored.
//
// The result is not nil if the run has finished, failed, was cancelled or waits. For the last three, the error is
// run_failed, run_cancelled or run_waiting. With any other error, the result is nil.
func (e *execution) execute(ctx context.Context) (*Result, error) {
	started := e.Now()
	err := e.findApart(ctx)
	if err != nil {
		return nil, err
	}
	opts, err := e.options()
	if err == nil {
		err = e.back.check(ctx, e.head, e.workflow, opts)
	}
	if err != nil {
		return nil, err
	}
	approved, err := approvedElsewhere(e.head)
	if err != nil {
		return nil, err
	}
	agreed, held, err := e.claimIfLeft(ctx, &opts)
	if row := e.head.Row(); row.Caller == nil && (err == nil || !e.resumes) { // a new run is there although its tasks could not begin
		list.NoteHere(e.Store, row.ID)
	}
	if e.resumes && err == nil {
		e.Teller.Note(ctx, ContinuedNote{e.head})
	}
	for _, note := range approved {
		if held != nil {
			e.Teller.Note(ctx, note)
		}
	}
	if held != nil {
		e.tellBeside(opts)
		frame, over := e.Teller.Tasks(ctx, e.workflow)
		opts.Progress = e.notifyOfWaits(ctx, frame)
		err = e.executeClaimed(ctx, agreed, held, opts)
		over()
		e.Notify(ctx, e.head)
		if e.sweep != nil {
			err = e.sweep.explain(err)
		} else {
			err = e.hintAtReplay(err, opts.WorkflowFile)
		}
	}
	// A run that failed, was cancelled or waits has a result and an error.
	if code := fault.CodeOf(err); err != nil && code != fault.RunFailed && code != fault.RunCancelled && code != fault.RunWaiting {
		return nil, err
	}
	out, describeErr := e.resultOf(e.head)
	if describeErr != nil {
		return nil, errors.Join(err, describeErr)
	}
	out.Nothing, out.Took = held == nil, e.Now().Sub(started)
	return out, err
}

// tellBeside warns if others are at work in the folder in which the tasks of the run work.
func (e *execution) tellBeside(opts engine.Options) {
	files, ok := opts.WorkingCopy.(*files.WorkingCopy)
	if !ok || opts.OwnWorktree || e.workflow.Worktree != nil || files.Root() == "" {
		return
	}
	if others := files.Beside(); len(others) > 0 {
		e.Teller.Warn(fmt.Errorf("at work in this folder, too: %s; frames with files that change meanwhile are marked as shared. "+
			"`worktree: true` in the workflow file gives a run a folder of its own, and so does `git worktree add`", strings.Join(others, ", ")))
	}
}

// callerOf returns the run that called the run with the given row, or "".
func callerOf(row snapshot.Run) string {
	if row.Caller == nil {
		return ""
	}
	return row.Caller.RunID
}

// maxClaims is how often a claim is tried. Another process may append to the run between two tries: a signal that
// arrives meanwhile must not stop the claim.
const maxClaims = 32

// claimIfLeft asks for consent to the workflow's commands, and then claims the run. It asks first, because a claim
// writes an entry. It returns the workflow with the consent, and the claim. If the run has no work left, claimIfLeft
// does not ask, and the claim is nil. With an error, the claim is nil too. If another process moves the run's tip
// meanwhile, claimIfLeft tries the claim again, at most maxClaims times in all.
func (e *execution) claimIfLeft(ctx context.Context, opts *engine.Options) (agreed consent.Workflow, _ *claim.Claim, _ error) {
	for try := 1; ; try++ {
		left, err := e.check(opts)
		if err == nil && left && try == 1 { // a conflict does not change the commands
			agreed, err = e.agreeTo(ctx, *opts)
		}
		if err != nil || !left {
			return agreed, nil, err
		}
		held, err := claim.ToExecute(ctx, e.head, claim.Request{Force: e.force})
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

// check does the work of engine.Check. If the workflow has changed, and the commands of the run's own are known in this clone, it asks e.change. If
// the answer is yes, opts accept the change, and the commands are not asked about again.
func (e *execution) check(opts *engine.Options) (bool, error) {
	left, err := engine.Check(e.head, e.workflow, *opts)
	if fault.CodeOf(err) != fault.WorkflowChanged {
		return left, err
	}
	origin, originErr := e.Store.Origin(e.head.Entry())
	known, knownErr := knownWorkflow(e.Store, e.head.Entry())
	input, inputErr := (&filesCheck{entry: e.head.Entry()}).input()
	if failed := errors.Join(originErr, knownErr, timeline.Explain(inputErr)); failed != nil {
		return false, failed
	}
	if origin == timeline.Stranger && !slices.Contains(e.TrustFiles, e.head.Row().ID) {
		opts.Untrusted = true
		_, err = engine.Check(e.head, e.workflow, *opts) // with another hint
	}
	resolveSandboxes(e.Store, e.workflow)
	if e.change == nil || known == nil || !e.change(e.head.Row().ID, Commands{Workflow: e.workflow, Known: known, Input: input}) {
		return false, err
	}
	opts.AcceptWorkflowChange, e.ask = true, Agreed
	return engine.Check(e.head, e.workflow, *opts)
}

// agreeTo asks for consent to the workflow's commands and to the files, see Desk.agree.
func (e *execution) agreeTo(ctx context.Context, opts engine.Options) (consent.Workflow, error) {
	brought, err := e.brings(e.head, e.workflow)
	if err != nil {
		return consent.Workflow{}, err
	}
	if e.sweep != nil && e.resumes {
		if err := e.sweep.agreeToFiles(ctx); err != nil {
			return consent.Workflow{}, err
		}
	}
	return e.agree(e.head, e.workflow, e.named || e.file != "" && !e.scheduled, e.ask, e.Settings, brought || e.back != nil, opts)
}

// executeClaimed runs the remaining tasks of a claimed run, and releases the claim, even after an error. agreed is the
// workflow to run, with the consent to run its commands. held is the claim. If the claim cannot be released,
// executeClaimed only warns.
func (e *execution) executeClaimed(ctx context.Context, agreed consent.Workflow, held *claim.Claim, opts engine.Options) error {
	opts.Lost = held.Lost()
	e.confined = opts.SandboxRequired && !agreed.Named()
	_, err := engine.Run(ctx, e.head, agreed, opts)
	if released := held.Release(context.WithoutCancel(ctx)); released != nil {
		e.Teller.Warn(fmt.Errorf("the claim on the run could not be released: %w", released))
	}
	return err
}

// options returns the options with which the engine executes the run. It returns an error if it cannot read whether the
// run has its own worktree.
func (e *execution) options() (engine.Options, error) {
	folder := e.files
	if folder == nil {
		folder = files.WorkingCopyOf(e.Store)
	}
	run := e.head.Row().ID
	folder = folder.For(run, callerOf(e.head.Row()))
	opts := engine.Options{
		Now: e.Now, WorkDir: e.workDir(), Env: e.taskEnv(), MaxParallel: e.MaxParallel,
		AcceptWorkflowChange: e.acceptChange, WorkingCopy: folder, Captured: e.captured,
		Hurry: e.Hurry, Warn: e.Teller.Warn, Wait: e.Wait, Input: e.input, Logs: claim.LiveLogsOf(e.Store, run),
		Commands: claim.CommandsOf(e.Store, run), BringFiles: e.bringFiles,
		WorkflowFile: e.workflowFileToType(e.head.Row(), e.file),
		Cache:        cache.Of(e.Store), NoCache: e.NoCache,
		Extract: func(ctx context.Context, tree objstore.ID, dir string) error {
			return files.Extract(ctx, e.Store.Objects(), tree, dir)
		},
		TraceParent: e.traceParent(), Traced: e.Collector != nil,
		Call: e.call, Sandbox: keptFrom(e.Store, e.Env), NoHooks: e.Store.Refs().NoHooks, SandboxRequired: e.Store.Settings().SandboxRequired,
	}
	if e.Store.Settings().Secrets != vault.Off {
		opts.Secrets = e.Store.Secrets(e.head.Row())
	}
	// Without a working copy, tasks cannot have worktrees.
	if folder.Root() != "" {
		opts.Worktree = func(ctx context.Context, spec files.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
			return e.worktree(ctx, run, spec, rebase)
		}
	}
	if e.back != nil {
		opts.Before = e.back.bring
	}
	if e.files == nil && !e.captured { // with e.captured, the run is new: no replay has made an own worktree for it
		own, err := files.OwnWorktreeOf(e.Store, e.head)
		if err != nil {
			return opts, err
		}
		opts.OwnWorktree = own != nil && own.Replay || e.apart
	}
	if e.Logs != nil {
		opts.Log, opts.Colour = e.Logs(run), e.Colour
	}
	if e.workflow != nil && e.workflow.Sweep {
		return opts, e.sweepOptions(&opts)
	}
	return opts, nil
}

// resultOf returns a Result that describes the run of head at its tip. If the run waits, the result has its open waits,
// as they are now. The caller must set the fields Nothing and Took.
func (d *Desk) resultOf(head *timeline.Head) (*Result, error) {
	entry := head.Entry()
	own, err := OwnWorktree(d.Store, head)
	out := &Result{Run: head.Row(), Tip: entry.ID, ContentHash: entry.ContentHash, Worktree: own}
	if err != nil || !out.Run.Status.Waiting() {
		return out, err
	}
	out.Waiting, err = mailbox.WaitsOf(head, d.Now())
	return out, err
}

// taskEnv returns the environment of tasks: a copy of d.Env. In this copy, the variables with which git finds a
// repository have absolute paths, because tasks may run in another folder than the request.
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

// traceParent returns the span in which the run is started: that of the attempt that calls it, or of the caller of this process; "" if there is none.
func (e *execution) traceParent() string {
	if e.span != "" {
		return e.span
	}
	value, _ := gitexec.LookupEnv(e.Env, trace.Parent)
	if _, ok := trace.Parse(value); !ok {
		return ""
	}
	return value
}

// keptFrom returns what sandboxes keep from tasks: the repository of the store and, in it, the private folder with secrets and keys.
func keptFrom(store *timeline.Store, env []string) sandbox.Place {
	repo := store.Repo()
	at := sandbox.Place{Internals: []string{repo.CommonDir}, Hidden: []string{store.Private()}, Home: homeOf(env)}
	if rel, err := filepath.Rel(repo.CommonDir, repo.GitDir); err != nil || !filepath.IsLocal(rel) {
		at.Internals = append(at.Internals, repo.GitDir)
	}
	return at
}

// besideOptions returns the options with which commands that are no tasks of a run work on its entry at: smithers.sandbox = required confines them if
// this clone has not recorded the run up to there.
func (d *Desk) besideOptions(at *snapshot.Entry) (engine.Options, error) {
	origin, err := d.Store.Origin(at)
	return engine.Options{
		Now: d.Now, Env: d.Env, WorkDir: d.workDir(), Hurry: d.Hurry,
		Sandbox: keptFrom(d.Store, d.Env), NoHooks: d.Store.Refs().NoHooks, SandboxRequired: d.Store.Settings().SandboxRequired && origin != timeline.Recorded,
	}, err
}

// homeOf returns the home folder in an environment without symbolic links; "" if there is none.
func homeOf(env []string) string {
	home, _ := gitexec.LookupEnv(env, "HOME")
	if resolved, err := filepath.EvalSymlinks(home); err == nil && filepath.IsAbs(resolved) {
		return resolved
	}
	return ""
}
