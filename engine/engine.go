package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/consent"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recorder stores a run's frames at the tip of the run. *timeline.Head is a Recorder.
// The engine uses it from one goroutine.
type Recorder interface {
	mailbox.Recorder
	// Append adds an entry to exactly the tip that the recorder has read. If the tip has moved, the
	// error's code is conflict. If Append returns nil, the entry is durable.
	Append(ctx context.Context, d snapshot.Draft) error
}

// Options configure Run. Only Now is required; zero values are defaults.
type Options struct {
	Now         func() time.Time // the clock; required
	WorkDir     string           // where commands run without a WorkingCopy; "" is this process's folder
	Env         []string         // the environment of commands, as os.Environ gives it
	MaxParallel int              // maximum number of parallel commands; 0 means 4
	Grace       time.Duration    // from TERM to KILL; 0 means 5 s
	Hurry       context.Context  // its end ends the grace period at once; may be nil
	Watch       time.Duration    // how often the tip is read for changes by others; 0 means 1 s
	MaxOutput   int64            // maximum bytes of stdout; 0 means 16 MiB
	MaxLog      int              // bytes that a log keeps of the end of each stream; 0 means 1 MiB
	Log         io.Writer        // gets the live logs of commands, each line after "task| "; may be nil
	// WorkingCopy is where commands run. It is captured for the first frame of this Run and
	// whenever an attempt has ended. If nil, commands run in WorkDir and nothing is captured.
	WorkingCopy WorkingCopy
	// Captured means that the tip has the files as they are now, so the first frame does not
	// capture them again.
	Captured bool
	// Worktree makes the worktree that the workflow or a task asks for, or finds the run's existing
	// one. With rebase, it rebases an existing worktree onto its base. The engine calls Worktree from
	// one goroutine at a time. If nil, workflows that ask for a worktree are refused.
	Worktree func(ctx context.Context, spec code.WorktreeSpec, rebase bool) (WorkingCopy, error)
	// OwnWorktree means that the tasks share a worktree of the run's own although the workflow asks for none.
	OwnWorktree bool
	// Before is called before any other work, once no process of an earlier Run is left. It may append
	// entries that change no state. If it returns an error, Run returns that error and the run is unchanged. May be nil.
	Before func(context.Context) error
	// BringFiles is the hint, in a warning, to continue with the files of the newest frame; "" names restore.
	BringFiles string
	// WorkflowFile is the path of the workflow file in hints; "" if there is no file but the run's own copy.
	WorkflowFile string
	Warn         func(error)    // called from Run's goroutine for problems that do not harm the run; may be nil
	Progress     func(Progress) // called after every frame, from Run's goroutine; may be nil
	// Wait makes Run wait for people, signals and timers instead of returning.
	Wait bool
	// Input, if not nil, is merged over the run's input, member by member.
	Input json.RawMessage
	// Lost is closed when another process has taken over the run; may be nil.
	Lost <-chan struct{}
	// Logs stores the logs of attempts that have not ended; may be nil.
	Logs LogKeeper
	// Commands records the process groups of commands, in case this process is killed; may be nil.
	Commands CommandKeeper
	// AcceptWorkflowChange lets a run continue with a changed definition; see Reconcile.
	AcceptWorkflowChange bool
}

// WorkingCopy is the files that tasks work on. *code.WorkingCopy is a WorkingCopy.
type WorkingCopy interface {
	// Root is the folder in which commands run; "" means Options.WorkDir.
	Root() string
	// Capture reads the current files. It returns nil if they are not under version control.
	// The engine closes the result.
	Capture(ctx context.Context) (*jjbridge.Captured, error)
}

// LogKeeper stores the logs of attempts that have not ended, by the attempts' keys.
// *claim.LiveLogs is a LogKeeper. Safe for concurrent use.
type LogKeeper interface {
	// Open begins a log, which keeps about the last limit bytes.
	Open(attempt string, limit int) (io.WriteCloser, error)
	// Last returns the content of a log; "" if there is none.
	Last(attempt string) string
	// Remove removes a log.
	Remove(attempt string)
	// Clear removes all logs of the run, and leftovers.
	Clear()
}

// ShortenedLog is a log that keeps the ends of both streams. The engine calls Shorten when it has dropped the
// beginning of a stream. Other logs keep only their own end.
type ShortenedLog interface {
	// Shorten replaces the log's content by kept.
	Shorten(kept []byte) error
}

// CommandKeeper records the process groups of a run's commands, by the attempts' keys. Groups
// that outlive the process that started them can so be ended.
// *claim.Commands is a CommandKeeper. Safe for concurrent use.
type CommandKeeper interface {
	// Began records that an attempt's command leads a process group. The command runs after Began
	// returns.
	Began(attempt string, leader int) error
	// Ended forgets a command whose process group is gone.
	Ended(attempt string)
	// EndLeft ends all remaining processes of the run's commands, whichever process started them, and
	// returns their number.
	EndLeft(ctx context.Context, grace time.Duration) (int, error)
}

// Progress describes a frame that was just committed.
type Progress struct {
	Frame   int64
	Subject string
	// The number of nodes in each state; Nodes is their total.
	Nodes, Running, Waiting, Finished, Failed, Skipped int
	// Steps are the frame's changes of tasks, in order.
	Steps []Step
}

// Step is a frame's change of one task: it started, waits, or ended.
type Step struct {
	Task        string             // its id, with the iteration in a loop
	State       snapshot.NodeState // a failed task may be retried
	What        string             // in words: "finished", "failed: exit status 1", "waits for approval"
	StartedAtMs int64              // of the attempt; 0 if there is none
	EndedAtMs   int64              // 0 while the attempt runs
}

