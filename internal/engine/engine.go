package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recorder stores a run's frames at the tip of the run. *timeline.Head is a Recorder. The engine uses a Recorder
// from one goroutine.
type Recorder interface {
	mailbox.Recorder
	// Append adds d as an entry to the tip that the recorder has read. If the tip has moved, Append adds nothing,
	// and the error's code is conflict. If Append returns nil, the entry is on stable storage.
	Append(ctx context.Context, d snapshot.Draft) error
	// Reveal returns the text for which the run's history has text at a place: with the secrets that this clone has taken out
	// there. Code: secret_missing if this clone does not have one of them.
	Reveal(at snapshot.Place, text []byte) ([]byte, error)
}

// Options configure Run. Only Now is required; zero values are defaults.
type Options struct {
	Now         func() time.Time // the clock; required
	WorkDir     string           // where commands run without a WorkingCopy; "" is this process's folder
	Env         []string         // the environment of commands, as os.Environ gives it
	MaxParallel int              // maximum number of parallel commands; 0 means 4
	Grace       time.Duration    // from TERM to KILL; 0 means 5 s
	Hurry       context.Context  // when Hurry ends, each grace period ends at once; may be nil
	Watch       time.Duration    // interval at which the tip is read for changes by other processes; 0 means 1 s
	MaxOutput   int64            // maximum bytes of a task's output on stdout; 0 means 16 MiB
	MaxLog      int              // bytes that a log keeps of the end of each stream; 0 means 1 MiB
	Colour      bool             // a person sees Log in colour, so that tasks are told to colour what they print
	Log         io.Writer        // gets the live logs of commands, each line after "task| "; may be nil
	// WorkingCopy holds the files that commands work on. The engine captures them for the first frame of this Run
	// and whenever an attempt has ended. If nil, commands run in WorkDir without captures.
	WorkingCopy WorkingCopy
	// Captured means that the tip already holds the current files, so the first frame does not capture them again.
	Captured bool
	// Worktree makes the worktree that the workflow or a task asks for, or finds the run's existing worktree. With
	// rebase, it rebases an existing worktree onto its base. The engine calls Worktree from one goroutine at a
	// time. If nil, workflows that ask for a worktree are refused.
	Worktree func(ctx context.Context, spec files.WorktreeSpec, rebase bool) (WorkingCopy, error)
	// OwnWorktree gives the run a worktree that its tasks share, if the workflow asks for no worktree. It has no
	// effect if Worktree is nil.
	OwnWorktree bool
	// Before is called before any other work, after the processes of an earlier Run have been ended. It may append
	// entries that change no state. If Before returns an error, Run returns that error and changes nothing. May be
	// nil.
	Before func(context.Context) error
	// BringFiles is the last clause of the warning that the files differ from the newest frame. The clause says how to
	// get the frame's files; "" means that `git smithers restore` restores them.
	BringFiles string
	// WorkflowFile is the path of the workflow file for hints; "" if only the run has the workflow.
	WorkflowFile string
	// Untrusted means that the command of a hint needs --trust-files, because this clone has not recorded the run.
	Untrusted bool
	Warn      func(error)    // called from Run's goroutine for problems that do not harm the run; may be nil
	Progress  func(Progress) // called after every frame, from Run's goroutine; may be nil
	// Wait makes Run wait for people, signals and timers; otherwise Run returns run_waiting.
	Wait bool
	// Input, if not nil, is merged over the run's input, member by member.
	Input json.RawMessage
	// Lost is closed when another process has taken over the run; may be nil.
	Lost <-chan struct{}
	// Logs stores the logs of attempts that have not ended; may be nil.
	Logs LogKeeper
	// Secrets takes secrets out of Log and Logs; nil leaves them in.
	Secrets Masker
	// Commands records the process groups of commands, in case this process is killed; may be nil.
	Commands CommandKeeper
	// Cache keeps the results of tasks for equal tasks; nil uses and stores no results.
	Cache *cache.Cache
	// NoCache looks for no results in Cache, and stores results all the same.
	NoCache bool
	// Extract writes the files of a stored tree into an empty folder, for scorers. If nil, scorers run in the folder of their task.
	Extract func(ctx context.Context, tree objstore.ID, dir string) error
	// Sandbox is what the sandboxes of tasks keep from them, beside what they never have. Its Dir and Files are not used.
	Sandbox sandbox.Place
	// NoHooks makes the process's own git run no hooks. It is called before a command runs in a sandbox. It may be nil.
	NoHooks func(context.Context) error
	// SandboxRequired puts each command of a workflow that no user of the clone has named into a sandbox, whose task asks for none. For Score and
	// UndoEffects, it puts every command into one.
	SandboxRequired bool
	// Call makes or continues the run of a workflow that a task calls, and returns when it has ended or cannot go on. It is called from several
	// goroutines. When ctx ends, it cancels the run. An error means that the run could not be executed. If nil, tasks that call workflows fail.
	Call func(ctx context.Context, c Call) (Called, error)
	// Admit is called before a task of a sweep starts, from Run's goroutine. It returns what becomes of the task. If nil, all tasks start.
	Admit func(ctx context.Context, t *workflow.Task) (Admission, error)
	// TraceParent is the span of an OpenTelemetry trace in which the run is started; "" if there is none. A run keeps its first one.
	TraceParent string
	// Traced gives commands the spans of their attempts also if TraceParent is "".
	Traced bool
	// AcceptWorkflowChange lets a run continue with a changed definition; see Reconcile.
	AcceptWorkflowChange bool

	named bool // a user of the clone named the workflow's file
}

