package engine

import (
	"context"
	"io"
	"time"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Recorder is where a run's frames go: the tip of one run. *timeline.Head is one.
// The engine uses it from one goroutine.
type Recorder interface {
	// Append adds an entry on exactly the tip that the recorder knows; when the tip
	// has moved, the error's code is conflict. When it returns nil the entry is durable.
	Append(ctx context.Context, d snapshot.Draft) error
	// Refresh reads the tip again.
	Refresh(ctx context.Context) error
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
	MaxLog      int              // bytes of a log that are kept, its end; 0 means 1 MiB
	Log         io.Writer        // gets the logs of commands as they come, lines after "task| "; nil: nobody
	// WorkingCopy is what commands run in and what is captured for a run's first frame
	// here and whenever an attempt has ended. nil: they run in WorkDir, and nothing is.
	WorkingCopy WorkingCopy
	// Captured says that the tip has what WorkingCopy has at this moment, so that the first
	// frame need not read it again.
	Captured bool
	// Worktree makes the worktree that the workflow or a task asks for, or finds the one
	// that the run made before and, with rebase, puts it on its base as that is now. The
	// engine calls it from one goroutine at a time. nil refuses workflows that ask for one.
	Worktree func(ctx context.Context, spec timeline.WorktreeSpec, rebase bool) (WorkingCopy, error)
	Warn     func(error)    // told, from Run's goroutine, of what went wrong without harm to the run; nil: dropped
	Progress func(Progress) // called after every frame, from the goroutine that called Run; may be nil
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

// Progress is what a frame that was just committed says.
type Progress struct {
	Frame   int64
	Subject string
	// How many nodes are in each state; Nodes is how many there are.
	Nodes, Running, Finished, Failed, Skipped int
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
// cancelled. A run that was just created has everything left; one that was
// cancelled, that failed, or whose process died goes on from its last frame:
// finished tasks are not run again, what was in progress is a failed attempt
// ("interrupted"), and every unfinished task gets its attempts anew.
//
// The workflow must be the one that the run began with (workflow_changed), unless
// opts accept another. A run that failed is an error of code run_failed, a
// cancelled one of code run_cancelled; the Result is valid with both.
//
// When ctx ends, commands are ended, what is true by then is committed, and the
// run is left cancelled. When another process cancels the run, the same happens;
// when another process takes the run over, commands are ended, nothing more is
// written, and the error's code is conflict.
func Run(ctx context.Context, rec Recorder, wf *Workflow, opts Options) (Result, error) {
	r := newRunner(rec, wf, opts.withDefaults())
	if rec.Row().Status == snapshot.RunFinished && !r.changed {
		return Result{Run: rec.Row(), Nothing: true}, nil
	}
	if err := r.prepare(); err != nil {
		return Result{Run: rec.Row()}, err
	}
	if err := r.openShared(ctx); err != nil {
		return Result{Run: rec.Row()}, err
	}
	err := r.loop(ctx)
	return Result{Run: rec.Row()}, err
}