// Result is the run when Run returns.
type Result struct {
	Run snapshot.Run // its row at the tip
	// Nothing means that the run had finished already, so Run did nothing.
	Nothing bool
}

func (o Options) withDefaults() Options {
	if o.MaxParallel <= 0 {
		o.MaxParallel = 4
	}
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	if o.Hurry == nil {
		o.Hurry = context.Background()
	}
	if o.Watch <= 0 {
		o.Watch = time.Second
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 16 << 20
	}
	if o.MaxLog <= 0 {
		o.MaxLog = 1 << 20
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Run does the remaining work of a run. It returns when the run is finished, failed or
// cancelled, or when it only waits for a person, a signal or a timer. A run that was cancelled,
// failed, waited, or whose process died continues from its last frame: finished tasks do not
// run again, a task in progress becomes a failed attempt ("interrupted"), and every
// unfinished task is tried again.
//
// The caller must own the run, see claim.Take. The run's last frame releases it.
//
// The workflow must be the run's own (workflow_changed), unless opts accept a change. The
// error's code is run_failed, run_cancelled or run_waiting if the run does not finish; the
// Result is valid with each of them.
//
// Run executes the exact bytes that a person consented to: it parses them here, and passes
// nothing else to a shell. The zero Consented is an error of code unconfirmed.
//
// When ctx ends, or another process cancels the run, commands are ended, their results
// are committed, and the run is cancelled. When another process takes over the run, commands are
// ended, nothing more is written, and the error's code is conflict.
func Run(ctx context.Context, rec Recorder, agreed consent.Workflow, opts Options) (Result, error) {
	definition := agreed.Definition()
	if definition == nil {
		return Result{Run: rec.Row()}, fault.New(fault.Unconfirmed, "the commands of run %s were not confirmed", rec.Row().ID)
	}
	wf, err := workflow.Parse("the workflow of "+rec.Row().ID, definition)
	if err != nil {
		return Result{Run: rec.Row()}, err
	}
	return run(ctx, rec, wf, opts)
}

// run is Run of a workflow with consent. Only Run and tests call it.
func run(ctx context.Context, rec Recorder, wf *workflow.Workflow, opts Options) (Result, error) {
	left, err := Check(rec, wf, opts)
	if err == nil && left {
		err = CheckInput(rec, wf, opts)
	}
	if err != nil || !left {
		return Result{Run: rec.Row(), Nothing: err == nil}, err
	}
	r := newRunner(rec, wf, opts.withDefaults())
	r.opts.endLeft()
	if opts.Before != nil {
		err = opts.Before(ctx)
		if err == nil {
			err = rec.Refresh(ctx)
		}
		if err != nil {
			return Result{Run: rec.Row()}, err
		}
	}
	if err := r.prepare(); err != nil {
		return Result{Run: rec.Row()}, err
	}
	if err := r.files.openShared(ctx); err != nil {
		return Result{Run: rec.Row()}, err
	}
	err = r.loop(ctx)
	return Result{Run: rec.Row()}, err
}

// workflowChanged returns the error that a workflow file differs from the run's own definition.
func workflowChanged(row snapshot.Run, wf *workflow.Workflow, file string) error {
	out := fault.New(fault.WorkflowChanged, "workflow %s differs from the definition stored in run %s", wf.Name, row.ID)
	if file == "" {
		return out.Hint("add --accept-workflow-change to continue with the new definition")
	}
	newest := timeline.Address{Run: row.ID, Frame: row.Frame}.String()
	return out.Detail("file", file).
		Hint("%s", AcceptChange(fmt.Sprintf("git smithers resume %s %s --accept-workflow-change", fault.Word(row.ID), fault.Word(file)))).
		Hint("`git smithers replay %s %s` runs the new definition in a fork", fault.Word(file), fault.Word(newest))
}

// AcceptChange returns the hint to resume a run with a changed definition.
func AcceptChange(command string) string {
	return fmt.Sprintf("`%s` continues with the new definition", command)
}

// Check reports whether a run has work left. Its error is the one that Run returns if it does nothing:
// the definition has changed, or the run still waits. Check applies no schemas, because a fetched
// definition must not be evaluated before a person consents to it.
func Check(rec Recorder, wf *workflow.Workflow, opts Options) (left bool, err error) {
	row := rec.Row()
	changed := row.WorkflowHash != wf.Snapshot().Hash()
	if row.Status == snapshot.RunFinished && !changed {
		if opts.Input != nil {
			err = fault.New(fault.RunNotResumable, "run %s is finished; another input cannot change it", row.ID).
				Hint("`git smithers replay` runs it again from a frame, with another --input")
		}
		return false, err
	}
	if changed && !opts.AcceptWorkflowChange {
		return false, workflowChanged(row, wf, opts.WorkflowFile)
	}
	if !row.Status.Waiting() || changed || opts.Wait || opts.Input != nil {
		return true, nil
	}
	waits, err := mailbox.WaitsOf(rec, opts.Now())
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(waits, func(w mailbox.Waiting) bool { return w.Ready }) {
		return true, nil
	}
	return false, waitsFor(rec, wf, waits)
}

// CheckInput checks an input against the definition's schema. The schema determines how long that
// takes, within a limit, so a fetched definition needs consent first.
func CheckInput(rec Recorder, wf *workflow.Workflow, opts Options) error {
	_, err := inputOf(rec.State(), wf, opts.Input)
	return err
}