// An Admission says whether a task of a sweep starts. The zero Admission lets it start.
type Admission struct {
	Skip string // why the task is skipped; "" if it is not
	Fail string // why the run fails before the task starts, which stays pending; "" if it does not
}

// WorkingCopy is the files that tasks work on. *files.WorkingCopy is a WorkingCopy.
type WorkingCopy interface {
	// Root returns the folder in which commands run; "" means Options.WorkDir.
	Root() string
	// Capture reads the current files. It returns nil if the files are not under version control. The engine closes
	// the result.
	Capture(ctx context.Context) (*jjbridge.CapturedFiles, error)
}

// LogKeeper stores the logs and the reported tool calls of attempts that have not ended, by the attempts' keys.
// *claim.LiveLogs is a LogKeeper. Safe for concurrent use.
type LogKeeper interface {
	// Open begins the log of an attempt. The log keeps about the last limit bytes.
	Open(attempt string, limit int) (io.WriteCloser, error)
	// Last returns the content of an attempt's log, or "" if the attempt has no log.
	Last(attempt string) string
	// Calls makes the file to which an attempt's command appends its tool calls, and returns the path.
	Calls(attempt string) (path string, err error)
	// LeftCalls returns the path of that file, also if a killed process made it.
	LeftCalls(attempt string) (path string)
	// Signals makes the file from which an attempt's command reads signals, and opens it for appending.
	Signals(attempt string) (*os.File, error)
	// Remove removes the log, the tool calls and the signals of an attempt.
	Remove(attempt string)
	// Clear removes all logs of the run, including the logs of killed processes.
	Clear()
}

// ShortenedLog is a log of a LogKeeper that keeps the ends of both streams. The engine calls Shorten after the
// engine has dropped the beginning of a stream. A log without Shorten keeps only the end of all bytes.
type ShortenedLog interface {
	// Shorten replaces the log's content by kept.
	Shorten(kept []byte) error
}

