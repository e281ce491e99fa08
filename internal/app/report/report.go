// Package report collects what a report on runs shows: how each run stands, its steps on an axis of time, and its logs,
// changes and conversation in parts that can be opened. Everything is bounded, and what is left out is counted.
// Package web/report draws it.
//
// The texts of a report have placeholders in place of secrets. They are otherwise as they are stored, with control
// characters and all: whoever draws them escapes them.
package report

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MaxRuns is the largest number of runs of a report.
const MaxRuns = 20

// Request says what to report.
type Request struct {
	Runs []string // ids or unique prefixes; at least one, at most MaxRuns
	// Allow has the digests of secrets that the report may show this time.
	Allow []string
	// Brief leaves out the parts: only the runs themselves and the end of the log of what failed are read.
	Brief bool
	// Progress is called with the number of things that were read, and the number of all. It may be nil.
	Progress func(done, total int)
}

// Report is what a report shows.
type Report struct {
	MadeAtMs int64 // milliseconds since 1970, as all times here
	Runs     []*Run
	Secrets  int // placeholders in what was read for the report, each counted once a run
}

// Sharing says who was at work in the same folder, and which files they may have changed.
type Sharing struct{ Who, Files string }

// Run is what a report shows of a run.
type Run struct {
	ID       string
	Name     string // the label of a fork; "" for none
	Workflow string
	Tip      string // the id of the newest entry
	Session  bool   // the run is a session of a coding agent: its steps are turns
	State    State
	Error    string // why the run failed; "" if it has not failed

	Branch, Commit   string // of the working copy at the newest entry; "" if unknown
	From             string // the address of the frame that the run was forked from; "" for no fork
	StartMs, EndMs   int64
	TookMs, WaitedMs int64
	Frames           int
	Usage            *Usage
	Calls            summary.Calls
	Scores           []summary.Scorer // at most maxScorers
	Code             summary.Code
	Files            []File // what Code counts, but not in worktrees of tasks
	MoreFiles        int
	Input, Outputs   Values
	Failure          *Failure // nil if the run has not failed
	Waits            []Wait
	Forks            []Fork
	MoreForks        int
	Rows             []Row
	MoreRows         int           // attempts and steps that have no row
	Together         *summary.Code // changes made while several steps ran in one working copy, which no row has; nil if there are none
	Shared           *Sharing      // nil if nobody else was at work in the same folder
	Axis             summary.Axis
	Graph            *Graph // nil if a drawing would say no more than the table
	Parts            []*Part
	MoreParts        int      // parts that are left out whole
	Unread           []string // what else is left out, in words
	Next             []Command

	marks []string // of the run's row
}

// Graph has the tasks of a run and what they need; see summary.Graph.
type Graph struct {
	Nodes  []GraphNode
	Layers int
}

// GraphNode is a task in a Graph.
type GraphNode struct {
	Name         string
	State        State
	Loop         bool // the task is in a loop: Iteration says something
	Iteration    int
	Layer, Place int
	Needs        []int // positions in Nodes
}

// State is the state of a run, a step or a call.
type State string

// The states.
const (
	Finished  State = "finished"
	Failed    State = "failed"
	Running   State = "running"
	Stale     State = "stale"   // running, but no process owns the run
	Waiting   State = "waiting" // for a person
	Delayed   State = "delayed" // for a signal or a time
	Pending   State = "pending"
	Skipped   State = "skipped"
	Cancelled State = "cancelled"
)

// File is a changed file.
type File struct {
	Path           string
	Counted        bool // the lines were counted: the file is neither binary nor large
	Added, Removed int64
}

// Usage is what a run says that it used.
type Usage struct {
	Tokens  int64
	CostUSD float64 // 0 if the run does not say a cost
	Models  []summary.ModelUsage
}

// maxScorers is how many scorers of a run a report has.
const maxScorers = 20

// Values are named values, and the number of those that are left out.
type Values struct {
	List []Value
	More int
}

// Value is a named value. Cut is the number of bytes that are left out at its end.
type Value struct {
	Name, Text string
	From       string // the step in a loop that made an output; "" for others
	Cut        int
}

// Failure says why a run failed.
type Failure struct {
	Step   string // "" if no step failed
	Error  string
	Tries  int
	Also   []string // the other steps that failed, in the order in which they failed
	Change *Change  // nil if no files had changed before
	Log    *Part    // the log, or its end; nil if there is none
	Better *Fork    // the newest fork in which the step finished; nil if there is none
}

// Change is the last change of files before a failure.
type Change struct {
	Address string // of the frame
	Step    string // the step that made it; "" if unknown
	Code    summary.Code
}

// Wait is something that the run waits for.
type Wait struct {
	Step, For, What string
	DueMs           *int64
	How             string // how to end the wait; may have commands in backquotes
}

// Fork is a fork of the run.
type Fork struct {
	ID, Name, From string
	State          State
	Error          string
	Code           summary.Code
	Differs        []Value
	Better         bool   // the step that failed in the run finished in the fork
	GoOn           string // the command that goes on with the fork, or lands it; "" for none
}

// Command is a command to type. Name says in a word or two what it shows or does, and Note more about it; "" for no more.
type Command struct{ Name, Line, Note string }

// Collect reads what a report on runs shows. now is the end of what has not ended. Codes: usage if there are no or too many
// runs; those of summary.Read; secrets_found if a run has secrets that this clone cannot find and replace, and the request
// does not allow.
func Collect(ctx context.Context, s *timeline.Store, req Request, now time.Time) (*Report, error) {
	if len(req.Runs) == 0 || len(req.Runs) > MaxRuns {
		return nil, fault.New(fault.Usage, "a report has 1 to %d runs, got %d", MaxRuns, len(req.Runs)).Hint("name fewer runs")
	}
	mask, err := newMasker(s, req.Allow)
	if err != nil {
		return nil, err
	}
	c := &collector{store: s, req: req, now: now, mask: mask, out: &Report{MadeAtMs: now.UnixMilli()}}
	if req.Progress == nil {
		c.req.Progress = func(int, int) {}
	}
	for _, run := range req.Runs {
		if err := c.run(ctx, run); err != nil {
			return nil, err
		}
	}
	if err := mask.refusal(c.out.Runs); err != nil {
		return nil, err
	}
	c.out.Secrets = len(mask.shown)
	return c.out, nil
}

// collector reads the content of a report.
type collector struct {
	store *timeline.Store
	req   Request
	now   time.Time
	mask  *masker
	out   *Report
}

// share returns how many of most things a run may have, so that all runs together have about most.
func (c *collector) share(most int) int { return max(most/len(c.req.Runs), 3) }
