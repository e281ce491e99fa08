package summary

import (
	"context"
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// The largest numbers of things that a Description has.
const (
	forksShown   = 8
	outputsShown = 3
	logShown     = 10
)

// A Description has what Describe adds to a summary: what people are shown of one run.
type Description struct {
	Asks      []Ask     `json:"waits"`           // those for people come first
	Turns     []Turn    `json:"turns,omitempty"` // of a session
	Forked    []Fork    `json:"forks"`           // the first ones
	ForkCount int       `json:"forkCount"`       // of all forks
	Next      []Command `json:"next"`

	Engine    string          `json:"-"` // the other engine that runs the run; "" for none
	Ours      bool            `json:"-"` // git smithers can continue the run
	Cancelled *list.Cancelled `json:"-"` // who has cancelled the run; nil if it is not cancelled, or that is unknown
	Outputs   []Output        `json:"-"` // of the last steps of a finished run
}

// A Command is a command to type next.
type Command struct {
	Line string `json:"command"`
	Does string `json:"does"`
}

// An Output is the output of a step.
type Output struct {
	Step  *Step
	Value json.RawMessage
}

// Describe returns the summary of a run as ReadBriefly does, with its Description. Commands and Next are left to the caller.
func Describe(ctx context.Context, s *timeline.Store, head *timeline.Head, now time.Time) (*Summary, error) {
	sum, err := ReadBriefly(ctx, s, head, now)
	if err != nil {
		return nil, err
	}
	sum.Asks, sum.Forked = []Ask{}, []Fork{}
	err = sum.readParts(ctx, []partReader{
		{PartSteps, sum.readEngine},
		{PartWaits, sum.readAsks},
		{PartForks, func() error {
			forks, all, err := sum.Forks(ctx, s, forksShown, now)
			sum.Forked, sum.ForkCount = append(sum.Forked, forks...), all
			return err
		}},
		{PartLog, sum.readLog},
		{PartFrames, func() (err error) { sum.Cancelled, err = list.CancelledBy(ctx, s, sum.Row); return err }},
		{PartCalls, sum.readTurns},
		{PartOutputs, sum.readOutputs},
	})
	sum.Reason = sum.reason()
	return sum, err
}

// reason returns why the run failed, or what it waits for first, or nil for neither.
func (sum *Summary) reason() *string {
	switch {
	case sum.Failure != nil:
		return orNull(sum.Failure.Error)
	case sum.Row.Status.Waiting() && len(sum.Asks) > 0:
		w := sum.Asks[0]
		return orNull(snapshot.Key(w.NodeID, w.Iteration) + " waits for " + w.For + ": " + w.What)
	}
	return nil
}

// readEngine sets Engine and Ours.
func (sum *Summary) readEngine() (err error) {
	if sum.Engine, err = ForeignEngine(sum.Entry); err != nil {
		return err
	}
	kept, err := sum.Entry.Workflow()
	sum.Ours = sum.Engine == "" && kept != nil
	return err
}

// readLog sets the end of the log of the failed attempt.
func (sum *Summary) readLog() (err error) {
	if f := sum.Failure; f != nil && f.Attempt != nil {
		var lines []string
		lines, f.LogLines, err = sum.Log(f.Attempt, logShown)
		f.Log = append(f.Log, lines...)
	}
	return err
}

// readOutputs sets Outputs if the run has finished.
func (sum *Summary) readOutputs() error {
	if sum.Row.Status != snapshot.RunFinished || sum.Session {
		return nil
	}
	for i := len(sum.Steps) - 1; i >= 0 && len(sum.Outputs) < outputsShown; i-- {
		step := &sum.Steps[i]
		if step.State != snapshot.NodeFinished || step.Inherited {
			continue
		}
		value, err := sum.Output(step)
		if err != nil {
			return err
		}
		if value != nil {
			sum.Outputs = append([]Output{{step, value}}, sum.Outputs...)
		}
	}
	return nil
}