// CommandKeeper records the process groups of a run's commands, by the attempts' keys. If a process
// group outlives this process, a later process can end the group.
// *claim.Commands is a CommandKeeper. Safe for concurrent use.
type CommandKeeper interface {
	// Began records the process group of an attempt's command. leader is the process id of the group's leader. The
	// command runs after Began returns.
	Began(attempt string, leader int) error
	// Ended removes the record of a command whose process group is gone.
	Ended(attempt string)
	// EndLeft ends all remaining processes of the run's commands, including processes that another process of the run
	// started, and returns the number of ended processes. It kills them after grace or when ctx ends.
	EndLeft(ctx context.Context, grace time.Duration) (int, error)
}

// Progress describes a frame that was just committed.
type Progress struct {
	Frame   int64
	Subject string
	// The numbers of nodes by state. Nodes counts all nodes, including pending ones.
	Nodes, Running, Waiting, Finished, Failed, Skipped int
	// Steps are the frame's changes of tasks, in order.
	Steps []Step
}

// Step is a frame's change of one task: it started, waits, or ended.
type Step struct {
	Task        string             // its id, with the iteration in a loop
	State       snapshot.NodeState // the outcome of the attempt; the run may retry a failed task
	What        string             // the change in words: "finished", "failed: exit status 1", "waits for approval"
	StartedAtMs int64              // the attempt's start, in Unix milliseconds; 0 if the task has no attempt
	EndedAtMs   int64              // the attempt's end, in Unix milliseconds; 0 while the attempt runs or waits
}

// Result describes the run when Run returns.
type Result struct {
	Run snapshot.Run // the run's row at the tip
	// Nothing means that the run had finished before, so Run did nothing.
	Nothing bool
}

// withDefaults returns o with the default of each number that is not positive. It replaces a nil Hurry by a context
// that never ends, and a nil Warn by a function that does nothing.
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

// Run does the remaining work of a run. It returns when the run is finished, failed or cancelled. Without opts.Wait,
// Run also returns when the run only waits for people, signals or timers.
//
// Run continues a cancelled, failed, waiting or interrupted run from its last frame. Finished tasks do not run again,
// and every unfinished task is tried again. If the process of an attempt died, this attempt becomes a failed attempt
// with the reason "interrupted".
//
// The caller must own the run (see claim.Take). The run's last frame releases the run.
//
// agreed is the workflow to which a person consented. Run parses exactly its bytes, and passes no other text to a
// shell. If agreed is zero, the error's code is unconfirmed. If agreed differs from the run's own definition and opts
// do not accept the change, the code is workflow_changed. If a kept output does not fit a changed definition, the
// code is schema_conflict.
//
// If the run does not finish, the error's code is run_failed, run_cancelled or run_waiting. The Result is valid with
// every error.
//
// When ctx ends, or another process cancels the run, Run ends the commands, commits their results and cancels the
// run. When another process takes over the run, Run ends the commands and writes nothing more, and the error's code
// is conflict.
func Run(ctx context.Context, rec Recorder, agreed consent.Workflow, opts Options) (Result, error) {
	definition := agreed.Definition()
	if definition == nil {
		return Result{Run: rec.Row()}, fault.New(fault.Unconfirmed, "the commands of run %s were not confirmed", rec.Row().ID)
	}
	wf, err := workflow.Stored("the workflow of "+rec.Row().ID, definition)
	if err != nil {
		return Result{Run: rec.Row()}, err
	}
	if opts.SandboxRequired && !agreed.Named() {
		wf.Confine()
	}
	opts.named = agreed.Named()
	return run(ctx, rec, wf, opts)
}

