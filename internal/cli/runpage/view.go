// Package runpage shows a run as a page for people, and as a summary for programs: how it stands, why it failed or what it waits for,
// its steps or turns, its forks, and what to type next.
package runpage

import (
	"context"
	"errors"
	"time"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The largest numbers of things that a page shows. It says how many there are beyond.
const (
	forksShown   = 8
	waitsShown   = 8
	fieldsShown  = 20
	outputsShown = 3
	logShown     = 10
)

// A View has what a page shows of a run.
type View struct {
	*summary.Summary

	Forks  []summary.Fork
	Forked int // the number of all forks
	Waits  []Wait
	Next   []Command

	now    time.Time
	engine string // the other engine that runs the run; "" for none
	ours   bool   // git smithers can continue the run
	log    []string
	cut    int // the number of lines of the log before log
	turns  []turn
	// cancelled says who has cancelled the run; nil if it is not cancelled, or that is unknown.
	cancelled *list.Cancelled
	// outputs has the outputs of the last steps of a finished run.
	outputs []output
}

// An output is the output of a step.
type output struct {
	step  *summary.Step
	value []byte
}

// Read reads what a page shows of a run at the entry that head knows. Parts that cannot be read are in Unread. The codes are those of
// summary.Read.
func Read(ctx context.Context, store *timeline.Store, head *timeline.Head, now time.Time) (*View, error) {
	sum, err := summary.ReadBriefly(ctx, store, head, now)
	if err != nil {
		return nil, err
	}
	v := &View{Summary: sum, now: now}
	for _, part := range []struct {
		name summary.Part
		read func() error
	}{
		{summary.PartSteps, func() error { return v.readEngine(head) }},
		{summary.PartWaits, func() error { return v.readWaits(ctx, store, head) }},
		{PartForks, func() (err error) { v.Forks, v.Forked, err = sum.Forks(ctx, store, forksShown, now); return err }},
		{PartLog, v.readLog},
		{summary.PartFrames, func() error { return v.readCancelled(ctx, store) }},
		{summary.PartCalls, v.readTurns},
		{PartOutputs, v.readOutputs},
	} {
		err := timeline.Explain(part.read())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && v.Unread[part.name] == nil {
			v.Unread[part.name] = err
		}
	}
	v.Next = v.next()
	return v, nil
}

// The parts of a page that a summary does not have.
const (
	PartForks   summary.Part = "forks"
	PartLog     summary.Part = "log"
	PartOutputs summary.Part = "outputs"
)

// Damage returns the error of a part whose stored data failed verification, or nil.
func (v *View) Damage() error {
	for _, err := range v.Unread {
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() == fault.ExitCorrupt {
			return err
		}
	}
	return nil
}

// readEngine sets engine and ours.
func (v *View) readEngine(head *timeline.Head) error {
	var err error
	if v.engine, err = app.ForeignEngine(head); err != nil {
		return err
	}
	kept, err := head.Entry().Workflow()
	v.ours = v.engine == "" && kept != nil
	return err
}

// readCancelled sets cancelled.
func (v *View) readCancelled(ctx context.Context, store *timeline.Store) (err error) {
	if v.Row.Status == snapshot.RunCancelled {
		v.cancelled, err = list.CancelledBy(ctx, store, v.Row)
	}
	return err
}

// A Wait is one wait of a run.
type Wait struct {
	mailbox.Waiting
	summary.Asked

	Commands []string // that answer the wait; empty if only time ends it
}

// readLog sets the end of the log of the failed attempt.
func (v *View) readLog() error {
	if v.Failure == nil || v.Failure.Attempt == nil {
		return nil
	}
	lines, total, err := v.Log(v.Failure.Attempt, logShown)
	v.log, v.cut = lines, total-len(lines)
	return err
}

// readOutputs sets the outputs of the last steps if the run has finished.
func (v *View) readOutputs() error {
	if v.Row.Status != snapshot.RunFinished || v.Session {
		return nil
	}
	for i := len(v.Steps) - 1; i >= 0 && len(v.outputs) < outputsShown; i-- {
		step := &v.Steps[i]
		if step.State != snapshot.NodeFinished || step.Inherited {
			continue
		}
		value, err := v.Output(step)
		if err != nil {
			return err
		}
		if value != nil {
			v.outputs = append([]output{{step, value}}, v.outputs...)
		}
	}
	return nil
}
