package cli

import (
	"context"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// defaultSupervised is how many runs a supervisor executes at once.
	defaultSupervised = 4
	// defaultInterval is how often it looks for runs, beside when it knows that a timer
	// is due.
	defaultInterval = 10 * time.Second
	minInterval     = 100 * time.Millisecond
)

// superviseOptions are what supervise takes.
type superviseOptions struct {
	runs     []string // ids; none: all that were executed here
	once     bool
	interval time.Duration
	maxRuns  int
	engine   engineSettings
}

func superviseCommand() *command {
	return &command{
		name:    "supervise",
		summary: "resume runs whose process died, and those that no longer have to wait",
		usage:   []string{"[<run>...] [--once] [--interval D] [--max-runs N] [--max-parallel N]"},
		about: `Looks again and again for runs that nobody executes, and goes on with those that can go
on: a run whose process died or gave no sign of life for too long, and one that waits for
something that is there by now: a decision, an answer, a signal, or a time. It looks at
runs that were executed in this repository on this machine or, where any are named, at
those. Several supervisors share the work: each run is resumed by one of them.

A run is resumed with the workflow file that it was started with. One whose file is gone
or has changed is left as it is, and so is one whose commands were never run or confirmed
in this clone: resume shows them and asks.

When it is stopped, by Ctrl-C for one, it ends the tasks that it runs and leaves their runs
to whoever resumes them: they stay running, and the tasks are tried again. With --once it
looks once, and returns when everything that it resumed has ended or waits.`,
		maxArgs: anyNumber,
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "once", Usage: "look once, and return when what was resumed has come to an end"},
			&urfave.DurationFlag{Name: "interval", Value: defaultInterval, Usage: "look every `D`, such as 30s; and when a timer is due"},
			&urfave.IntFlag{Name: "max-runs", Value: defaultSupervised, Usage: "execute at most `N` runs at once"},
			maxParallelFlag(), logsFlag(),
		},
		changes: true,
		exits:   writes(),
		examples: []example{
			{"keep all runs of a repository going", "git smithers supervise"},
			{"resume after a power cut what was running", "git smithers supervise --once"},
			{"resume one run as soon as it is approved", "git smithers supervise triage-1"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseSupervise(c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runSupervise(ctx, s, store, opts) })
		},
	}
}

func parseSupervise(c *urfave.Context) (superviseOptions, error) {
	settings, err := parseEngine(c)
	opts := superviseOptions{
		runs: c.Args().Slice(), once: c.Bool("once"), interval: c.Duration("interval"), maxRuns: c.Int("max-runs"),
		engine: settings,
	}
	switch {
	case err != nil:
		return opts, err
	case opts.interval < minInterval:
		return opts, fault.New(fault.Usage, "--interval does not take %s", opts.interval).
			Hint("it takes a duration such as 30s, and %s at least", minInterval)
	case opts.maxRuns < 1:
		return opts, fault.New(fault.Usage, "--max-runs does not take %d", opts.maxRuns).
			Hint("it takes a number from 1 on")
	}
	return opts, nil
}

// runSupervise resumes runs until it is told to stop, or once.
func runSupervise(ctx context.Context, s *session, store *timeline.Store, opts superviseOptions) error {
	for i, run := range opts.runs {
		id, err := store.ResolveRunToChange(ctx, run)
		if err != nil {
			return err
		}
		opts.runs[i] = id
	}
	return newSupervisor(s, store, opts).supervise(ctx)
}

// A supervisedDocument is something that a supervisor did with a run, with --json.
type supervisedDocument struct {
	Kind    string  `json:"kind"`
	Action  string  `json:"action"` // see the actions
	RunID   string  `json:"runId"`
	Status  string  `json:"status"`
	Frame   int64   `json:"frame"`
	Code    *string `json:"code"` // of the error, where there is one
	Message *string `json:"message"`
	// Hints are what to type, of a run that has failed.
	Hints []string `json:"hints,omitempty"`
}

// The actions of a supervisor.
const (
	actionResumed = "resumed" // it goes on with the run
	actionEnded   = "ended"   // the run has ended, or waits: see its status
	actionLeft    = "left"    // the run was not resumed
	actionStopped = "stopped" // the run can be resumed, since something kept it from going on
)

// tell says what a supervisor did with a run. That a run was left alone is said once for
// each reason, and to people it is a warning.
func (v *supervisor) tell(action string, run timeline.Unattended, frame int64, cause error, hints ...string) error {
	doc := supervisedDocument{
		Kind: "supervise", Action: action, RunID: run.Run, Status: string(run.Status), Frame: frame, Hints: hints,
	}
	text := ""
	if cause != nil {
		e := v.s.describe(cause)
		code := string(e.Code)
		doc.Code, doc.Message = &code, &e.Msg
		text = ": " + e.Msg
	}
	if action == actionLeft {
		if v.told[run.Run] == text {
			return nil
		}
		v.told[run.Run] = text
	}
	if v.s.json {
		return v.s.writeJSON(doc)
	}
	switch action {
	case actionLeft:
		v.s.warn(fmt.Errorf("run %s is left as it is%s", run.Run, text))
		return nil
	case actionEnded:
		action = doc.Status
	}
	for _, hint := range hints {
		v.s.note("  %s", plain(hint))
	}
	return v.s.printf("%s: %s at frame %d%s\n", plain(run.Run), action, frame, plain(text))
}