// run does the work of Run for a parsed workflow. The caller vouches for a person's consent: only Run and tests call
// run. If Check finds no work and no error, the Result has Nothing set.
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
		if err == nil { // opts.Before may have appended entries
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

// workflowChanged returns the workflow_changed error for a workflow that differs from the run's own definition.
// If opts.WorkflowFile is "", the error has no hint that names a file.
func workflowChanged(row snapshot.Run, wf *workflow.Workflow, opts Options) error {
	out := fault.New(fault.WorkflowChanged, "workflow %s differs from the definition stored in run %s", wf.Name, row.ID)
	flags := []string{"--accept-workflow-change"}
	if opts.Untrusted {
		flags = append(flags, "--trust-files", row.ID)
	}
	if opts.WorkflowFile == "" {
		return out.Hint("%s to continue with the new definition", fault.CommandLine("add", flags...))
	}
	newest := timeline.Address{Run: row.ID, Frame: row.Frame}.String()
	out = out.Detail("file", opts.WorkflowFile).Detail("flags", flags).
		Hint("%s", AcceptChange(fault.CommandLine(fault.Program, append([]string{"resume", opts.WorkflowFile, row.ID}, flags...)...))).
		Hint("`%s` runs the new definition in a fork", fault.CommandLine(fault.Program, append([]string{"replay", opts.WorkflowFile, newest}, flags[1:]...)...))
	if opts.Untrusted {
		return out.Hint("this clone has not recorded run %s; --trust-files lets commands run on its files, or on yours in its place", row.ID)
	}
	return out
}

// AcceptChange returns the hint to continue a run with a changed definition. command is the command to type.
func AcceptChange(command string) string {
	return fmt.Sprintf("`%s` continues with the new definition", command)
}

// Check reports whether Run has work to do. A finished run has none, unless wf differs from the run's own definition.
// If Check returns an error, left is false, and Run would return the same error at once. Check returns these errors:
//   - workflow_changed, if wf differs and opts.AcceptWorkflowChange is false;
//   - run_not_resumable, if the run is finished, wf does not differ, and opts.Input is set;
//   - run_waiting, if the run waits, has no open calls, and none of its waits is over. Check does not return this error if wf differs,
//     or if opts.Wait or opts.Input is set.
//
// Check applies no schemas, because a fetched definition must not be evaluated before a person consents to the
// definition.
func Check(rec Recorder, wf *workflow.Workflow, opts Options) (left bool, err error) {
	row := rec.Row()
	changed := row.WorkflowHash != wf.Snapshot().Hash()
	if row.Status == snapshot.RunFinished && !changed {
		if opts.Input != nil {
			err = fault.New(fault.RunNotResumable, "run %s is finished; another input cannot change it", row.ID).
				Hint("`git smithers replay %s --input JSON` runs the tasks again in a fork, with another input",
					fault.Word(timeline.Address{Run: row.ID}.String()))
		}
		return false, err
	}
	if changed && !opts.AcceptWorkflowChange {
		return false, workflowChanged(row, wf, opts)
	}
	if !row.Status.Waiting() || changed || opts.Wait || opts.Input != nil {
		return true, nil
	}
	// A waiting run can do nothing before one of its waits is over.
	waits, err := mailbox.WaitsOf(rec, opts.Now())
	if err != nil {
		return false, err
	}
	calls, err := OpenCalls(rec)
	if err != nil {
		return false, err
	}
	if len(calls) > 0 || slices.ContainsFunc(waits, func(w mailbox.Waiting) bool { return w.Ready }) {
		return true, nil
	}
	return false, waitsFor(rec, wf, waits, nil)
}

// CheckInput checks whether the run's input, changed by opts.Input, fits the definition's schema, and whether this clone has the
// secrets that unfinished tasks need. It changes nothing. If the input does not fit, the error's code is invalid_input; if a
// secret is missing, it is secret_missing. The schema determines how long the check takes,
// within a limit. A person must therefore consent to a fetched definition first.
func CheckInput(rec Recorder, wf *workflow.Workflow, opts Options) error {
	input, err := inputOf(rec, wf, opts.Input)
	if err != nil {
		return err
	}
	m, err := loadModel(rec.State())
	if err != nil {
		return err
	}
	return (&dataReader{model: m, rec: rec, wf: wf, runID: rec.Row().ID, input: input}).checkSecrets()
}
