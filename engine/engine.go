package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recorder is where a run's frames go: the tip of one run. *timeline.Head is one.
// The engine uses it from one goroutine.
type Recorder interface {
	// Append adds an entry on exactly the tip that the recorder knows; when the tip
	// has moved, the error's code is conflict. When it returns nil the entry is durable.
	Append(ctx context.Context, d snapshot.Draft) error
	// Refresh reads the tip again.
	Refresh(ctx context.Context) error
	// Update appends what build makes of the tip, and builds it again while others move
	// the tip. A nil draft appends nothing.
	Update(ctx context.Context, build func() (*snapshot.Draft, error)) error
	// Entry, Row and State are the tip, the run's row there and the state there.
	Entry() *snapshot.Entry
	Row() snapshot.Run
	State() *snapshot.State
}

// Options say how to run a workflow. The zero value of all but Now is a default.
type Options struct {
	Now         func() time.Time // the clock; required
	WorkDir     string           // where commands run, unless WorkingCopy says; "" is the process's own folder
	Env         []string         // the environment of commands, as os.Environ gives it
	MaxParallel int              // how many commands run at once; 0 means 4
	Grace       time.Duration    // from TERM to KILL; 0 means 5 s
	Hurry       context.Context  // when it ends, there is no grace any more; nil: never
	Watch       time.Duration    // how often the tip is read for news from others; 0 means 1 s
	MaxOutput   int64            // bytes of stdout; 0 means 16 MiB
	MaxLog      int              // bytes of each stream that a log keeps, its end; 0 means 1 MiB
	Log         io.Writer        // gets the logs of commands as they come, lines after "task| "; nil: nobody
	// WorkingCopy is what commands run in and what is captured for a run's first frame
	// here and whenever an attempt has ended. nil: they run in WorkDir, and nothing is.
	WorkingCopy WorkingCopy
	// Captured says that the tip has the files as they are at this moment, so that the first
	// frame need not read it again.
	Captured bool
	// Worktree makes the worktree that the workflow or a task asks for, or finds the one
	// that the run made before and, with rebase, puts it on its base as that is now. The
	// engine calls it from one goroutine at a time. nil refuses workflows that ask for one.
	Worktree func(ctx context.Context, spec timeline.WorktreeSpec, rebase bool) (WorkingCopy, error)
	// OwnWorktree says that the tasks share a worktree of the run's own although the workflow asks for none.
	OwnWorktree bool
	// Before is called when nothing of an earlier process is at work, before anything else is done, and may append
	// entries that change no state. Its error is Run's, and the run is unchanged. nil: nothing is called.
	Before func(context.Context) error
	// BringFiles says to people, in a warning, how a run goes on with the files of its newest frame; "" names restore.
	BringFiles string
	// WorkflowFile is the workflow file in hints, as people type it; "" if there is none here, but what the run keeps.
	WorkflowFile string
	Warn         func(error)    // told, from Run's goroutine, of what went wrong without harm to the run; nil: dropped
	Progress     func(Progress) // called after every frame, from the goroutine that called Run; may be nil
	// Wait keeps Run from returning while the run waits for a person, a signal or a timer.
	Wait bool
	// Input, unless it is nil, is laid over the run's input, member by member.
	Input json.RawMessage
	// Lost is closed when another process has taken the run over; nil: never.
	Lost <-chan struct{}
	// Logs keeps the logs of attempts that have not ended; nil: nobody does.
	Logs LogKeeper
	// Commands knows the processes of commands when this process is killed; nil: nobody does.
	Commands CommandKeeper
	// AcceptWorkflowChange lets a run go on with another definition than it began
	// with; see Reconcile.
	AcceptWorkflowChange bool
}

// WorkingCopy is the files that tasks work on. *timeline.WorkingCopy is one.
type WorkingCopy interface {
	// Root is the folder in which the commands of tasks run; "" leaves it to Options.WorkDir.
	Root() string
	// Capture reads the files as they are now; nil where they are under no version control.
	// The engine closes the result.
	Capture(ctx context.Context) (*jjbridge.Captured, error)
}

// LogKeeper keeps the logs of attempts that have not ended, by the attempts' keys.
// *timeline.LiveLogs is one. Safe for concurrent use.
type LogKeeper interface {
	// Open begins a log of which about the last limit bytes are kept.
	Open(attempt string, limit int) (io.WriteCloser, error)
	// Last is what a log has; "" where there is none.
	Last(attempt string) string
	// Remove takes a log away.
	Remove(attempt string)
	// Clear takes all logs of the run away, and whatever is left of them.
	Clear()
}

// ShortenedLog is a log of a LogKeeper that is told when the beginning of a stream is given
// up, so that it keeps the ends of both streams. Another log keeps its own end.
type ShortenedLog interface {
	// Shorten makes kept all that the log has so far.
	Shorten(kept []byte) error
}

// CommandKeeper knows which processes the commands of a run are, by the attempts' keys, so
// that those which outlive the process that started them can be ended.
// *timeline.Commands is one. Safe for concurrent use.
type CommandKeeper interface {
	// Began notes that an attempt's command leads a process group. Only then it is run.
	Began(attempt string, leader int) error
	// Ended forgets a command of which nothing is left.
	Ended(attempt string)
	// EndLeft ends what is left of all commands of the run, whoever started them, and
	// returns how many processes that were.
	EndLeft(ctx context.Context, grace time.Duration) (int, error)
}

// Progress is what a frame that was just committed says.
type Progress struct {
	Frame   int64
	Subject string
	// How many nodes are in each state; Nodes is how many there are.
	Nodes, Running, Waiting, Finished, Failed, Skipped int
	// Steps are what the frame says of tasks, in the order in which it happened.
	Steps []Step
}

// Step is what a frame says of one task: that it started, that it waits, or how it ended.
type Step struct {
	Task        string             // its id; in a loop with the iteration
	State       snapshot.NodeState // a failed one may be tried again
	What        string             // in words: "finished", "failed: exit status 1", "waits for approval"
	StartedAtMs int64              // of the attempt; 0 where there was none
	EndedAtMs   int64              // 0 for an attempt under way
}

// Result is how a run ended, or was left.
type Result struct {
	Run snapshot.Run // its row at the tip
	// Nothing is true when the run was finished already: nothing was done or written.
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

// Run does what is left of a run, and returns when the run is finished, failed or
// cancelled, or when all that is left is to wait for a person, a signal or a timer. A
// run that was just created has everything left; one that was cancelled, that failed,
// that waits, or whose process died goes on from its last frame: finished tasks are
// not run again, what was in progress is a failed attempt ("interrupted"), and every
// unfinished task is tried again.
//
// The run must be the caller's, see timeline.Head.Claim. Its last frame gives it back.
//
// The workflow must be the one that the run began with (workflow_changed), unless
// opts accept another. A run that failed is an error of code run_failed, a
// cancelled one of code run_cancelled, one that waits of code run_waiting; the Result is
// valid with all of them.
//
// What runs are the bytes that somebody agreed to: they are parsed here, and nothing else
// reaches a shell. The zero Consented is an error of code unconfirmed.
//
// When ctx ends, commands are ended, what is true by then is committed, and the
// run is left cancelled. When another process cancels the run, the same happens;
// when another process takes the run over, commands are ended, nothing more is
// written, and the error's code is conflict.
func Run(ctx context.Context, rec Recorder, agreed timeline.Consented, opts Options) (Result, error) {
	definition := agreed.Definition()
	if definition == nil {
		return Result{Run: rec.Row()}, fault.New(fault.Unconfirmed, "nobody agreed to the commands of run %s", rec.Row().ID)
	}
	wf, err := Parse("the workflow of "+rec.Row().ID, definition)
	if err != nil {
		return Result{Run: rec.Row()}, err
	}
	return run(ctx, rec, wf, opts)
}

// run is Run of a workflow that somebody agreed to. Only Run calls it, and tests.
func run(ctx context.Context, rec Recorder, wf *Workflow, opts Options) (Result, error) {
	left, err := Check(rec, wf, opts)
	if err == nil && left {
		err = CheckInput(rec, wf, opts)
	}
	if err != nil || !left {
		return Result{Run: rec.Row(), Nothing: err == nil}, err
	}
	r := newRunner(rec, wf, opts.withDefaults())
	r.endLeft()
	if err := r.before(ctx); err != nil {
		return Result{Run: rec.Row()}, err
	}
	if err := r.prepare(); err != nil {
		return Result{Run: rec.Row()}, err
	}
	if err := r.openShared(ctx); err != nil {
		return Result{Run: rec.Row()}, err
	}
	err = r.loop(ctx)
	return Result{Run: rec.Row()}, err
}

// workflowChanged is the error about a run that began with another definition than its workflow file has now.
func workflowChanged(row snapshot.Run, wf *Workflow, file string) error {
	out := fault.New(fault.WorkflowChanged, "run %s began with another definition of workflow %s", row.ID, wf.Name)
	if file == "" {
		return out.Hint("the same command with --accept-workflow-change goes on with the new definition")
	}
	newest := timeline.Address{Run: row.ID, Frame: row.Frame}.String()
	return out.Detail("file", file).
		Hint("%s", AcceptChange(fmt.Sprintf("git smithers resume %s %s --accept-workflow-change", fault.Word(row.ID), fault.Word(file)))).
		Hint("`git smithers replay %s %s` runs the new definition in a fork", fault.Word(file), fault.Word(newest))
}

// AcceptChange returns the hint about the command that resumes a run with a definition that has changed.
func AcceptChange(command string) string {
	return fmt.Sprintf("`%s` goes on with the new definition", command)
}

// Check reports whether anything is left to do of a run. Its error is the one that Run returns where it does nothing:
// another definition that is not accepted, or that what the run waits for is not there yet. It applies no schema: those
// of a stranger's definition wait until somebody agreed to it.
func Check(rec Recorder, wf *Workflow, opts Options) (left bool, err error) {
	row := rec.Row()
	changed := row.WorkflowHash != wf.Snapshot().Hash()
	if row.Status == snapshot.RunFinished && !changed {
		if opts.Input != nil {
			err = fault.New(fault.RunNotResumable, "run %s is finished; there is nothing left that another input could change", row.ID).
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
	waits, err := WaitsOf(rec, opts.Now())
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(waits, func(w Waiting) bool { return w.Ready }) {
		return true, nil
	}
	return false, waitsFor(rec, wf, waits)
}

// CheckInput refuses an input that does not fit the schema of the definition. The schema says how long that takes, within
// a bound, so a definition of somebody else's is agreed to first.
func CheckInput(rec Recorder, wf *Workflow, opts Options) error {
	_, err := inputOf(rec.State(), wf, opts.Input)
	return err
}
